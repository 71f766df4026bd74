"""One answer: live, replayed and from the file, a session gives the same result, to the last byte of result.json."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from heft.daq.record import Writer
from heft.daq.recording import Recording
from heft.main import main

pytestmark = pytest.mark.xdist_group("one answer")  # the tests share recordings; make them once

if TYPE_CHECKING:
    from tests.system.conftest import Bench


def heft(*arguments: str) -> tuple[int, str]:
    """A command in this process: its exit code, and what it says on standard output."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        code = main(list(arguments))
    return code, out.getvalue()


class Session:
    """A short session on the simulated WAM, identified while it ran."""

    def __init__(self, bench: Bench, folder: Path) -> None:
        self.bench, self.folder = bench, folder
        self.file = folder / "short.mcap"

    @property
    def result(self) -> bytes:
        return (self.folder / "result.json").read_bytes()

    def offline(self, out: Path, file: Path | None = None) -> bytes:
        """What `heft identify` makes of the file."""
        code, text = heft("identify", str(file or self.file), "--out", str(out), "--json")
        assert code == 0, text
        return (out / "result.json").read_bytes()


def live(bench: Bench, speed: str) -> tuple[Session, Any]:
    """`heft run`, with its worker, in a folder of its own, however often it is tried; and what it says."""
    out = Path(tempfile.mkdtemp(prefix=f"live-{speed}-", dir=bench.folder)) / "out"
    code, text = heft("run", str(bench.write()), "--out", str(out), "--speed", speed, "--seed", "3", "--json")
    assert code == 0, text
    return Session(bench, out), json.loads(text)


@pytest.fixture(scope="module")
def session(new_bench: Callable[[Path], Bench], tmp_path_factory: pytest.TempPathFactory) -> Session:
    """Six seconds of motion, as fast as they go."""
    bench = new_bench(tmp_path_factory.mktemp("one"))
    bench.fourier(6.0)
    bench.session["watch"] = {
        "stream_age_s": 1.0,
        "tracking_error": 0.5,
    }  # a host that stalls is no matter here
    made, said = live(bench, "max")
    assert said["lost"] == 0
    assert said["identification"]["by"] == "worker"
    return made


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[str]]]:
    """Ended after the test, whatever happened."""
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def start(
    processes: list[subprocess.Popen[str]], *arguments: str, cwd: Path | None = None
) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "heft.main", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=cwd,
    )
    processes.append(process)
    return process


def free_port() -> int:
    """Of two that follow each other, and that nobody uses."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port: int = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    while not condition():
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.02)


def test_live_as_fast_as_possible_is_what_the_file_gives(session: Session, tmp_path: Path) -> None:
    assert session.result == session.offline(tmp_path)
    assert {path.name for path in session.folder.iterdir()} >= {
        "short.mcap",
        "short.truth.json",
        "result.json",
    }
    assert not (session.folder / "worker").exists()


def test_replay_as_fast_as_possible(session: Session, tmp_path: Path) -> None:
    code, text = heft(
        "replay", str(session.file), "--speed", "max", "--identify", "--out", str(tmp_path), "--json"
    )
    assert code == 0
    assert json.loads(text)["identification"]["by"] == "worker"
    assert (tmp_path / "result.json").read_bytes() == session.result


@pytest.fixture(scope="module")
def cut(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same samples, in Blocks of random length."""
    rng = np.random.default_rng(0)
    original = Recording.open(session.file)
    path = tmp_path_factory.mktemp("cut") / "short.mcap"
    with path.open("xb", buffering=0) as raw:
        writer = Writer(raw, original.utc_offset_ns)
        for name in original.attachments:
            writer.attach(name, "text/plain", 0, original.attachment(name))
        for name, stream in original.streams.items():
            writer.describe(stream)
            for block in original.blocks(name):
                edges = np.unique([0, len(block), *rng.integers(0, len(block) + 1, 3)]).tolist()
                for a, b in pairwise(edges):
                    part = replace(
                        block,
                        sequence=block.sequence + a,
                        host_ns=block.host_ns[a:b],
                        values=block.values[a:b],
                        validity=block.validity[a:b],
                        request_ns=None if block.request_ns is None else block.request_ns[a:b],
                        ticks=None if block.ticks is None else block.ticks[a:b],
                    )
                    writer.block(part)
        for text in original.event_texts:
            writer.event(json.loads(text.data)["t_ns"], text.data.decode())
        for name, note in original.metadata.items():
            if name not in ("heft", "heft.streams"):
                writer.note(name, note)
        writer.finish()
    return path


