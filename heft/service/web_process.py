"""The process that serves the page: apart from the one that reads devices, so that no browser can delay it.

It is started with a description of what to show, says its address when it is ready, and ends with its parent: it holds
the other end of a pipe.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from heft.daq.errors import ConfigError
from heft.daq.priority import behind_others

__all__ = ["Played", "Showing", "WebProcess"]

_log = logging.getLogger("heft.service")

_READY_S = 30.0
_GOODBYE_S = 2.0
_RESTART_S = 1.0


@dataclass(frozen=True)
class Played:
    """The recording that a replay plays: its first and last host time [ns], and how fast (times real time)."""

    start_ns: int
    end_ns: int
    speed: float


@dataclass(frozen=True)
class Showing:
    """What a page shows, and how it is reached.

    telemetry, stop, control   endpoints of the session, replay or rig; empty: there is none
    service                    endpoint for requests; empty: the page only watches
    data                       folder of the catalogue; empty: there is none
    host, port                 where it listens; port 0: any
    token                      without which nobody is let in; empty: the loopback needs none
    certificate, key           of TLS, files in PEM
    scene                      the arm to draw, where no service tells it
    remote_arming              whether what comes from another host may arm
    foxglove                   port for the Foxglove app; None: it is not served
    played                     the recording, where what is shown is a replay
    """

    title: str
    telemetry: str = ""
    stop: str = ""
    control: str = ""
    service: str = ""
    data: str = ""
    host: str = "127.0.0.1"
    port: int = 8765
    token: str = ""
    certificate: str = ""
    key: str = ""
    scene: dict[str, Any] | None = None
    sessions: tuple[str, ...] = ()
    remote_arming: bool = False
    foxglove: int | None = None
    played: Played | None = None


class WebProcess:
    """`async with` starts it, and again where it is killed; `url` is where the page is."""

    def __init__(self, showing: Showing) -> None:
        self._showing = showing
        self._process: asyncio.subprocess.Process | None = None
        self._keeper: asyncio.Task[None] | None = None
        self.url = ""
        self.port = showing.port
        self.restarts = 0

    async def __aenter__(self) -> Self:
        await self._start()
        self._keeper = asyncio.create_task(self._keep(), name="page process")
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
        await self._end()

    @property
    def pid(self) -> int:
        """Of the process; 0: there is none now."""
        return 0 if self._process is None else self._process.pid

    async def _start(self) -> None:
        showing = json.dumps({**asdict(self._showing), "port": self.port}).encode()
        process = self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # whatever lies in the current folder
            "-m",
            "heft.service.web",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            preexec_fn=os.setsid,  # a Ctrl-C in the terminal is for the service, which then ends it
        )
        assert process.stdin is not None
        assert process.stdout is not None
        behind_others(process.pid)
        process.stdin.write(showing + b"\n")
        try:
            async with asyncio.timeout(_READY_S):
                line = await process.stdout.readline()
        except TimeoutError:
            line = b""
        told = json.loads(line) if line else {"error": "the page's process did not start; see the log"}
        if "error" in told:
            await self._end()
            raise ConfigError(told["error"])
        self.url, self.port = told["url"], int(told["port"])

    async def _keep(self) -> None:
        """Start it again where it ends by itself."""
        while True:
            if self._process is not None:  # None: the last attempt has failed
                code = await self._process.wait()
                _log.warning("the page's process has ended (%d); it is started again", code)
                self.restarts += 1
            await asyncio.sleep(_RESTART_S)
            try:
                await self._start()
            except (ConfigError, OSError) as exc:
                _log.warning("the page's process: %s", exc)

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            async with asyncio.timeout(_GOODBYE_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


def shown_path(path: Path | None) -> str:
    """A path as the other process is told it."""
    return "" if path is None else str(path.resolve())
