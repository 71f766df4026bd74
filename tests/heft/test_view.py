"""The live view: what is drawn, and that a terminal gets it while a pipe gets plain lines."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from heft.daq.config.shipped import CONFIGS
from heft.terminal.view import Pace, picture

STREAMS = ("arm.motion", "arm.current", "encoders.position", "wrist.wrench", "gripper.state", "arm.sent")


def progress(**more: Any) -> dict[str, Any]:
    return {
        "state": "moving",
        "step": "excitation",
        "seconds_done": 20.0,
        "seconds_total": 80.0,
        "tracking_error": 0.00384,
        "streams": {name: {"rate_hz": 1000.04, "received": 20_000, "lost": 0} for name in STREAMS},
        **more,
    }


def drawn(values: dict[str, Any], remaining_s: float = 60.0, width: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(picture(values, remaining_s))
    file = console.file
    assert isinstance(file, io.StringIO)
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_the_first_line_says_where_it_stands() -> None:
    head = next(line for line in drawn(progress()) if line)
    assert re.fullmatch(r" moving  excitation  ━+╸?━*\s+0:20 of 1:20  1:00 to go", head)


def test_every_stream_has_its_rate_and_loss() -> None:
    values = progress()
    values["streams"]["wrist.wrench"] = {"rate_hz": 998.0, "received": 19_960, "lost": 40}
    lines = drawn(values)
    assert any(re.fullmatch(r" stream +rate Hz +received +lost", line) for line in lines)
    assert any(re.fullmatch(r" arm\.motion +1000\.0 +20,000 +0", line) for line in lines)
    assert any(re.fullmatch(r" wrist\.wrench +998\.0 +19,960 +40", line) for line in lines)
    assert any(re.fullmatch(r" worst tracking error +3\.84 mrad", line) for line in lines)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_it_fits_the_terminal(width: int) -> None:
    values = progress(step="moving to start", seconds_done=0.0, seconds_total=36_000.0)
    assert max(map(len, drawn(values, 36_000.0, width))) <= width


def test_before_there_is_a_plan() -> None:
    values = progress(state="connected", step="", seconds_done=0.0, seconds_total=0.0, streams={})
    assert "connected  getting ready" in "\n".join(drawn(values, 0.0))


def test_remaining_time_is_the_watchers() -> None:
    """Of a session that runs ten times faster than its own time, a tenth is left to wait for."""
    pace = Pace()
    assert pace.remaining(100.0, 0.0, 60.0) == 60.0  # nothing has begun
    assert pace.remaining(100.2, 2.0, 60.0) == 58.0  # too early to tell
    assert pace.remaining(101.2, 12.0, 60.0) == pytest.approx(4.8)
    assert pace.remaining(106.0, 60.0, 60.0) == 0.0


SESSION = """
name: rest
rig: {rig}
steps:
  - {{name: looking around, wait: 3.0}}
"""


def heft_run(folder: Path, stdout: int, stderr: int) -> subprocess.Popen[bytes]:
    session = folder / "session.yaml"
    session.write_text(SESSION.format(rig=CONFIGS / "rigs" / "sim_wam7.yaml"), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "heft.main",
        "run",
        str(session),
        "--speed",
        "max",
        "--out",
        str(folder / "out"),
    ]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
    environment.pop("NO_COLOR", None)
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, env=environment)


@pytest.mark.slow
def test_on_a_terminal(tmp_path: Path) -> None:
    master, slave = os.openpty()
    process = heft_run(tmp_path, slave, slave)
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 65_536)
        except OSError:  # the last one to have the terminal open has closed it
            break
        if not part:
            break
        shown += part
    os.close(master)
    assert process.wait(timeout=60) == 0, shown.decode()
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())
    assert "\x1b[?25l" in shown.decode()  # the cursor is hidden while the picture refreshes
    assert "\x1b[?25h" in shown.decode()  # and shown again
    assert re.search(r"armed +looking around +━", text)
    assert re.search(r"\d+:\d\d of \d+:\d\d +\d+:\d\d to go", text)
    assert re.search(r"wrist\.wrench +\d+\.\d +[\d,]+ +0", text)
    assert re.search(r"worst tracking error +\d+\.\d+ mrad", text)
    assert text.rstrip().endswith("lost 0")  # the summary stays, the picture goes


@pytest.mark.slow
def test_in_a_pipe(tmp_path: Path) -> None:
    process = heft_run(tmp_path, subprocess.PIPE, subprocess.PIPE)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"\x1b" not in out + err
    assert re.search(r"^armed +looking around +\d+\.\d of 3\.0 s$", err.decode(), re.MULTILINE)
    assert out.decode().rstrip().endswith("lost 0")
