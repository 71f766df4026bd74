"""Motors that turn with several joints, in the plant: their rotors' inertia and their friction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from heft.drivers.coupling import Coupling
from heft.drivers.sim.robot import SimRobot

__all__ = ["SharedMotors"]


@dataclass(frozen=True, slots=True, eq=False)
class SharedMotors:
    """Torque on the joints = C' (inertia theta'' + viscous theta' + coulomb tanh(theta' / smoothing_velocity)).

    On the joint's side of the gear, shape (n,) each: inertia [kg m2], viscous [N m s/rad], coulomb [N m],
    smoothing_velocity [rad/s]; zero for motors that move one joint, whose inertia and friction are the joint's.
    """

    coupling: Coupling
    inertia: NDArray[np.float64]
    viscous: NDArray[np.float64]
    coulomb: NDArray[np.float64]
    smoothing_velocity: NDArray[np.float64]

    @classmethod
    def of(cls, robot: SimRobot) -> Self | None:
        """As the robot's file says; None where each motor moves one joint."""
        if robot.coupling is None:
            return None
        inertia, viscous, coulomb = (
            np.where(robot.coupling.shared, robot.column(f"motor_{term}"), 0.0)
            for term in ("inertia", "viscous", "coulomb")
        )
        return cls(robot.coupling, inertia, viscous, coulomb, robot.column("smoothing_velocity"))

    def friction(self, v: NDArray[np.float64]) -> NDArray[np.float64]:
        """Torque that the joints have to overcome at their velocity v [N m], shape (..., n)."""
        speed = self.coupling.to_motors(v)
        return self.coupling.joint_torque(
            self.viscous * speed + self.coulomb * np.tanh(speed / self.smoothing_velocity)
        )
