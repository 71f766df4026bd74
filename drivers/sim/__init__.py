"""The simulated rig: a MuJoCo plant, and drivers whose devices live in it.

`World` owns the plant, its time and its seeds; `SimDrives`, `SimEncoders`, `SimWrench` and `SimGripper` sample it, each
by its own clock. See `docs/simulated-rig.md`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from drivers.sim.robot import SimJoint, SimRobot
    from drivers.sim.world import World, WorldOptions

__all__ = ["SimJoint", "SimRobot", "World", "WorldOptions"]

_HOME = {
    "SimJoint": "drivers.sim.robot",
    "SimRobot": "drivers.sim.robot",
    "World": "drivers.sim.world",
    "WorldOptions": "drivers.sim.world",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: MuJoCo is not light."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
