"""The archive's channel: answers followers, passes on what they say, and knows who still lacks something."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

import zmq.asyncio

from daq.archive.archive import Archive
from daq.bus.endpoint import Endpoint
from daq.bus.requests import Reply, Request, RequestServer
from daq.bus.security import Security
from daq.errors import BusError

__all__ = ["ArchiveServer", "Tell"]

_log = logging.getLogger("heft.archive")

#: A follower that has not been heard of for so long is gone [s].
SILENT_S = 10.0
#: One that is expected and has never been heard of may take so long to load, on a busy machine, after the session [s].
LOADING_S = 30.0
_LOOK_S = 0.5
_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
_WHAT = re.compile(r"[a-z]{1,20}")

#: Passes on what a follower says: its name, what it is about, the value.
Tell = Callable[[str, str, Any], None]


@dataclass(slots=True)
class _Follower:
    heard_s: float
    has_all: bool = False
    left: bool = False

    @property
    def awaited(self) -> bool:
        return not self.left and time.monotonic() - self.heard_s < SILENT_S


class ArchiveServer:
    """Answers `describe`, `fetch`, `tell` and `leave` while inside `async with`. None of them can move anything.

    Telemetry may be read on any host, and so may this: it gives what telemetry gives, and gives it again.
    """

    def __init__(
        self,
        endpoint: str | Endpoint,
        archive: Archive,
        tell: Tell,
        *,
        context: zmq.asyncio.Context | None = None,
        security: Security | None = None,
    ) -> None:
        self._archive = archive
        self._tell = tell
        self._followers: dict[str, _Follower] = {}
        self._heard = asyncio.Event()
        self._released = False
        handlers = {
            "describe": self._on_describe,
            "fetch": self._on_fetch,
            "tell": self._on_tell,
            "leave": self._on_leave,
        }
        self._server = RequestServer("archive", endpoint, handlers, context=context, security=security)

    @property
    def endpoint(self) -> Endpoint:
        """Where it is; a free port has become a number once it is open."""
        return self._server.endpoint

    async def __aenter__(self) -> Self:
        await self._server.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        try:
            await self._server.__aexit__(*exc)
        except Exception:  # no trouble of a follower's is the session's
            _log.exception("the archive failed")
        self._archive.store.close()

    async def followed(self, expected: Mapping[str, Callable[[], bool]]) -> None:
        """Return when every follower has everything, or is gone.

        `expected` are followers by name that will come, with a function that says whether they are still alive; these
        are waited for until they leave, or fall silent.
        """
        begun_s = time.monotonic()
        while not self._released and (
            any(f.awaited and not f.has_all for f in self._followers.values())
            or any(alive() and self._expects(name, begun_s) for name, alive in expected.items())
        ):
            self._heard.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_S):
                    await self._heard.wait()

    def release(self) -> None:
        """Wait for followers no longer."""
        self._released = True
        self._heard.set()

    def _expects(self, name: str, begun_s: float) -> bool:
        follower = self._followers.get(name)
        return time.monotonic() - begun_s < LOADING_S if follower is None else follower.awaited

    async def _on_describe(self, request: Request) -> Reply:
        return Reply(*self._archive.description().encode())

    async def _on_fetch(self, request: Request) -> Reply:
        follower = self._follower(request)
        blocks, events = request.payload.get("blocks"), request.payload.get("events")
        if not isinstance(blocks, dict) or not isinstance(events, int) or events < 0:
            raise BusError("fetch: say how many blocks of each stream and how many events are there already")
        if not all(isinstance(count, int) and count >= 0 for count in blocks.values()):
            raise BusError("fetch: blocks are counted by whole numbers from 0 on")
        delivery = await self._archive.deliver(blocks, events)
        follower.has_all = self._archive.complete(blocks, events)
        return Reply(*delivery.encode())

    async def _on_tell(self, request: Request) -> None:
        self._follower(request)
        what = request.payload.get("what")
        if not isinstance(what, str) or not _WHAT.fullmatch(what):
            raise BusError(f"tell: what is {what!r}, give a word of up to 20 small letters")
        self._tell(request.payload["follower"], what, request.payload.get("value"))

    async def _on_leave(self, request: Request) -> None:
        self._follower(request).left = True

    def _follower(self, request: Request) -> _Follower:
        """Who asks; the request must be meant for this session."""
        name, session = request.payload.get("follower"), request.payload.get("session")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise BusError(f"{request.name}: follower is {name!r}, give a name of letters, digits, - and _")
        if session != self._archive.session:
            raise BusError(f"{request.name}: this is session {self._archive.session}, not {session}")
        follower = self._followers.setdefault(name, _Follower(0.0))
        follower.heard_s = time.monotonic()
        self._heard.set()
        return follower
