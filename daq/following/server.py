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

from heft.daq.bus.endpoint import Endpoint
from heft.daq.bus.keyring import Keyring
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
REQUEST_BYTES = 1 << 23
#: Words of followers that are passed on per second, and bytes of them.
TELL_HZ = 100.0
TELL_RATE = 8 << 20
#: Bytes per second for all followers together: an hour at 1 kHz in 12 s, and a flood of requests has its bound.
RATE = 128 << 20
#: Followers that are known at a time.
MOST_FOLLOWERS = 64
#: A follower that has not been heard of for so long is gone; who gets no further for so long is not waited for [s].
SILENT_S = 10.0
#: Whoever is not expected and gets on more slowly than this is not waited for after the session [byte/s].
SLOWEST_RATE = 1 << 20
#: One that is expected and has never been heard of may take so long to load, on a busy machine, after the session [s].
LOADING_S = 30.0
#: How far its threads step back behind acquisition.
NICENESS = 10
_LOOK_S = 0.05
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

    Who may read telemetry may read this: it gives what telemetry gives, and all of it. Requests are taken and answered
    in a thread of their own, of low priority, with a loop and a ZMQ context of its own: whatever followers send, and
    however long the disk takes, acquisition does not wait for it.

    info      what `describe` answers, once `begin` has been called
    tell      called with what a follower says: its name, a word what it is about, and JSON that nobody has read; in the
              loop that has entered
    visible   number of bytes of the file that may be read while the session goes on; None: all that are there
    """

    def __init__(
        self,
        endpoint: str | Endpoint,
        info: SessionInfo,
        tell: Callable[[str, str, bytes], None],
        *,
        visible: Callable[[], int] | None = None,
        keyring: Keyring | None = None,
    ) -> None:
        self.info = info
        self.ended: Ending | None = None
        self._tell = tell
        self._visible = visible
        self._file: BinaryIO | None = None
        self._reader = ThreadPoolExecutor(1, "following file", initializer=_step_back)
        self._thread: threading.Thread | None = None
        self._home: asyncio.AbstractEventLoop | None = None  # the loop that has entered
        self._inside: asyncio.AbstractEventLoop | None = None  # the thread's own
        self._leaving: asyncio.Event | None = None  # in it
        self._followers: dict[str, _Follower] = {}
        self._released = False
        self._read_turn, self._tell_turn = _Turn(), _Turn()
        handlers = {
            "describe": self._on_describe,
            "read": self._on_read,
            "tell": self._on_tell,
            "leave": self._on_leave,
        }
        options: dict[int, int] = {zmq.SNDHWM: HIGH_WATER, zmq.RCVHWM: HIGH_WATER}
        self._server = RequestServer(
            "following", endpoint, handlers, options=options, keyring=keyring, most=REQUEST_BYTES
        )

    @property
    def endpoint(self) -> Endpoint:
        """Where it is; a free port has become a number once it is open."""
        return self._server.endpoint

    async def __aenter__(self) -> Self:
        self._home = asyncio.get_running_loop()
        opened: asyncio.Future[None] = self._home.create_future()
        self._thread = threading.Thread(target=self._run, args=(opened,), name="following", daemon=True)
        self._thread.start()
        await opened
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._inside is not None
        assert self._leaving is not None
        assert self._thread is not None
        with suppress(RuntimeError):  # it has failed, and its loop is gone
            self._inside.call_soon_threadsafe(self._leaving.set)
        await asyncio.to_thread(self._thread.join)
        self._reader.shutdown(wait=True, cancel_futures=True)
        if self._file is not None:
            self._file.close()

    def _run(self, opened: asyncio.Future[None]) -> None:
        """The thread."""
        _step_back()
        try:
            asyncio.run(self._serve(opened))
        except Exception as exc:  # no trouble of a follower's is the session's
            self._answer_home(_settle, opened, exc)

    async def _serve(self, opened: asyncio.Future[None]) -> None:
        self._inside, self._leaving = asyncio.get_running_loop(), asyncio.Event()
        async with self._server:
            self._answer_home(_settle, opened, None)
            await self._leaving.wait()

    def _answer_home(self, function: Callable[..., object], *arguments: Any) -> bool:
        """Call a function in the loop that has entered; whether there is one any more."""
        assert self._home is not None
        try:
            self._home.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            return False
        return True

    def begin(self, path: Path) -> None:
        """The recording is there: from here on there are answers. It is kept open, and may be renamed."""
        self._file = path.open("rb", buffering=0)

    def end(self, ending: Ending) -> None:
        """The session is over, and nothing more will be written."""
        self.ended = ending

    async def followed(self, expected: Mapping[str, Callable[[], bool]]) -> None:
        """Return when every follower has everything, or is gone.

        `expected` are followers by name that will come, with a function that says whether they are still alive; these
        are waited for until they leave, or fall silent. All others have as long as the slowest of them may take for
        the whole recording.
        """
        begun_s = time.monotonic()
        size = 0 if self._file is None else os.fstat(self._file.fileno()).st_size
        until_s = begun_s + SILENT_S + size / SLOWEST_RATE
        while not self._released and (  # noqa: ASYNC110 - it happens in another thread
            (time.monotonic() < until_s and any(f.lacking for f in tuple(self._followers.values())))
            or any(alive() and self._expects(name, begun_s) for name, alive in expected.items())
        ):
            await asyncio.sleep(_LOOK_S)

    def release(self) -> None:
        """Wait for followers no longer."""
        self._released = True

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
        async with self._read_turn as turn:
            ended = self.ended  # before the size is taken: with an end, that is final
            visible = None if self._visible is None or ended is not None else self._visible()
            data, size = await asyncio.get_running_loop().run_in_executor(
                self._reader, _read, file, offset, length, visible
            )
            turn.pause(len(data) / RATE)
        return RecordedBytes(data, size, ended)

    async def _on_tell(self, request: Request) -> None:
        self._follower(request)
        what = request.payload.get("what")
        if not isinstance(what, str) or not _WHAT.fullmatch(what):
            raise BusError(f"tell: what is {what!r}, give a word of up to 20 small letters")
        if len(request.buffers) != 1:
            raise BusError(f"tell: {len(request.buffers)} buffers, give one, of JSON")
        (text,) = request.buffers
        async with self._tell_turn as turn:
            self._answer_home(self._tell, request.payload["follower"], what, text)
            turn.pause(1 / TELL_HZ + len(text) / TELL_RATE)

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
        return follower


class _Turn:
    """One at a time, in the order of coming, and after each as long a pause as it asks for."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._free_s = 0.0

    async def __aenter__(self) -> Self:
        await self._lock.acquire()
        try:
            await asyncio.sleep(max(0.0, self._free_s - time.monotonic()))
        except BaseException:
            self._lock.release()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._lock.release()

    def pause(self, seconds: float) -> None:
        """Nobody comes before that [s]."""
        self._free_s = time.monotonic() + seconds


def _settle(opened: asyncio.Future[None], error: Exception | None) -> None:
    if opened.done():
        if error is not None:
            _log.error("the channel for followers failed", exc_info=error)
    elif error is None:
        opened.set_result(None)
    else:
        opened.set_exception(error)


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
