"""The bus of a session: telemetry for everyone, control and stop for this host. See `docs/bus.md`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heft.daq.bus.control import ControlClient, ControlServer, Reply, Request
    from heft.daq.bus.endpoint import Endpoint, Endpoints
    from heft.daq.bus.message import Message
    from heft.daq.bus.runtime import RunningSession, private_endpoints, running_sessions
    from heft.daq.bus.stop import StopListener, send_stop
    from heft.daq.bus.telemetry import Publisher, Subscriber

_HOME = {
    "ControlClient": "heft.daq.bus.control",
    "ControlServer": "heft.daq.bus.control",
    "Endpoint": "heft.daq.bus.endpoint",
    "Endpoints": "heft.daq.bus.endpoint",
    "Message": "heft.daq.bus.message",
    "Publisher": "heft.daq.bus.telemetry",
    "Reply": "heft.daq.bus.control",
    "Request": "heft.daq.bus.control",
    "RunningSession": "heft.daq.bus.runtime",
    "StopListener": "heft.daq.bus.stop",
    "Subscriber": "heft.daq.bus.telemetry",
    "private_endpoints": "heft.daq.bus.runtime",
    "running_sessions": "heft.daq.bus.runtime",
    "send_stop": "heft.daq.bus.stop",
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
    "RunningSession",
    "StopListener",
    "Subscriber",
    "private_endpoints",
    "running_sessions",
    "send_stop",
]


def __getattr__(name: str) -> Any:
    """Import a public name, and with it zmq, when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
