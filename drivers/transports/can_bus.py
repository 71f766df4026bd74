"""Opening a CAN bus: which interface, and what to say when it cannot be opened."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import can

from heft.drivers.errors import ConnectError
from heft.drivers.transports.multicast_bus import MulticastBus
from heft.drivers.transports.process_bus import ProcessBus
from heft.drivers.transports.stamped_socket import widen

__all__ = ["CanSettings", "open_bus"]


@dataclass(frozen=True, slots=True)
class CanSettings:
    """Where a bus is and how fast.

    interface     python-can's name: `socketcan` (real), `virtual` (inside this process), `udp_multicast` (between
                  processes), or any other that python-can knows
    channel       `can0`; any name (virtual); a multicast address such as 239.74.163.2 (udp_multicast)
    bitrate       [bit/s] where the interface sets it; socketcan takes it from `ip link`
    fd            frames of CAN FD may be sent and received; `data_bitrate` [bit/s] is their payload's rate
    options       further keywords of the interface (`port` and `hop_limit` of udp_multicast)
    """

    interface: str
    channel: str
    bitrate: int = 1_000_000
    fd: bool = False
    data_bitrate: int = 5_000_000
    receive_buffer: int = 4 << 20
    options: Mapping[str, object] = field(default_factory=dict)

    @property
    def where(self) -> str:
        """In words, for messages."""
        return f"CAN {self.interface} {self.channel}"


def open_bus(device: str, settings: CanSettings) -> can.BusABC:
    """An open bus with a wide receive buffer that never yields its own frames; ConnectError otherwise.

    It is what a transport reads, and what a blocking library (`canopen`) may be handed for its set-up.
    """
    try:
        return _open(settings)
    except (can.CanError, OSError, ValueError, TypeError, ImportError, NotImplementedError) as exc:
        reason = str(exc) or type(exc).__name__
        raise ConnectError(device, f"cannot open {settings.where}: {reason}; {_remedy(settings)}") from exc


def _open(settings: CanSettings) -> can.BusABC:
    extra: dict[str, Any] = dict(settings.options)
    if settings.interface == "udp_multicast":
        return MulticastBus(
            settings.channel,
            fd=settings.fd,
            receive_buffer=settings.receive_buffer,
            **extra,
        )
    if settings.interface == "virtual":
        protocol = can.CanProtocol.CAN_FD if settings.fd else can.CanProtocol.CAN_20
        return ProcessBus(settings.channel, protocol, **extra)
    if settings.interface == "socketcan":
        socket.if_nametoindex(settings.channel)  # says "no such device" before anything is open
        extra["fd"] = settings.fd
    else:
        extra |= {"bitrate": settings.bitrate}
        extra |= {"fd": True, "data_bitrate": settings.data_bitrate} if settings.fd else {}
    bus = can.Bus(interface=settings.interface, channel=settings.channel, ignore_config=True, **extra)
    if settings.interface == "socketcan":
        with contextlib.closing(socket.socket(fileno=os.dup(bus.fileno()))) as same:
            widen(same, settings.receive_buffer)
    return bus


def _remedy(settings: CanSettings) -> str:
    if settings.interface == "socketcan":
        return (
            f"see `ip link show`; bring it up with `ip link set {settings.channel} up type can "
            f"bitrate {settings.bitrate}`"
        )
    if settings.interface == "udp_multicast":
        return "the channel must be an IPv4 multicast address such as 239.74.163.2, and a network must be up"
    return f"known interfaces: {', '.join(sorted(can.VALID_INTERFACES))}"
