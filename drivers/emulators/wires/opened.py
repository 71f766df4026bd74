"""When a program opens the other end of an emulated serial line."""

from __future__ import annotations

import asyncio
import ctypes
import os

__all__ = ["Opened"]

_IN_OPEN = 0x20


class Opened:
    """Tells of each time that the file at `path` is opened (Linux: inotify). Close it after use."""

    def __init__(self, path: str) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0 or libc.inotify_add_watch(self._fd, path.encode(), _IN_OPEN) < 0:
            self.close()
            raise OSError(ctypes.get_errno(), f"{path} cannot be watched")
        self._event = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._fd, self._read)

    async def wait(self) -> None:
        """Return when it was opened since the last call."""
        await self._event.wait()
        self._event.clear()

    def close(self) -> None:
        if self._fd >= 0:
            if hasattr(self, "_loop"):
                self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _read(self) -> None:
        os.read(self._fd, 4096)
        self._event.set()
