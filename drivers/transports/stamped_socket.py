"""A datagram socket whose arrivals the kernel stamps and whose losses it counts."""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import NamedTuple

from heft.drivers.transports.transport import Address

__all__ = ["Arrival", "StampedSocket", "widen"]

# Linux numbers that Python's socket module does not name: asm-generic/socket.h
_SO_RCVBUFFORCE = 33
_SO_TIMESTAMPNS = 35
_SO_RXQ_OVFL = 40

_TIMESPEC = struct.Struct("@ll")
_COUNT = struct.Struct("@I")
_LARGEST = 65_536  # no datagram is larger [byte]


class Arrival(NamedTuple):
    """A datagram, the kernel's stamp in system time [ns] (None: not offered), its sender, and whether it was longer."""

    data: bytes
    kernel_ns: int | None
    peer: Address
    cut: bool = False


def widen(sock: socket.socket, size: int) -> int:
    """Ask for a receive buffer of `size` bytes, beyond the system's limit where that is allowed; what was given.

    The default holds about 200 small datagrams: less than a loaded host can leave waiting.
    """
    for option in (socket.SO_RCVBUF, _SO_RCVBUFFORCE):
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, option, size)
    return sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)


class StampedSocket:
    """Wraps a datagram socket that it then owns: non-blocking, stamped, with a wide receive buffer."""

    def __init__(self, sock: socket.socket, receive_buffer: int) -> None:
        sock.setblocking(False)
        self.receive_buffer = widen(sock, receive_buffer)
        for option in (_SO_TIMESTAMPNS, _SO_RXQ_OVFL):
            with contextlib.suppress(OSError):  # not Linux
                sock.setsockopt(socket.SOL_SOCKET, option, 1)
        #: Datagrams that the kernel threw away because nobody read in time.
        self.dropped = 0
        self.socket = sock
        self._ancillary = socket.CMSG_SPACE(_TIMESPEC.size) + socket.CMSG_SPACE(_COUNT.size)

    def read(self, largest: int = _LARGEST) -> Arrival:
        """The next datagram, at most `largest` bytes of it; BlockingIOError if there is none."""
        data, ancillary, flags, peer = self.socket.recvmsg(largest, self._ancillary)
        kernel_ns = None
        for level, kind, content in ancillary:
            if level != socket.SOL_SOCKET:
                continue
            if kind == _SO_TIMESTAMPNS:
                seconds, nanoseconds = _TIMESPEC.unpack(content)
                kernel_ns = seconds * 1_000_000_000 + nanoseconds
            elif kind == _SO_RXQ_OVFL:
                self.dropped = _COUNT.unpack(content)[0]
        return Arrival(data, kernel_ns, peer[:2], bool(flags & socket.MSG_TRUNC))

    def close(self) -> None:
        """Close the socket; may be called twice."""
        self.socket.close()
