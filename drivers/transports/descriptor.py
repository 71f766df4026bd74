"""A file descriptor on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from heft.drivers.errors import HeftError

__all__ = ["Descriptor"]


class Descriptor:
    """Calls `on_readable` whenever `fd` can be read, and lets a sender wait until it can be written.

    It does not own the descriptor: call `forget` before closing it.
    """

    def __init__(self, fd: int, on_readable: Callable[[], None]) -> None:
        self.fd = fd
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._error: HeftError | None = None
        self._on_readable = on_readable
        self._loop.add_reader(fd, on_readable)

    def pause(self, seconds: float) -> None:
        """Leave the descriptor unread for so long."""
        self._loop.remove_reader(self.fd)
        self._loop.call_later(seconds, self._resume)

    def _resume(self) -> None:
        if self._error is None:
            self._loop.add_reader(self.fd, self._on_readable)

    async def writable(self) -> None:
        """Return when a write would not block; raises the error given to `forget`."""
        self._waiter = self._loop.create_future()
        self._loop.add_writer(self.fd, self._wake)
        try:
            await self._waiter
        finally:
            self._waiter = None
            if self._error is None:  # else the number may already be another file's
                self._loop.remove_writer(self.fd)
        if self._error is not None:
            raise self._error

    def forget(self, error: HeftError) -> None:
        """Stop watching; a waiting sender gets `error`."""
        self._error = error
        self._loop.remove_reader(self.fd)
        self._loop.remove_writer(self.fd)
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
