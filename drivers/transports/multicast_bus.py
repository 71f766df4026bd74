"""CAN frames over UDP multicast: python-can's `udp_multicast`, without its own echo.

A stock `udp_multicast` bus on Linux receives what it sent itself, which libraries on top of it take for other nodes'
frames. Nothing in an echo tells it apart, as all buses of a group send from the same port. This bus speaks the
same packets but sends them from a port of its own, so its echo is known by its sender.
"""

from __future__ import annotations

import errno
import select
import socket
import struct

import can
from can.interfaces.udp_multicast.utils import pack_message, unpack_message

from heft.drivers.transports.stamped_socket import StampedSocket

__all__ = ["MulticastBus"]

PORT = 43_113  # python-can's default
_LARGEST = 512  # no frame is packed into more [byte]


class MulticastBus(can.BusABC):
    """A bus between processes of one host (`hop_limit` 0) or of a local network (1).

    It has no arbitration, no bit rate and no bus-off, and may lose frames: `dropped` counts those that the kernel
    threw away here, `malformed` the packets that were no frames.
    """

    def __init__(
        self,
        channel: str,
        port: int = PORT,
        hop_limit: int = 1,
        fd: bool = True,
        receive_buffer: int = 4 << 20,
        can_filters: can.typechecking.CanFilters | None = None,
    ) -> None:
        super().__init__(channel, can_filters)
        self.channel_info = f"udp_multicast {channel}:{port}"
        self._can_protocol = can.CanProtocol.CAN_FD if fd else can.CanProtocol.CAN_20
        self.malformed = 0
        self._group = (channel, port)
        self._files: list[socket.socket] = []
        try:
            self._receiver = StampedSocket(self._listen(), receive_buffer)
            self._sender = self._speak(hop_limit)
        except OSError as exc:
            self.shutdown()
            raise can.CanInitializationError(f"{channel}:{port}: {exc.strerror}", exc.errno) from exc
        self._own = self._sender.getsockname()

    @property
    def dropped(self) -> int:
        """Frames that the kernel threw away because nobody read in time."""
        return self._receiver.dropped

    def fileno(self) -> int:
        """The descriptor to watch for arriving frames."""
        return self._receiver.socket.fileno()

    def send(self, msg: can.Message, timeout: float | None = None) -> None:
        """Send one frame to all other buses of the group."""
        if msg.is_fd and self._can_protocol is not can.CanProtocol.CAN_FD:
            raise can.CanOperationError("an FD frame on a bus that was opened with fd=False")
        try:
            self._sender.send(pack_message(msg))
        except OSError as exc:
            raise can.CanOperationError(f"failed to transmit: {exc.strerror}", exc.errno) from exc

    def shutdown(self) -> None:
        """Close both sockets; may be called twice."""
        super().shutdown()
        for sock in self._files:
            sock.close()

    def _recv_internal(self, timeout: float | None) -> tuple[can.Message | None, bool]:
        while True:
            try:
                data, kernel_ns, peer, cut = self._receiver.read(_LARGEST)
            except BlockingIOError:
                if timeout == 0 or not select.select([self._receiver.socket], [], [], timeout)[0]:
                    return None, False
                continue
            except OSError as exc:
                raise can.CanOperationError(f"failed to receive: {exc.strerror}", exc.errno) from exc
            if peer == self._own:
                continue
            if cut:
                self.malformed += 1
                continue
            message = self._unpack(data, kernel_ns)
            if message is not None:
                return message, False

    def _unpack(self, data: bytes, kernel_ns: int | None) -> can.Message | None:
        try:
            message = unpack_message(data, replace={"timestamp": (kernel_ns or 0) * 1e-9}, check=True)
        except Exception:  # what comes in over a network can be anything, and so is what the decoder raises
            self.malformed += 1
            return None
        if message.is_fd and self._can_protocol is not can.CanProtocol.CAN_FD:
            return None
        return message

    def _listen(self) -> socket.socket:
        """A socket that receives the group's packets, together with others on this host."""
        sock = self._udp_socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.bind(self._group)
        group = socket.inet_aton(self._group[0])
        try:
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group + socket.inet_aton("0.0.0.0"))
        except OSError as exc:
            if exc.errno != errno.ENODEV:
                raise
            # No network at all: the group then lives on the loopback interface.
            sock.setsockopt(
                socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group + socket.inet_aton("127.0.0.1")
            )
        return sock

    def _speak(self, hop_limit: int) -> socket.socket:
        """A socket with a port of its own that sends to the group."""
        sock = self._udp_socket()
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, struct.pack("@I", hop_limit))
        try:
            sock.connect(self._group)
        except OSError as exc:
            if exc.errno != errno.ENETUNREACH:
                raise
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
            sock.connect(self._group)
        return sock

    def _udp_socket(self) -> socket.socket:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._files.append(sock)
        return sock
