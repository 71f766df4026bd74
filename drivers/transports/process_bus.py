"""CAN frames inside this process: python-can's `virtual` bus, with a descriptor to watch.

The stock bus can only be waited for by a thread, which then competes with the event loop for the interpreter: frames
come milliseconds late on a busy loop. Here every frame also counts up an eventfd. Both kinds share their channels.
"""

from __future__ import annotations

import contextlib
import os
import select
from collections import deque

import can
from can.interfaces.virtual import VirtualBus, channels_lock

__all__ = ["ProcessBus"]


class _Mailbox:
    """What a virtual bus uses of a queue, with an eventfd that is readable while there may be something in it."""

    def __init__(self) -> None:
        self.fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._messages: deque[can.Message] = deque()

    def put(self, message: can.Message, block: bool = True, timeout: float | None = None) -> None:
        self._messages.append(message)
        with contextlib.suppress(OSError):  # closed meanwhile
            os.eventfd_write(self.fd, 1)

    def take(self) -> can.Message | None:
        """The oldest one; None if there is none."""
        try:
            return self._messages.popleft()
        except IndexError:
            with contextlib.suppress(BlockingIOError):
                os.eventfd_read(self.fd)
            return self._messages.popleft() if self._messages else None  # one that came just now


class ProcessBus(VirtualBus):
    """A bus of this process that the event loop can watch."""

    def __init__(self, channel: str, protocol: can.CanProtocol) -> None:
        super().__init__(channel, protocol=protocol)
        self._mailbox = _Mailbox()
        with channels_lock:
            self.channel.remove(self.queue)
            self.queue = self._mailbox  # type: ignore[assignment]
            self.channel.append(self.queue)

    def fileno(self) -> int:
        """The descriptor to watch for arriving frames."""
        return self._mailbox.fd

    def shutdown(self) -> None:
        """Leave the channel; may be called twice."""
        if self._open:
            super().shutdown()
            os.close(self._mailbox.fd)

    def _recv_internal(self, timeout: float | None) -> tuple[can.Message | None, bool]:
        self._check_if_open()
        message = self._mailbox.take()
        if message is None and timeout != 0 and select.select([self._mailbox.fd], [], [], timeout)[0]:
            message = self._mailbox.take()
        return message, False
