"""Drivers: talk to devices, and know nothing above them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heft.drivers.block import Block, Validity
    from heft.drivers.clock import Clock
    from heft.drivers.driver import Actuator, Context, Counters, Driver, Gripper, Identity
    from heft.drivers.setpoints import Setpoints
    from heft.drivers.stream import Column, Role, Stream

__all__ = [
    "Actuator",
    "Block",
    "Clock",
    "Column",
    "Context",
    "Counters",
    "Driver",
    "Gripper",
    "Identity",
    "Role",
    "Setpoints",
    "Stream",
    "Validity",
]

_HOME = {
    "Actuator": "heft.drivers.driver",
    "Block": "heft.drivers.block",
    "Clock": "heft.drivers.clock",
    "Column": "heft.drivers.stream",
    "Context": "heft.drivers.driver",
    "Counters": "heft.drivers.driver",
    "Driver": "heft.drivers.driver",
    "Gripper": "heft.drivers.driver",
    "Identity": "heft.drivers.driver",
    "Role": "heft.drivers.stream",
    "Setpoints": "heft.drivers.setpoints",
    "Stream": "heft.drivers.stream",
    "Validity": "heft.drivers.block",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
