"""The device's end of a serial line, on a pseudo-terminal."""

from __future__ import annotations

import contextlib
import os
import tty

from heft.drivers.clock import Clock
from heft.drivers.errors import ConnectError
from heft.drivers.transports.byte_line import ByteLine

__all__ = ["PtyPort"]


class PtyPort(ByteLine):
    """A pseudo-terminal: this end plays the device, `path` is the serial port that the other end opens.

    The port stays while others open and close it. It imitates neither baud rate nor parity.
    """

    def __init__(self, device: str, clock: Clock) -> None:
        super().__init__(device, clock)
        self._files: tuple[int, ...] = ()
        self._path = ""

    @property
    def path(self) -> str:
        """Name of the serial port to open; valid inside `async with`."""
        return self._path

    @property
    def where(self) -> str:
        return f"pseudo-terminal {self._path or '(closed)'}"

    async def _acquire(self) -> None:
        try:
            ours, theirs = self._files = os.openpty()
        except OSError as exc:
            raise ConnectError(
                self.device, f"no pseudo-terminal to be had ({exc.strerror}); close some"
            ) from exc
        tty.setraw(theirs)  # its file stays open, so that the line outlives whoever opens `path`
        os.set_blocking(ours, False)
        self._path = os.ttyname(theirs)
        self._watch(ours)

    def _close_files(self) -> None:
        for fd in self._files:
            with contextlib.suppress(OSError):
                os.close(fd)
        self._files = ()
