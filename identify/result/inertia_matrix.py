"""The inertia matrix of a robot over its workspace: positive definite for every arm that can exist."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    """M(q) with drives [kg m2, kg m, kg], shape (K, n, n), at positions q (K, n)."""
    n = len(robot.joints)
    terms = tuple(term for term in robot.terms if term == "drive_inertia")
    bare = replace(
        robot,
        tree=replace(robot.tree, gravity=np.zeros(3)),
        drives=replace(robot.drives, terms=terms),
        prior=None,
    )
    known = dict(zip(robot.parameter_names, parameters, strict=True))
    own = np.array([known[name] for name in bare.parameter_names])
    each = np.repeat(q, n, axis=0)
    columns = bare.torque(each, np.zeros_like(each), np.tile(np.eye(n), (len(q), 1)), own)
    return columns.reshape(len(q), n, n)


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
