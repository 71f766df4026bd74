"""A session's side: gives the recording by byte range, passes on what followers say, and waits for them at the end."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

import zmq
import zmq.asyncio

from heft.daq.bus.endpoint import Endpoint
from heft.daq.bus.requests import Reply, Request, RequestServer
from heft.daq.errors import BusError
from heft.daq.following.messages import Ending, RecordedBytes, SessionInfo

__all__ = ["READ_BYTES", "FollowServer"]

_log = logging.getLogger("heft.following")

#: Most bytes in one answer: some milliseconds of work, so that nobody else waits long.
READ_BYTES = 1 << 20
#: Answers that wait in the socket for one client before more are dropped, and requests of one follower at a time.
HIGH_WATER = 16
MOST_READS = 2
#: The longest part of a request [byte]: a result has 200 kB. Who sends more is disconnected.
REQUEST_BYTES = 1 << 24
#: Bytes per second for all followers together: an hour at 1 kHz in 12 s, and a flood of requests has its bound.
RATE = 128 << 20
#: Followers that are known at a time.
MOST_FOLLOWERS = 64
#: A follower that has not been heard of for so long is gone; who gets no further for so long is not waited for [s].
SILENT_S = 10.0
#: One that is expected and has never been heard of may take so long to load, on a busy machine, after the session [s].
LOADING_S = 30.0
#: How far the thread that reads the file steps back behind acquisition.
NICENESS = 10
_LOOK_S = 0.5
_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
_WHAT = re.compile(r"[a-z]{1,20}")


@dataclass(slots=True)
class _Follower:
    heard_s: float
    reached: int = -1  # the furthest offset that it has asked for
    reached_s: float = 0.0  # when
    reading: int = 0  # requests that are being answered
    has_all: bool = False
    left: bool = False

    @property
    def awaited(self) -> bool:
        """Whether it is still there."""
        return not self.left and time.monotonic() - self.heard_s < SILENT_S

    @property
    def lacking(self) -> bool:
        """Whether it is still getting what it lacks."""
        return self.awaited and not self.has_all and time.monotonic() - self.reached_s < SILENT_S

    def asks(self, offset: int) -> None:
        """It has everything before an offset."""
        if offset > self.reached:
            self.reached, self.reached_s = offset, time.monotonic()


class FollowServer:
    """Answers `describe`, `read`, `tell` and `leave` while inside `async with`. None of them can move anything.

    Telemetry may be read on any host, and so may this: it gives what telemetry gives, and all of it. The file is read
    in a thread of low priority: a follower waits for the disk, acquisition does not.

    info      what `describe` answers, once `begin` has been called
    tell      called with what a follower says: its name, a word what it is about, the value
    visible   number of bytes of the file that may be read while the session goes on; None: all that are there
    """

    def __init__(
        self,
        endpoint: str | Endpoint,
        info: SessionInfo,
        tell: Callable[[str, str, Any], None],
        *,
        visible: Callable[[], int] | None = None,
        context: zmq.asyncio.Context | None = None,
    ) -> None:
        self.info = info
        self.ended: Ending | None = None
        self._tell = tell
        self._visible = visible
        self._file: BinaryIO | None = None
        self._thread = ThreadPoolExecutor(1, "following", initializer=_step_back)
        self._followers: dict[str, _Follower] = {}
        self._heard = asyncio.Event()
        self._released = False
        self._turn = asyncio.Lock()
        self._free_s = 0.0  # when the next read may begin
        handlers = {
            "describe": self._on_describe,
            "read": self._on_read,
            "tell": self._on_tell,
            "leave": self._on_leave,
        }
        options: dict[int, int] = {zmq.SNDHWM: HIGH_WATER, zmq.MAXMSGSIZE: REQUEST_BYTES}
        self._server = RequestServer("following", endpoint, handlers, options=options, context=context)

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
            _log.exception("the channel for followers failed")
        self._thread.shutdown(wait=True, cancel_futures=True)
        if self._file is not None:
            self._file.close()

    def begin(self, path: Path) -> None:
        """The recording is there: from here on there are answers. It is kept open, and may be renamed."""
        self._file = path.open("rb", buffering=0)

    def end(self, ending: Ending) -> None:
        """The session is over, and nothing more will be written."""
        self.ended = ending

    async def followed(self, expected: Mapping[str, Callable[[], bool]]) -> None:
        """Return when every follower has everything, or is gone.

        `expected` are followers by name that will come, with a function that says whether they are still alive; these
        are waited for until they leave, or fall silent.
        """
        begun_s = time.monotonic()
        while not self._released and (
            any(follower.lacking for follower in self._followers.values())
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
        self._opened()
        return Reply(self.info.encode())

    async def _on_read(self, request: Request) -> Reply:
        file, follower = self._opened(), self._follower(request)
        offset, length = (_whole(request.payload.get(key)) for key in ("offset", "length"))
        if offset is None or length is None:
            raise BusError("read: give offset and length in bytes, whole numbers from 0 on")
        if follower.reading >= MOST_READS:
            raise BusError(f"read: {MOST_READS} requests of this follower are being answered; wait for them")
        follower.asks(offset)
        follower.reading += 1
        try:
            piece = await self._read(file, offset, min(length, READ_BYTES))
        finally:
            follower.reading -= 1
        follower.has_all = piece.ended is not None and offset >= piece.size
        return Reply(*piece.encode())

    async def _read(self, file: BinaryIO, offset: int, length: int) -> RecordedBytes:
        """One read at a time, in the order of the requests, no faster than RATE."""
        async with self._turn:
            await asyncio.sleep(max(0.0, self._free_s - time.monotonic()))
            ended = self.ended  # before the size is taken: with an end, that is final
            visible = None if self._visible is None or ended is not None else self._visible()
            data, size = await asyncio.get_running_loop().run_in_executor(
                self._thread, _read, file, offset, length, visible
            )
            self._free_s = time.monotonic() + len(data) / RATE
        return RecordedBytes(data, size, ended)

    async def _on_tell(self, request: Request) -> None:
        self._follower(request)
        what = request.payload.get("what")
        if not isinstance(what, str) or not _WHAT.fullmatch(what):
            raise BusError(f"tell: what is {what!r}, give a word of up to 20 small letters")
        self._tell(request.payload["follower"], what, request.payload.get("value"))

    async def _on_leave(self, request: Request) -> None:
        self._follower(request).left = True

    def _opened(self) -> BinaryIO:
        if self._file is None:
            raise BusError(f"the session {self.info.session} is just beginning; ask again")
        return self._file

    def _follower(self, request: Request) -> _Follower:
        """Who asks; the request must be meant for this session."""
        name, session = request.payload.get("follower"), request.payload.get("session")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise BusError(f"{request.name}: follower is {name!r}, give a name of letters, digits, - and _")
        if session != self.info.session:
            raise BusError(f"{request.name}: this is session {self.info.session}, not {session}")
        if name not in self._followers and len(self._followers) >= MOST_FOLLOWERS:
            self._followers = {known: f for known, f in self._followers.items() if f.awaited}
            if len(self._followers) >= MOST_FOLLOWERS:
                raise BusError(
                    f"{request.name}: {MOST_FOLLOWERS} others follow this session; come back later"
                )
        follower = self._followers.setdefault(name, _Follower(0.0))
        follower.heard_s = time.monotonic()
        self._heard.set()
        return follower


def _read(file: BinaryIO, offset: int, length: int, visible: int | None) -> tuple[bytes, int]:
    """Bytes from `offset` on, and the size of the file as far as it is visible; in the thread."""
    size = os.fstat(file.fileno()).st_size
    if visible is not None:
        size = min(size, visible)
    length = min(length, size - offset)
    return os.pread(file.fileno(), length, offset) if length > 0 else b"", size


def _whole(value: Any) -> int | None:
    """A whole number that is a place in a file; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63 else None


def _step_back() -> None:
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