def test_random_block_sizes(session: Session, cut: Path, tmp_path: Path) -> None:
    assert session.offline(tmp_path, cut) == session.result


@pytest.mark.slow
def test_random_block_sizes_through_a_worker(session: Session, cut: Path, tmp_path: Path) -> None:
    assert heft("replay", str(cut), "--speed", "max", "--identify", "--out", str(tmp_path), "--json")[0] == 0
    assert (tmp_path / "result.json").read_bytes() == session.result


def test_a_result_is_reproduced_or_what_differs_is_said(session: Session, tmp_path: Path) -> None:
    code, text = heft("identify", "--reproduce", str(session.folder / "result.json"))
    assert (code, text) == (0, "identical: every number, to the last bit\n")
    changed = json.loads(session.result)
    name = next(name for name in changed["parameters"] if name.endswith(".m"))
    changed["parameters"][name] *= 1 + 1e-15
    path = tmp_path / "result.json"
    path.write_text(json.dumps(changed), encoding="utf-8")
    code, text = heft("identify", "--reproduce", str(path), str(session.file), "--json")
    assert code == 1
    answer = json.loads(text)
    assert answer["identical"] is False
    assert list(answer["differences"]) == [f"parameters.{name}"]
    code, _ = heft("identify", "--reproduce", str(path))
    assert code == 4  # the recording is not beside it


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.timeout(300)
def test_live_in_real_time(session: Session, tmp_path: Path) -> None:
    made, said = live(session.bench, "1")
    assert said["lost"] == 0
    assert said["identification"]["by"] == "worker"
    assert made.result == made.offline(tmp_path)


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.timeout(300)
@pytest.mark.parametrize("speed", ["1", "5"])
def test_replay_at_its_own_time_and_faster(session: Session, tmp_path: Path, speed: str) -> None:
    code, _ = heft(
        "replay", str(session.file), "--speed", speed, "--identify", "--out", str(tmp_path), "--json"
    )
    assert code == 0
    assert (tmp_path / "result.json").read_bytes() == session.result


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.timeout(300)
def test_a_worker_over_tcp_that_is_killed_and_started_again(
    session: Session, tmp_path: Path, processes: list[subprocess.Popen[str]]
) -> None:
    """It runs in a folder of its own and is given an address, nothing else."""
    bus, out = f"tcp://127.0.0.1:{free_port()}", tmp_path / "elsewhere"
    out.mkdir()
    follow = ["worker", "--bus", bus, "--out", "work", "--once"]
    killed = start(processes, *follow, cwd=out)
    assert killed.stdout is not None
    assert "waiting for a session" in killed.stdout.readline()  # it is loaded: the replay is over in seconds
    replay = start(processes, "replay", str(session.file), "--speed", "2", "--bus", bus)
    wait_for(lambda: any(p.stat().st_size > 200_000 for p in out.glob("work/*/*.partial")), killed)
    killed.kill()
    killed.wait()
    again = start(processes, *follow, cwd=out)
    said = again.communicate(timeout=120)[0]
    assert again.returncode == 0, said
    assert replay.wait(timeout=60) == 0
    assert (out / "work" / "result.json").read_bytes() == session.result


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.timeout(300)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_run_whose_worker_is_killed_or_stalls_identifies_from_the_recording(
    session: Session, tmp_path: Path, processes: list[subprocess.Popen[str]], number: signal.Signals
) -> None:
    out = tmp_path / "run"
    run = start(processes, "run", str(session.bench.write()), "--out", str(out), "--seed", "3", "--json")
    wait_for(lambda: any(out.glob(".heft-*/*/*.partial")), run)
    (worker,) = [
        int(folder.name)
        for folder in Path("/proc").iterdir()
        if folder.name.isdigit() and str(out / ".heft-").encode() in _command(folder)
    ]
    os.kill(worker, number)
    try:
        said = run.communicate(timeout=120)[0]
    finally:
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)  # one that is stopped does not notice that all is over
    assert run.returncode == 0, said
    report = json.loads(next(line for line in said.splitlines() if line.startswith("{")))
    assert report["lost"] == 0
    assert report["identification"]["by"] == "recording"
    assert "the worker has no result" in said
    made = Session(session.bench, out)
    assert made.result == made.offline(tmp_path / "offline")


def _command(folder: Path) -> bytes:
    try:
        return (folder / "cmdline").read_bytes()
    except OSError:  # it is gone
        return b""
