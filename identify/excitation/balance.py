"""That a robot which stands does not tip: its centre of pressure stays inside the polygon of its soles.

With f and m the force on the robot and its moment about a point o of the floor, both from the six equations of the root
(000, Eq. 33), and u upwards,

    centre of pressure (zero-moment point) = o + u x m / (u . f)

It is inside an edge with outward normal e and offset d, by a margin b, where

    e . (u x m) <= (d - b) (u . f)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.excitation.sample_constraints import METRE, NEARBY, SampleConstraints
from heft.identify.excitation.sampled_regressor import moved_motions
from heft.identify.excitation.support import Soles
from heft.identify.robot import Robot

__all__ = ["Balance"]

LEAST_LOAD = 0.3  # of the weight: less on the soles is a jump


@dataclass(frozen=True, eq=False)
class Balance:
    """What a robot keeps that stands on `soles`, its root at rest and upright.

    robot      measuring the wrench on its root, `base`, alone
    margin_m   between the centre of pressure and the polygon's edges [m]
    """

    robot: Robot
    soles: Soles
    margin_m: float

    def wrench(self, q: Array, dq: Array, ddq: Array) -> Array:
        """On the robot by its prior, in the root's frame, (T, 6) [N, N m]."""
        assert self.robot.prior is not None
        rows = self.robot.regressor.torque(q, dq, ddq, self.robot.prior)
        return np.asarray(rows[:, self.robot.measured_rows])

    def room(self, q: Array, dq: Array, ddq: Array) -> Array:
        """From the centre of pressure to the nearest edge [m], (T,); negative outside."""
        force, turned = self._floor(self.wrench(q, dq, ddq))
        inside = self.soles.offsets - (turned / force[:, None]) @ self.soles.normals.T
        return np.asarray(inside.min(axis=1))

    def constraints(
        self, q: Array, dq: Array, ddq: Array, extra_m: float = 0.0, *, slopes: bool = True
    ) -> SampleConstraints:
        """By how much an edge is left, in 0.1 m, and how little is on the soles, at samples that are near it."""
        value = self._values(q, dq, ddq, extra_m)
        at, kind = np.nonzero(value > NEARBY)
        by_motion = np.zeros((3, len(at), q.shape[1]))
        samples, back = np.unique(at, return_inverse=True)
        if slopes and len(samples):
            moved, steps = moved_motions(np.stack([q[samples], dq[samples], ddq[samples]]))
            whole = self._values(moved[0], moved[1], moved[2], extra_m)
            whole = whole.reshape(len(steps) + 1, len(samples), -1)
            changed = (whole[1:] - whole[0]) / steps[:, None, None]
            by_motion = changed[:, back, kind].reshape(3, -1, len(at)).transpose(0, 2, 1)
        about = ["the centre of pressure"] * len(self.soles.offsets) + ["the load on the soles"]
        return SampleConstraints(
            value[at, kind], at.astype(np.int64), by_motion, tuple(about[k] for k in kind), kind
        )

    def _floor(self, wrench: Array) -> tuple[Array, Array]:
        """u . f (T,) and u x m (T, 3)."""
        force, torque = wrench[:, :3], wrench[:, 3:]
        about = torque - np.cross(self.soles.origin, force)
        return force @ self.soles.up, np.cross(self.soles.up, about)

    def _values(self, q: Array, dq: Array, ddq: Array, extra_m: float) -> Array:
        """(T, edges + 1); kept where not above zero."""
        force, turned = self._floor(self.wrench(q, dq, ddq))
        room = self.soles.offsets - self.margin_m - extra_m
        edges = (turned @ self.soles.normals.T - room * force[:, None]) / (self._weight * METRE)
        return np.column_stack([edges, LEAST_LOAD - force / self._weight])

    @property
    def _weight(self) -> float:
        assert self.robot.prior is not None
        mass = float(self.robot.prior[: 10 * len(self.robot.links) : 10].sum())
        return mass * float(np.linalg.norm(self.robot.gravity))
