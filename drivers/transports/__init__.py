"""Transports: bytes, datagrams and frames between this host and a device.

The seam is `Transport`; each kind imports its library only when it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from drivers.transports.can_bus import CanSettings, open_bus
    from drivers.transports.can_frame import CanFrame
    from drivers.transports.can_link import CanLink
    from drivers.transports.faults import Delivery, FaultInjector, Faults
    from drivers.transports.loopback import Loopback, loopback_bytes, loopback_can, loopback_datagrams
    from drivers.transports.pty_port import PtyPort
    from drivers.transports.serial_port import SerialPort
    from drivers.transports.transport import (
        Address,
        ByteStream,
        CanLine,
        Chunk,
        Datagram,
        Datagrams,
        Transport,
    )
    from drivers.transports.udp import UdpLink

__all__ = [
    "Address",
    "ByteStream",
    "CanFrame",
    "CanLine",
    "CanLink",
    "CanSettings",
    "Chunk",
    "Datagram",
    "Datagrams",
    "Delivery",
    "FaultInjector",
    "Faults",
    "Loopback",
    "PtyPort",
    "SerialPort",
    "Transport",
    "UdpLink",
    "loopback_bytes",
    "loopback_can",
    "loopback_datagrams",
    "open_bus",
]

_HOME = {
    "CanFrame": "can_frame",
    "CanLink": "can_link",
    "CanSettings": "can_bus",
    "Delivery": "faults",
    "FaultInjector": "faults",
    "Faults": "faults",
    "Loopback": "loopback",
    "PtyPort": "pty_port",
    "SerialPort": "serial_port",
    "UdpLink": "udp",
    "loopback_bytes": "loopback",
    "loopback_can": "loopback",
    "loopback_datagrams": "loopback",
    "open_bus": "can_bus",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME.get(name, 'transport')}"), name)
