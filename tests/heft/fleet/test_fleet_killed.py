"""The embedded default when processes are killed in the middle: a worker, and the program itself. Same answers."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SESSIONS = 10  # of `many`
COMMAND = ["-m", "heft", "fleet", "identify"]
WAIT_S = 120.0

Written = Callable[[Path], dict[str, bytes]]


@contextmanager
def identifying(recordings: Path, out: Path) -> Iterator[psutil.Popen]:
    """The command with two processes of its own; it and they are gone afterwards."""
    command = [sys.executable, *COMMAND, str(recordings), "--out", str(out), "--json"]
    options = ["--triangles", "out", "--workers", "2"]
    process = psutil.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        for one in [*family(process), process]:
            if one.is_running():
                one.kill()
        process.communicate()


def family(process: psutil.Popen) -> list[psutil.Process]:
    """All that it has started."""
    return list(process.children(recursive=True)) if process.is_running() else []


def workers(process: psutil.Popen) -> list[psutil.Process]:
    """Its processes that identify."""
    return [one for one in family(process) if "spawn_main" in " ".join(one.cmdline())]


def until(ask: Callable[[], Any]) -> Any:
    """What it returns, as soon as that is something."""
    started = time.monotonic()
    while time.monotonic() - started < WAIT_S:
        if found := ask():
            return found
        time.sleep(0.02)
    raise TimeoutError


def first_note(out: Path) -> bool:
    return bool(list(out.rglob("session.json")))


def answered(process: psutil.Popen) -> tuple[int, Any]:
    out, err = process.communicate(timeout=WAIT_S)
    return process.returncode, json.loads(out) if out else err


def test_a_killed_local_worker_changes_no_answer(
    many: Path, written: Written, expected: dict[str, bytes], tmp_path: Path
) -> None:
    with identifying(many, tmp_path) as process:
        until(lambda: first_note(tmp_path))
        killed, *others = workers(process)
        assert len(others) == 1
        killed.send_signal(signal.SIGKILL)
        code, said = answered(process)
    assert (code, said["identified"], said["failed"]) == (0, SESSIONS, {})
    assert written(tmp_path) == expected


def test_a_killed_program_goes_on_where_it_was(
    many: Path, written: Written, expected: dict[str, bytes], tmp_path: Path
) -> None:
    with identifying(many, tmp_path) as process:
        until(lambda: first_note(tmp_path))
        left = workers(process)
        process.send_signal(signal.SIGKILL)
        process.wait()
        _, alive = psutil.wait_procs(left, WAIT_S)
        assert alive == []  # its workers end by themselves
    finished = len(list(tmp_path.rglob("session.json")))
    assert 0 < finished < SESSIONS
    with identifying(many, tmp_path) as process:
        code, said = answered(process)
    assert (code, said["unchanged"], said["identified"]) == (0, finished, SESSIONS - finished)
    assert written(tmp_path) == expected
