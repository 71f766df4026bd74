"""A worker beside a session of this program: a process of its own, started and ended with it."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.console import Console

from heft.daq.bus.endpoint import Endpoint
from heft.daq.priority import behind_others
from heft.daq.recording import Recording
from heft.output_folder import OutputFolder

__all__ = ["REPORT", "RESULT", "WorkerProcess", "identification"]

RESULT, REPORT = "result.json", "report.html"

#: How long a worker that has said goodbye may take to end [s].
GOODBYE_S = 5.0


class WorkerProcess:
    """`heft worker --once` in a folder of its own inside `out`, removed again; `take_result` keeps the answer.

    `settings` are those of the command line, as KEY=VALUE.

    Should this program be killed, the worker identifies what it has, leaves it in its folder, and ends by itself: it
    holds the other end of a pipe, and sees it closed.
    """

    NAME = "worker"

    def __init__(self, telemetry: Endpoint, out: OutputFolder, settings: Sequence[str] = ()) -> None:
        self._telemetry = telemetry.reachable
        self._settings = settings
        self._out = out
        self._folder: Path | None = None
        self._popen: subprocess.Popen[bytes] | None = None
        self._failure = ""

    def __enter__(self) -> Self:
        try:
            self._folder = self._out.workspace()
            self._popen = self._start(self._folder)
        except OSError as exc:  # acquisition does without it
            self._failure = f"{self._out.path}: {exc.strerror or exc}"
        return self

    def _start(self, folder: Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", "-m", "heft", "worker", "--once", "--beside", "--name", self.NAME]
        command += ["--bus", str(self._telemetry), "--out", str(folder)]
        command += [part for setting in self._settings for part in ("--set", setting)]
        with (folder / "log").open("wb") as log:
            # In a group of its own: a Ctrl-C in the terminal is for the session, which then ends the worker.
            return subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
            )

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._popen is not None:
            self._popen.kill()
            self._popen.communicate()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def step_aside(self) -> None:
        """Let those that measure come first."""
        if self._popen is not None:
            behind_others(self._popen.pid)

    def alive(self) -> bool:
        """Is it running?"""
        return self._popen is not None and self._popen.poll() is None

    def take_result(self, path: Path) -> str:
        """Wait for its end and move its result to `path`; else say why there is none."""
        if self._popen is None or self._folder is None:
            return self._failure
        try:
            code = self._popen.wait(GOODBYE_S)
        except subprocess.TimeoutExpired:
            return "it does not answer"
        try:
            if code == 0:
                (self._folder / RESULT).replace(path)
                return ""
            said = (self._folder / "log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
        except OSError as exc:  # somebody has removed it
            return f"{self._folder}: {exc.strerror or exc}"
        how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return ": ".join([how, *said[-1:]])


def identification(
    file: Path, out: Path, failure: str, console: Console, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """The worker's result, or what the recording says where the worker has none."""
    from heft.identification import identify_and_report, present  # heavy imports, after the motion
    from heft.identify.result import load

    recording = Recording.open(file)
    if not failure:
        return {**present(load(out / RESULT), out / RESULT, [recording], console), "by": "worker"}
    sys.stderr.write(f"the worker has no result ({failure}): identifying from the recording\n")
    summary, _ = identify_and_report([recording], out=out, console=console, settings=settings)
    return {**summary, "by": "recording"}
