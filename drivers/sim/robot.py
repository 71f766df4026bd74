"""The robot as the simulated rig sees it: joints, drives and names of frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from heft.drivers.coupling import Coupling
from heft.drivers.sim.suspension import SuspensionOptions

__all__ = ["SimJoint", "SimRobot"]


@dataclass(frozen=True, slots=True)
class SimJoint:
    """One joint of the robot's file [rad, rad/s, rad/s2, N m] (or m, N): limits, drive, prior joint terms.

    joint torque = gear * torque_constant * current. `drive_inertia` is seen at the joint [kg m2].
    Friction: viscous v + coulomb tanh(v / smoothing_velocity) + offset [N m]. `motor_inertia`, `motor_viscous` and
    `motor_coulomb` are those of a motor that turns with several joints.
    """

    name: str
    position: tuple[float, float]
    velocity: float
    acceleration: float
    torque: float
    gear: float = 1.0
    torque_constant: float = 1.0
    drive_inertia: float = 0.0
    viscous: float = 0.0
    coulomb: float = 0.0
    offset: float = 0.0
    motor_inertia: float = 0.0
    motor_viscous: float = 0.0
    motor_coulomb: float = 0.0
    smoothing_velocity: float = 0.02

    @property
    def torque_per_ampere(self) -> float:
        """Joint torque per motor current [N m/A]."""
        return self.gear * self.torque_constant


@dataclass(frozen=True, slots=True)
class SimRobot:
    """A robot as an MJCF or URDF file with its joints in order.

    `flange` and `sensor` are sites (in URDF, links); `hand` is the body that a grasped object becomes part of. The
    sensor measures the force between its body, which carries the hand, and that body's parent. `locked` joints are held
    still in the position they have in the file. `coupling` None: each motor moves one joint. `places` are the sites or
    bodies that devices measure in, by the devices' names. With `free` the root body moves freely, held by `suspension`.
    """

    name: str
    model: Path
    joints: tuple[SimJoint, ...]
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    flange: str | None = None
    sensor: str | None = None
    hand: str | None = None
    locked: tuple[str, ...] = ()
    coupling: Coupling | None = None
    places: Mapping[str, str] = field(default_factory=dict)
    free: bool = False
    suspension: SuspensionOptions | None = None

    @property
    def sensed(self) -> tuple[str, ...]:
        """The frames in which something is measured, each once: the wrist sensor's first."""
        wrist = () if self.sensor is None else (self.sensor,)
        return tuple(dict.fromkeys((*wrist, *self.places.values())))

    @property
    def axes(self) -> tuple[str, ...]:
        """Joint names in order."""
        return tuple(joint.name for joint in self.joints)

    def column(self, field: str) -> NDArray[np.float64]:
        """One number of every joint, shape (n,)."""
        return np.array([getattr(joint, field) for joint in self.joints], dtype=np.float64)
