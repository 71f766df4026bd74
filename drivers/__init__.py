"""Drivers: talk to devices, and know nothing above them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from drivers.block import Block, Validity
    from drivers.clock import Clock
    from drivers.driver import Actuator, Context, Counters, Driver, Gripper, Identity
    from drivers.setpoints import Setpoints
    from drivers.stream import Column, Role, Stream

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
    "Actuator": "drivers.driver",
    "Block": "drivers.block",
    "Clock": "drivers.clock",
    "Column": "drivers.stream",
    "Context": "drivers.driver",
    "Counters": "drivers.driver",
    "Driver": "drivers.driver",
    "Gripper": "drivers.driver",
    "Identity": "drivers.driver",
    "Role": "drivers.stream",
    "Setpoints": "drivers.setpoints",
    "Stream": "drivers.stream",
    "Validity": "drivers.block",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
