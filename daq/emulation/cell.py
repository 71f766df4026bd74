"""The emulated cell of a rig, as the process that speaks to its devices sees it.

Real devices share neither interpreter nor processor time with the program that reads them, and do not wait for it. So
emulated ones, and the plant that they measure and move, run in a process of their own.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel

from heft.daq.config.rig import RigConfig
from heft.daq.emulation.process import order_of
from heft.drivers.errors import ConnectError, DeviceLost

__all__ = ["EmulatedCell"]

_log = logging.getLogger("heft.emulators")

_READY_S = 60.0  # in which a busy host loads what the plant needs
_ANSWER_S = 5.0
_GOODBYE_S = 3.0
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class EmulatedCell:
    """`async with` starts the process, and ends it: it is never left behind.

    It leaves the terminal's signals to this program, which ends it when its own devices are released. Should this
    program be killed, the cell sees the pipe between them closed, and ends by itself.

    endpoints   where each device is reached, by its name
    start_ns    host time at which the plant's time is 0 [ns]; faults count from there
    truth       what is true of plant and devices, for the truth file; told at the end (None: never)
    log_to      where it writes what the arm really did in its last seconds (`write_log`), at the end; None: nowhere
    """

    def __init__(self, config: RigConfig, seed: int) -> None:
        self._config, self._seed = config, seed
        self._process: asyncio.subprocess.Process | None = None
        self._readers: list[asyncio.Task[None]] = []
        self._answers: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._said: deque[str] = deque(maxlen=20)
        self._gone = asyncio.Event()
        self._ending = False
        self.endpoints: Mapping[str, Mapping[str, Any]] = {}
        self.start_ns = 0
        self.truth: dict[str, Any] | None = None
        self.log_to: Path | None = None

    @property
    def pid(self) -> int:
        """Of the process; 0: there is none now."""
        return 0 if self._process is None else self._process.pid

    async def __aenter__(self) -> Self:
        process = self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # whatever lies in the current folder
            "-m",
            "heft.daq.emulation.process",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=1 << 24,  # of one line: the truth of a large robot
            env={**os.environ, **dict.fromkeys(_THREADS, "1")},
            start_new_session=True,
        )
        assert process.stdin is not None
        try:
            self._readers = [
                asyncio.create_task(self._read_answers(process), name="emulated cell's answers"),
                asyncio.create_task(self._read_words(process), name="emulated cell's words"),
            ]
            process.stdin.write(order_of(self._config, self._seed))
            told = await self._answer(_READY_S)
            if told is None or "error" in told:
                why = self._why() if told is None else told["error"]
                raise ConnectError(self._config.name, f"the emulated devices did not start: {why}")
            self.endpoints, self.start_ns = told["endpoints"], told["start_ns"]
        except BaseException:
            await self._end(_GOODBYE_S)
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        """End it: the devices are released. It tells the truth before it goes."""
        try:
            if self.log_to is not None:
                await self.log(self.log_to)
            if self._ask({"do": "end"}):
                self.truth = ((await self._answer(_ANSWER_S)) or {}).get("truth")
        finally:
            await self._end(_GOODBYE_S)

    async def watch(self) -> None:
        """DeviceLost when the process has ended by itself; else it waits for ever."""
        await self._gone.wait()
        if self._ending:
            return
        raise DeviceLost(self._config.name, f"the process of the emulated devices has ended: {self._why()}")

    # -- what it can be told ------------------------------------------------------------------------------------------

    def inject(self, fault: BaseModel | Mapping[str, Any], after_motion_s: float | None = None) -> None:
        """A fault of a device; with `after_motion_s` it begins so long [s] after the arm has begun to move."""
        facts = fault.model_dump(mode="json") if isinstance(fault, BaseModel) else dict(fault)
        self._ask({"do": "inject", "fault": facts, "after_motion_s": after_motion_s})

    async def log(self, path: Path) -> None:
        """Write what the arm really did in its last seconds (`write_log`)."""
        if self._ask({"do": "log", "path": str(path)}):
            await self._answer(_ANSWER_S)

    # -- the process --------------------------------------------------------------------------------------------------

    def _ask(self, wanted: Mapping[str, Any]) -> bool:
        """Whether it is there to be asked."""
        process = self._process
        if process is None or process.stdin is None or self._gone.is_set():
            return False
        process.stdin.write(json.dumps(wanted).encode() + b"\n")
        return True

    async def _answer(self, within_s: float) -> dict[str, Any] | None:
        """The next answer; None where it has ended, or does not answer."""
        try:
            async with asyncio.timeout(within_s):
                return await self._answers.get()
        except TimeoutError:
            self._said.append(f"no answer within {within_s:g} s")
            return None

    async def _read_answers(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            self._answers.put_nowait(json.loads(line))
        await process.wait()
        self._gone.set()
        self._answers.put_nowait(None)

    async def _read_words(self, process: asyncio.subprocess.Process) -> None:
        """What emulators complain about goes into the log."""
        assert process.stderr is not None
        while line := await process.stderr.readline():
            text = line.decode(errors="replace").rstrip()
            self._said.append(text)
            _log.warning("%s", text)

    def _why(self) -> str:
        code = None if self._process is None else self._process.returncode
        how = "" if code is None else f"by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return ": ".join(filter(None, (how, *list(self._said)[-1:]))) or "without a word"

    async def _end(self, patience_s: float) -> None:
        """Let it go, or else kill it."""
        process, self._ending = self._process, True
        if process is None:
            return
        assert process.stdin is not None
        try:
            process.stdin.close()
            async with asyncio.timeout(patience_s):
                await process.wait()
        except TimeoutError:
            pass
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
            self._process = None
        await process.wait()
        await asyncio.gather(*self._readers, return_exceptions=True)
        self._readers = []
