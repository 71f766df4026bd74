"""The recorder of a session: takes what happens without waiting, and writes it from a thread of its own."""

from __future__ import annotations

import asyncio
import json
import math
import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any, Self

import numpy as np

from heft.daq.clock import HostClock
from heft.daq.errors import RecordError
from heft.daq.record import codec
from heft.daq.record.viewer import NO_ROBOT, Viewer
from heft.daq.record.writer import Writer
from heft.drivers.block import Block
from heft.drivers.stream import Stream

__all__ = ["FLUSH_S", "Recorder"]

#: Real time between two flushes to the disk [s]: a killed process loses at most this and the time that a
#: flush takes; together they stay below 0.5 s.
FLUSH_S = 0.25
#: Real time after which the thread looks at the queue [s], unless an eighth of it is full before: a thread that
#: wakes up for every block would hold up the event loop.
POLL_S = 0.02
#: Places in the queue beyond its capacity, so that what is said about a full queue can still be recorded.
RESERVE = 256


class Recorder:
    """Records one session into `path`, which is `NAME.mcap.partial` until it is whole.

        async with Recorder(Path("session.mcap"), clock) as recorder:
            recorder.describe(stream)
            recorder.block(block)
            recorder.event("segment_start", segment="excitation", use="identification")

    No method waits. A full queue, and a disk that cannot be written, raise RecordError: a sample is never
    dropped in silence. `capacity` is the number of Blocks that may wait for the writer. While more than half
    of that wait, simulated time stands still: a session as fast as possible is slowed down, not failed. `viewer` is
    what is written for viewers beside the truth.
    """

    def __init__(
        self, path: Path, clock: HostClock, *, capacity: int = 4096, viewer: Viewer = NO_ROBOT
    ) -> None:
        self._final = Path(path)
        self._partial = self._final.with_name(self._final.name + ".partial")
        self._clock = clock
        self._capacity = capacity
        self._viewer = viewer
        self._queue: deque[Callable[[], object] | None] = deque()
        self._wake = Event()
        self._refused: dict[str, int] = {}
        self._hold: AbstractContextManager[None] | None = None
        self._throttling = False
        self._failure: RecordError | None = None
        self._failure_raised = False
        self._renamed = self._deleted = False
        self._open = False
        self._flush_due = time.monotonic() + FLUSH_S
        self._writer: Writer
        self._loop: asyncio.AbstractEventLoop
        self._finished: asyncio.Event

    @property
    def path(self) -> Path:
        """Where the recording is, or was if it was deleted meanwhile: with `.partial` until it is whole."""
        return self._final if self._renamed else self._partial

    @property
    def counts(self) -> dict[str, int]:
        """Samples in the file per stream; up to the last flush while recording, all of them afterwards.

        None of them where the file has been deleted.
        """
        return dict.fromkeys(self._writer.counts, 0) if self._deleted else dict(self._writer.counts)

    async def __aenter__(self) -> Self:
        for path in (self._final, self._partial):
            if path.exists():
                raise RecordError(f"{path} exists; move it away, or record under another name (--out)")
        try:
            self._final.parent.mkdir(parents=True, exist_ok=True)
            with ExitStack() as stack:
                raw = stack.enter_context(open(self._partial, "xb", buffering=0))  # noqa: ASYNC230 - once
                self._writer = Writer(raw, self._clock.utc_offset_ns, self._viewer)
                stack.pop_all()  # from here on the thread closes it
        except OSError as exc:
            raise self._error(exc) from exc
        self._loop = asyncio.get_running_loop()
        self._finished = asyncio.Event()
        self._open = True
        Thread(target=self._write, args=(raw,), name=f"recorder {self._final.name}", daemon=True).start()
        return self

    async def __aexit__(self, kind: object, exc: BaseException | None, trace: object) -> None:
        """Write what is queued, finish the file, rename it. Cancellation waits until that is done."""
        if self._refused:
            with suppress(RecordError):  # raised below
                self.note("heft.refused", self._refused)
        self._open = False
        self._queue.append(None)
        self._wake.set()
        cancelled = None
        with self._clock.hold():
            self._release()
            while not self._finished.is_set():
                try:
                    await self._finished.wait()
                except asyncio.CancelledError as cancel:
                    cancelled = cancel
        if self._failure is not None and (exc is None or not self._failure_raised):
            raise self._failure
        if cancelled is not None:
            raise cancelled

    def describe(self, stream: Stream) -> None:
        """Open a stream's channels, so that it is in the file even if no sample comes."""
        self._put(partial(self._writer.describe, stream), RESERVE)

    def block(self, block: Block) -> None:
        """Record a Block. Blocks of one stream are written in the order of the calls."""
        try:
            self._put(partial(self._writer.block, block, codec.encode(block)))
        except RecordError:
            name = block.stream.name
            self._refused[name] = self._refused.get(name, 0) + len(block)
            raise

    def event(self, name: str, *, t_ns: int | None = None, **facts: Any) -> None:
        """Record that something happened, at host time `t_ns` [ns] (default: now)."""
        t_ns = self._clock.now_ns() if t_ns is None else t_ns
        text = _to_json({"t_ns": t_ns, "name": name, **facts})
        self._put(partial(self._writer.event, t_ns, text), RESERVE)

    def attach(self, name: str, media_type: str, data: bytes) -> None:
        """Put a file into the recording."""
        self._put(partial(self._writer.attach, name, media_type, self._clock.now_ns(), data), RESERVE)

    def note(self, name: str, entries: Mapping[str, Any]) -> None:
        """Record metadata: text as it is, all else as JSON. Of notes with one name, the last one counts."""
        texts = {key: value if isinstance(value, str) else _to_json(value) for key, value in entries.items()}
        self._put(partial(self._writer.note, name, texts), RESERVE)

    def _put(self, job: Callable[[], object], reserve: int = 0) -> None:
        if self._failure is not None:
            self._failure_raised = True
            raise self._failure
        if not self._open:
            raise RecordError(f"{self._final}: nothing can be recorded outside `async with`")
        waiting = len(self._queue)
        if waiting >= self._capacity + reserve:
            raise RecordError(
                f"{self._final}: {waiting} blocks wait for the disk, the limit is {self._capacity}; "
                "record fewer streams, or to a faster disk (--out)"
            )
        self._queue.append(job)
        if waiting >= self._capacity // 8:
            self._wake.set()
        if self._hold is None and waiting >= self._capacity // 2:
            self._hold = self._clock.hold()
            self._hold.__enter__()
            self._throttling = True

    def _release(self) -> None:
        """Let simulated time go on; in the loop's thread."""
        hold, self._hold = self._hold, None
        if hold is not None:
            hold.__exit__(None, None, None)

    def _write(self, raw: Any) -> None:
        """The thread: jobs in order, flushes by real time (host time may be simulated), the end."""
        try:
            with raw:
                while self._work(raw.fileno()):
                    self._wake.wait(POLL_S)
                    self._wake.clear()
                self._writer.finish()
                os.fsync(raw.fileno())
                self._check_place(raw.fileno())
            self._rename()
        except Exception as exc:
            self._failure = self._error(exc)
            self._call(self._release)
        finally:
            self._call(self._finished.set)

    def _work(self, descriptor: int) -> bool:
        """Do the jobs that wait. False: that was the last."""
        while True:
            if time.monotonic() >= self._flush_due:
                if self._writer.flush():
                    os.fdatasync(descriptor)
                self._check_place(descriptor)
                self._flush_due = time.monotonic() + FLUSH_S
            if self._throttling and len(self._queue) <= self._capacity // 4:
                self._throttling = False
                self._call(self._release)
            if not self._queue:
                return True
            job = self._queue.popleft()
            if job is None:
                return False
            job()

    def _check_place(self, descriptor: int) -> None:
        """RecordError where the file that is written is no longer found under its name."""
        here = os.fstat(descriptor)
        if here.st_nlink == 0:
            self._deleted = True
            raise RecordError(
                f"{self._partial}: was deleted while it was written, and with it all that was recorded; "
                "leave the folder alone until the session has ended"
            )
        with suppress(FileNotFoundError):
            if os.path.samestat(os.stat(self._partial), here):
                return
        raise RecordError(
            f"{self._partial}: was moved away while it was written; it can be read where it is now, "
            "up to here; leave the folder alone until the session has ended"
        )

    def _rename(self) -> None:
        """The file is whole: give it its name, and make sure that the name lasts."""
        self._partial.rename(self._final)
        self._renamed = True
        directory = os.open(self._final.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def _call(self, function: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is gone: nobody waits any more
            self._loop.call_soon_threadsafe(function)

    def _error(self, exc: Exception) -> RecordError:
        """What stopped the recording, and what to do."""
        if isinstance(exc, RecordError):
            return exc
        what, remedy = f"the recorder failed: {exc!r}", "please report this"
        if isinstance(exc, OSError):
            what, remedy = (
                f"cannot be written: {exc.strerror or exc}",
                "free some space or record elsewhere (--out)",
            )
        error = RecordError(f"{self._partial}: {what}; {remedy}; what was complete before can be read")
        error.__cause__ = exc
        return error


def _to_json(value: Any) -> str:
    """Strict JSON text: numpy's numbers as plain ones, NaN as null, what JSON does not know as text."""
    return json.dumps(_plain(value), allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)
