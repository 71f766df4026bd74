"""Jobs that are commands of Heft, each in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from heft.daq.errors import ConfigError
from heft.identify.errors import DataError
from heft.output_folder import OutputFolder
from heft.service.catalogue import imported_recording, imports_of
from heft.service.job import Job, Place
from heft.service.job_request import JobRequest, Texts

__all__ = ["CommandJob", "FindingsJob", "ImportJob"]


class CommandJob(Job):
    """A command of Python in a process of its own, behind those that measure; its last line is JSON."""

    kind = "command"
    needs_rig = False

    def __init__(self, place: Place, words: Sequence[str], label: str) -> None:
        super().__init__(place, label)
        self._words = list(words)
        self._process: asyncio.subprocess.Process | None = None
        self._stopped = False

    async def run(self) -> dict[str, Any]:
        process = self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # whatever lies in the current folder
            *self._words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            preexec_fn=_step_aside,
        )
        if self._stopped:  # while it was being started
            process.terminate()
        try:
            out, err = await process.communicate()
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
        said = err.decode(errors="replace").strip().splitlines()
        lines = out.decode(errors="replace").strip().splitlines()
        if lines and lines[-1].startswith("{"):
            facts: dict[str, Any] = json.loads(lines[-1])
            ended = {"state": "failed"} if "error" in facts else {}
            return {**ended, **facts, "exit_code": process.returncode}
        how = "stopped" if self._stopped else f"exit code {process.returncode}"
        raise DataError(f"{self.label}: {how}: {': '.join(said[-1:]) or 'it said nothing'}")

    def stop(self, reason: str) -> None:
        self._stopped = True
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()


def _step_aside() -> None:
    """In the child: an ordinary process, which ends with its parent's terminal no sooner than it is asked to."""
    with suppress(OSError):
        os.nice(10)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signal.valid_signals())
    os.setpgid(0, 0)


class FindingsRequest(JobRequest):
    """Recordings, and settings of the identification as KEY=VALUE."""

    files: Annotated[Texts, Field(min_length=1)]
    settings: Texts = ()
    out: str | None = None


class FindingsJob(CommandJob):
    """`heft identify` on recordings, as a user would call it."""

    kind = "identify"
    request = FindingsRequest

    def __init__(self, place: Place, request: FindingsRequest) -> None:
        files, settings, out = request.files, request.settings, request.out
        name = Path(files[0]).stem
        folder = (
            Path(out) if out else OutputFolder.given_or_new(None, f"{name}-identified", root=place.data).path
        )
        words = ["-m", "heft", "identify", *files, "--out", str(folder), "--json"]
        super().__init__(place, [*words, *(w for s in settings for w in ("--set", s))], name)


class ImportRequest(JobRequest):
    """A file in the data folder that was given on the page."""

    file: str


class ImportJob(CommandJob):
    """`heft import` of a file that lies in the data folder."""

    kind = "import"
    request = ImportRequest

    def __init__(self, place: Place, request: ImportRequest) -> None:
        path = self._path = Path(request.file)
        if path.resolve().parent != imports_of(place.data):
            raise ConfigError(
                f"{path}: not in {imports_of(place.data)}; `heft import` takes files from anywhere"
            )
        self._recording = imported_recording(path)
        words = ["-m", "heft", "import", str(path), "--as", str(self._recording), "--json"]
        super().__init__(place, [*words, "--robot", str(place.rig.robot.path)], path.name)

    def close(self) -> None:
        """A file that could not be imported goes: its name is free to be given again."""
        if not self._recording.exists():
            self._path.unlink(missing_ok=True)
