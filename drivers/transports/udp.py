"""Datagrams over UDP."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import socket

from heft.drivers.clock import Clock
from heft.drivers.errors import ConnectError, DeviceLost
from heft.drivers.transports.descriptor import Descriptor
from heft.drivers.transports.receive_time import ReceiveTime
from heft.drivers.transports.stamped_socket import StampedSocket
from heft.drivers.transports.throttle import Throttle
from heft.drivers.transports.transport import Address, Datagram, Transport

__all__ = ["UdpLink"]

#: Datagrams read at one wake-up before the loop gets its turn, and per second.
_BURST = 64
_PER_SECOND = 20_000.0
#: No device here sends more in one datagram [byte]: what fits an Ethernet frame.
_LARGEST = 1472


class UdpLink(Transport[Datagram, bytes]):
    """A UDP socket on the event loop, with the kernel's receive stamps mapped to host time.

    remote          (host, port) of the one device that is spoken to; datagrams of others do not come in, and a
                    device that refuses (nobody listens on its port) is noticed. None: whoever sends is heard, and
                    `reply` answers: the end of an emulator.
    local           (address, port) to bind; a fixed port for devices that fall silent when it changes; 0: any
    receive_buffer  kernel buffer asked for [byte]; what was given is in `receive_buffer`
    largest         longest datagram that is taken [byte]

    Whoever floods the port does not keep the loop: size, number at one wake-up and rate are bounded. `refused` counts
    datagrams that were too long or of another sender; `throttled` how often the port was left alone for a while.
    """

    def __init__(
        self,
        device: str,
        clock: Clock,
        *,
        remote: Address | None,
        local: Address = ("", 0),
        receive_buffer: int = 4 << 20,
        largest: int = _LARGEST,
    ) -> None:
        super().__init__(device, clock)
        self._largest = largest
        self._peer: Address | None = None
        self._throttle = Throttle(clock, _PER_SECOND)
        self.remote = remote
        self.local = local
        self._wanted_buffer = receive_buffer
        self._socket: StampedSocket | None = None
        self._descriptor: Descriptor | None = None
        self._time = ReceiveTime(clock)

    @property
    def throttled(self) -> int:
        """How often the port was left alone because too much came."""
        return self._throttle.throttled

    @property
    def where(self) -> str:
        if self.remote is None:
            return f"udp port {self.local[1]}"
        return f"udp {self.remote[0]}:{self.remote[1]}"

    @property
    def address(self) -> Address:
        """The local (address, port) in use."""
        name: Address = self._open_socket().socket.getsockname()[:2]
        return name

    @property
    def receive_buffer(self) -> int:
        """Size of the kernel's receive buffer as granted [byte, with the kernel's own overhead]."""
        return self._open_socket().receive_buffer

    @property
    def dropped(self) -> int:
        """Datagrams that the kernel threw away because this program did not read in time."""
        return self._open_socket().dropped

    async def send(self, item: bytes) -> int:
        """Send one datagram to `remote`."""
        if self.remote is None:
            raise ValueError(f"{self.device}: {self.where} has no remote; use reply(data, peer)")
        return await self._send(item, None)

    async def reply(self, item: bytes, peer: Address) -> int:
        """Send one datagram to `peer`, from an end that has no fixed `remote`."""
        return await self._send(item, peer)

    async def _acquire(self) -> None:
        family = socket.AF_INET
        remote = self.remote
        try:
            if remote is not None:
                family, remote = await _resolve(remote)
            sock = socket.socket(family, socket.SOCK_DGRAM)
            self._socket = StampedSocket(sock, self._wanted_buffer)
            sock.bind(self.local)
            if remote is not None:
                sock.connect(remote)
                self._peer = sock.getpeername()[:2]
        except OSError as exc:
            raise ConnectError(self.device, f"cannot open {self.where}: {self._reason(exc)}") from exc
        self._descriptor = Descriptor(sock.fileno(), self._read)

    def _release(self) -> None:
        if self._descriptor is not None:
            self._descriptor.forget(DeviceLost(self.device, f"{self.where} was closed by this program"))
            self._descriptor = None
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    async def _send(self, data: bytes, peer: Address | None) -> int:
        while True:
            stamped, descriptor = self._open_socket(), self._descriptor
            sent_ns = self.clock.now_ns()
            try:
                if peer is None:
                    stamped.socket.send(data)
                else:
                    stamped.socket.sendto(data, peer)
            except BlockingIOError:
                if descriptor is not None:
                    await descriptor.writable()
            except OSError as exc:
                if exc.errno == errno.EMSGSIZE:
                    raise ValueError(
                        f"{self.device}: {len(data)} bytes do not fit a datagram; split them"
                    ) from exc
                raise self._lost(exc) from exc
            else:
                return sent_ns

    def _read(self) -> None:
        """Take in everything that waits."""
        stamped = self._socket
        if stamped is None or self._descriptor is None:
            return
        room = self._throttle.room(_BURST)
        if room < 1:
            self._descriptor.pause(Throttle.PAUSE_S)
            return
        arrived: list[Datagram] = []
        try:
            with contextlib.suppress(BlockingIOError):
                for _ in range(room):
                    data, kernel_ns, peer, cut = stamped.read(self._largest)
                    self._throttle.take(1)
                    if cut or (self._peer is not None and peer != self._peer):
                        self.refused += 1
                        continue
                    arrived.append(Datagram(data, self._time.host_ns(kernel_ns), peer))
        except OSError as exc:
            self._inbox.put(arrived)
            self._lost(exc)
        else:
            self._inbox.put(arrived)

    def _lost(self, exc: OSError) -> DeviceLost:
        """Release the line, fail the pending `receive`, and return the error to raise."""
        if exc.errno == errno.ECONNREFUSED:
            why = "refused: nobody listens on that port; check that the device is on and its port is right"
        else:
            why = f"failed ({exc.strerror or exc}); check the cable and the network"
        error = DeviceLost(self.device, f"{self.where} {why}")
        self._inbox.fail(error)
        self._release()
        return error

    def _open_socket(self) -> StampedSocket:
        if self._socket is None:
            raise self._unavailable()
        return self._socket

    def _reason(self, exc: OSError) -> str:
        """What is wrong, and what to do about it."""
        if isinstance(exc, socket.gaierror):
            return "the host's name is not known; check it, or give its address"
        if exc.errno == errno.EADDRINUSE:
            return f"local port {self.local[1]} is in use; close the other program or choose another port"
        if exc.errno == errno.EADDRNOTAVAIL:
            return f"{self.local[0]} is not an address of this host; give one, or none for any"
        if exc.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH):
            return "no route there; check this host's address and netmask"
        return exc.strerror or str(exc)


async def _resolve(remote: Address) -> tuple[socket.AddressFamily, Address]:
    """Family and numeric address; only a name asks the resolver (in a thread)."""
    host, port = remote
    try:
        version = ipaddress.ip_address(host).version
    except ValueError:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_DGRAM)
        family, _, _, _, address = found[0]
        return family, (str(address[0]), int(address[1]))
    return (socket.AF_INET if version == 4 else socket.AF_INET6), remote
