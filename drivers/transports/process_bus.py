"""CAN frames inside this process: python-can's `virtual` bus, with a descriptor to watch and a short way for frames.

The stock bus can only be waited for by a thread, which then competes with the event loop for the interpreter: frames
come milliseconds late on a busy loop. Here what arrives also counts up an eventfd. Both kinds share their channels.
"""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections import deque
from typing import Any, NamedTuple

import can
from can.interfaces.virtual import VirtualBus, channels_lock

from heft.drivers.transports.can_frame import CanFrame

__all__ = ["Posted", "ProcessBus"]


class Posted(NamedTuple):
    """A frame and when it was sent [ns, host time]: sender and receiver share their clock."""

    frame: CanFrame
    sent_ns: int


class _Mailbox:
    """What a virtual bus uses of a queue, with an eventfd that is readable while there may be something in it."""

    def __init__(self) -> None:
        self.fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._items: deque[can.Message | Posted] = deque()
        self._signalled = False

    def put(self, item: can.Message | Posted, block: bool = True, timeout: float | None = None) -> None:
        self._items.append(item)
        if not self._signalled:
            self._signalled = True
            with contextlib.suppress(OSError):  # closed meanwhile
                os.eventfd_write(self.fd, 1)

    def take(self) -> can.Message | Posted | None:
        """The oldest one; None if there is none."""
        try:
            return self._items.popleft()
        except IndexError:
            self._signalled = False  # before looking again: who comes after the look signals
            with contextlib.suppress(BlockingIOError):
                os.eventfd_read(self.fd)
            return self._items.popleft() if self._items else None


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

    def post(self, frame: CanFrame, sent_ns: int) -> None:
        """As `send`, without a message in between where nobody needs one; `sent_ns`: when, host time [ns]."""
        self._check_if_open()
        posted = Posted(frame, sent_ns)
        others: list[Any] = [queue for queue in self.channel if queue is not self.queue]
        for mailbox in others:
            if isinstance(mailbox, _Mailbox):
                mailbox.put(posted)
            else:
                mailbox.put(_message(posted, self.channel_id))

    def take(self) -> can.Message | Posted | None:
        """What has arrived first, as it was sent; None: nothing."""
        self._check_if_open()
        return self._mailbox.take()

    def shutdown(self) -> None:
        """Leave the channel; may be called twice."""
        if self._open:
            super().shutdown()
            os.close(self._mailbox.fd)

    def _recv_internal(self, timeout: float | None) -> tuple[can.Message | None, bool]:
        item = self.take()
        if item is None and timeout != 0 and select.select([self._mailbox.fd], [], [], timeout)[0]:
            item = self.take()
        return (_message(item, self.channel_id) if isinstance(item, Posted) else item), False


def _message(posted: Posted, channel: object) -> can.Message:
    frame = posted.frame
    return can.Message(
        timestamp=time.time(),
        arbitration_id=frame.id,
        data=frame.data,
        is_extended_id=frame.extended,
        is_remote_frame=frame.remote,
        is_error_frame=frame.error,
        is_fd=frame.fd,
        bitrate_switch=frame.bitrate_switch,
        channel=channel,  # type: ignore[arg-type]
    )
