"""The inertia matrix of a robot over its workspace: positive definite for every arm that can exist."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.robot import Robot

__all__ = ["InertiaMatrixCheck", "check_inertia_matrix", "inertia_matrices"]

POSES = 200


@dataclass(frozen=True)
class InertiaMatrixCheck:
    """M(q) at random poses.

    poses      how many
    failed     of them with an eigenvalue not above -tolerance
    smallest   eigenvalue of all, over the largest of the same pose [-]
    """

    poses: int
    failed: int
    smallest: float

    @property
    def ok(self) -> bool:
        """At every pose."""
        return self.failed == 0


def inertia_matrices(robot: Robot, parameters: Array, q: Array) -> Array:
    """M(q) with drives [kg m2, kg m, kg], shape (K, n, n), at positions q (K, n): torque per acceleration at rest."""
    n = len(robot.joints)
    each = np.repeat(q, n, axis=0)
    still, pushed = np.zeros_like(each), np.tile(np.eye(n), (len(q), 1))
    moved, held = (robot.torque(each, still, ddq, parameters) for ddq in (pushed, still))
    return (moved - held).reshape(len(q), n, n)


def check_inertia_matrix(
    robot: Robot, parameters: Array, poses: int = POSES, tolerance: float = 0.0
) -> InertiaMatrixCheck:
    """Whether M(q) is positive definite at random poses within the joints' limits.

    tolerance   how far below zero an eigenvalue may be, over the largest one [-]: what noise of data excuses, as
                that of the Cholesky factorisation in 002, section IV (Eq. 36, Table III)
    """
    assert robot.limits is not None
    low, high = robot.limits.position.T
    known = np.isfinite(low) & np.isfinite(high) & (high > low)
    reach = np.where(robot.tree.prismatic, 1.0, np.pi)
    low, high = np.where(known, low, -reach), np.where(known, high, reach)
    q = np.random.default_rng(0).uniform(low, high, (poses, len(robot.joints)))
    M = inertia_matrices(robot, parameters, q)
    scale = np.sqrt(np.maximum(np.einsum("kii->ki", np.abs(M)).max(axis=0), 1e-300))
    values = np.linalg.eigvalsh((M + M.transpose(0, 2, 1)) / 2 / np.outer(scale, scale))
    share = values[:, 0] / np.maximum(np.abs(values).max(axis=1), 1e-300)
    return InertiaMatrixCheck(poses, int((share <= -tolerance).sum()), float(share.min()))
