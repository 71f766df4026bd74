"""Motors that move several joints: what a setpoint, a position or a torque is on the other side of the gears."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heft.drivers.setpoints import Setpoints

__all__ = ["Coupling", "motor_names"]

Vectors = NDArray[np.float64]


def motor_names(joints: Sequence[str]) -> tuple[str, ...]:
    """Names of the motors of a coupled arm: motor k is named after joint k, and is not that joint."""
    return tuple(f"{joint}_motor" for joint in joints)


@dataclass(frozen=True, eq=False)
class Coupling:
    """theta = C q and joint torque = C' motor torque (002, Eq. 34), both on the joint's side of the gear.

    matrix   C, shape (n, n), invertible: row k says how far motor k turns with each joint
    """

    matrix: Vectors

    @classmethod
    def of(cls, matrix: ArrayLike | None) -> Coupling | None:
        """None where each motor moves one joint."""
        if matrix is None:
            return None
        array = np.array(matrix, dtype=np.float64)
        return None if np.array_equal(array, np.eye(len(array))) else cls(array)

    @cached_property
    def inverse(self) -> Vectors:
        """C^-1, shape (n, n)."""
        return np.asarray(np.linalg.inv(self.matrix), dtype=np.float64)

    @property
    def shared(self) -> NDArray[np.bool_]:
        """Motors that turn with several joints, shape (n,)."""
        return np.asarray(np.count_nonzero(self.matrix, axis=1) > 1)

    def to_motors(self, joints: Vectors) -> Vectors:
        """theta from q, or their derivatives; shape (..., n) each."""
        return joints @ self.matrix.T

    def to_joints(self, motors: Vectors) -> Vectors:
        """q from theta, or their derivatives; shape (..., n) each."""
        return motors @ self.inverse.T

    def joint_torque(self, motor_torque: Vectors) -> Vectors:
        """What motors do to the joints [N m], shape (..., n) each."""
        return motor_torque @ self.matrix

    def motor_torque(self, joint_torque: Vectors) -> Vectors:
        """What motors have to do for a torque of the joints [N m], shape (..., n) each."""
        return joint_torque @ self.inverse

    def setpoints(self, chunk: Setpoints) -> Setpoints:
        """Setpoints of the joints as those of the motors."""
        return Setpoints(
            chunk.sequence,
            chunk.host_ns,
            self.to_motors(chunk.position),
            self.to_motors(chunk.velocity),
            self.to_motors(chunk.acceleration),
            chunk.last,
        )

    def part(self, joints: Sequence[int]) -> Coupling | None:
        """Of some joints and their motors, which have nothing to do with the others."""
        return Coupling.of(self.matrix[np.ix_(joints, joints)])

    def crosses(self, joints: Sequence[int]) -> bool:
        """Whether motors of these joints move others too, or the other way round."""
        inside = np.zeros(len(self.matrix), dtype=np.bool_)
        inside[list(joints)] = True
        return bool(self.matrix[np.ix_(inside, ~inside)].any() or self.matrix[np.ix_(~inside, inside)].any())
