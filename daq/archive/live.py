"""Where the Blocks of a running session are: in memory, and what is older in the recording's file."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from daq.archive.memory import Memory
from daq.archive.shelf import Shelf
from daq.archive.tail import Tail

__all__ = ["LiveStore"]

#: A minute or so of 1 kHz x (7 joints + F/T), in memory [byte].
MEMORY_BYTES = 1 << 25
#: How far the thread that reads the file steps back behind acquisition.
NICENESS = 10


class LiveStore:
    """Takes Blocks as they are published; `file` tells where they are being recorded.

    Reading happens in a thread of low priority: who asks for old Blocks waits, not acquisition.
    """

    def __init__(self, file: Callable[[], Path], limit: int = MEMORY_BYTES) -> None:
        self._file = file
        self._memory = Memory(limit)
        self._thread: ThreadPoolExecutor | None = None
        self._shelf: Shelf | None = None
        self._tail: Tail | None = None
        self._recorded = True

    @property
    def counts(self) -> Mapping[str, int]:
        """Blocks so far, by stream."""
        return self._memory.counts

    def add(self, stream: str, data: bytes) -> None:
        """The stream's next Block."""
        self._memory.add(stream, data)

    def disown(self) -> None:
        """A Block was not recorded: numbers in the file no longer are those of the session."""
        self._recorded = False

    async def take(self, stream: str, first: int, limit: int) -> list[bytes]:
        """Blocks from number `first` on, until they have `limit` bytes; none where they are not at hand yet."""
        if first >= self._memory.first(stream):
            return self._memory.take(stream, first, limit)
        if not self._recorded:
            return []
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "archive", initializer=_step_back)
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, self._read, stream, first, limit
        )

    def close(self) -> None:
        """Nothing more will be asked."""
        if self._thread is not None:
            self._thread.shutdown(wait=True, cancel_futures=True)
        if self._shelf is not None:
            self._shelf.close()

    def _read(self, stream: str, first: int, limit: int) -> list[bytes]:
        """In the thread."""
        if self._shelf is None or self._tail is None:
            self._shelf = Shelf(self._file())
            self._tail = Tail(self._shelf)
        if first >= self._shelf.count(stream):
            self._tail.advance()
        return self._shelf.take(stream, first, limit)


def _step_back() -> None:
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
