"""The bus of a session: telemetry for everyone, control and stop for this host. See `docs/bus.md`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from daq.bus.control import ControlClient, ControlServer, Reply, Request
    from daq.bus.endpoint import Endpoint, Endpoints
    from daq.bus.message import Message
    from daq.bus.security import Security
    from daq.bus.stop import StopListener, send_stop
    from daq.bus.telemetry import Publisher, Subscriber

_HOME = {
    "ControlClient": "daq.bus.control",
    "ControlServer": "daq.bus.control",
    "Endpoint": "daq.bus.endpoint",
    "Endpoints": "daq.bus.endpoint",
    "Message": "daq.bus.message",
    "Publisher": "daq.bus.telemetry",
    "Reply": "daq.bus.control",
    "Request": "daq.bus.control",
    "Security": "daq.bus.security",
    "StopListener": "daq.bus.stop",
    "Subscriber": "daq.bus.telemetry",
    "send_stop": "daq.bus.stop",
}

__all__ = [
    "ControlClient",
    "ControlServer",
    "Endpoint",
    "Endpoints",
    "Message",
    "Publisher",
    "Reply",
    "Request",
    "Security",
    "StopListener",
    "Subscriber",
    "send_stop",
]


def __getattr__(name: str) -> Any:
    """Import a public name, and with it zmq, when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
