"""The stacked regressor of a sampled motion, and what it changes by when the motion does.

Every row belongs to one sample and depends on position, velocity and acceleration there, and on nothing else. So the
derivative of anything that is made of rows needs, per sample, one directional derivative for each joint and each of
the three: 3 n further evaluations of the compiled kernel, whatever the number of coefficients is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.robot import Robot
from heft.identify.robot.base import base_parameters

__all__ = ["MotionGradient", "RegressorSample", "SampledRegressor"]

STEP = 1e-7  # [rad], [rad/s]: forward differences, good to seven digits; accelerations enter linearly

Ints = NDArray[np.int64]
#: Derivatives with respect to position, velocity and acceleration, each of the motion's shape (T, n).
MotionGradient = tuple[Array, Array, Array]


@dataclass(frozen=True, eq=False)
class RegressorSample:
    """Columns that count at T samples, (T, C) without structural zeros, and their derivatives (3, n, T, C).

    torque and its derivatives (T, n), (3, n, T, n): by the robot's prior; None where there is none.
    """

    owner: SampledRegressor
    rows: Array
    slopes: Array | None
    torque: Array | None
    torque_slopes: Array | None

    @property
    def dense(self) -> Array:
        """W, those columns, (T n, c)."""
        return self.owner.dense(self.rows)

    def pull_back(self, G: Array) -> MotionGradient:
        """The derivative of f by the motion, from its derivative G by W (T n, c)."""
        assert self.slopes is not None
        compact = self.owner.compact(G)
        found = np.einsum("djtc,tc->dtj", self.slopes, compact, optimize=True)
        return found[0], found[1], found[2]


class SampledRegressor:
    """Makes `RegressorSample`s of a robot's motions.

    columns              parameters whose columns count, indices; None: those of the base parameters
    smoothing_velocity   [rad/s] (n,): Coulomb friction changes sign no faster, so that the criterion of a coarsely
                         sampled motion is smooth; None: as the robot's file says
    """

    def __init__(
        self,
        robot: Robot,
        columns: tuple[int, ...] | None = None,
        smoothing_velocity: Array | None = None,
    ) -> None:
        self.columns = base_parameters(robot).independent if columns is None else columns
        if smoothing_velocity is not None:
            slower = np.maximum(robot.drives.smoothing_velocity, smoothing_velocity)
            robot = robot.with_drives(replace(robot.drives, smoothing_velocity=slower))
        self.robot = robot

    @cached_property
    def _places(self) -> tuple[Ints, Ints, Ints]:
        """Of the compact columns: those that count, their rows (joints), their places among `columns`."""
        layout = self.robot.regressor.layout
        place = {parameter: k for k, parameter in enumerate(self.columns)}
        found = [
            (column, joint, place[int(layout.parameters[column])])
            for joint in range(len(self.robot.joints))
            for column in range(layout.row(joint).start, layout.row(joint).stop)
            if int(layout.parameters[column]) in place
        ]
        column, joint, base = (np.array(values) for values in zip(*found, strict=True))
        return column, joint, base

    def sample(self, q: Array, dq: Array, ddq: Array, *, slopes: bool = True) -> RegressorSample:
        """At a motion (T, n); with `slopes`, also the derivatives by it."""
        T, n = q.shape
        motion = np.stack([q, dq, ddq])
        copies = [motion]
        if slopes:
            for kind, step in enumerate((STEP, STEP, 1.0)):
                for joint in range(n):
                    moved = motion.copy()
                    moved[kind, :, joint] += step
                    copies.append(moved)
        regressor = self.robot.regressor
        stacked = np.concatenate(copies, axis=1)
        whole = regressor.rows(stacked[0], stacked[1], stacked[2])
        torque = self._torque(whole)
        rows = whole[:, self._places[0]].reshape(len(copies), T, -1)
        if not slopes:
            return RegressorSample(self, rows[0], None, torque, None)
        steps = np.repeat([STEP, STEP, 1.0], n)[:, None, None]
        differences = (rows[1:] - rows[0]) / steps
        torque_slopes = None
        if torque is not None:
            torque = torque.reshape(len(copies), T, n)
            torque_slopes = ((torque[1:] - torque[0]) / steps).reshape(3, n, T, n)
            torque = torque[0]
        return RegressorSample(
            self, rows[0], differences.reshape(3, n, T, rows.shape[2]), torque, torque_slopes
        )

    def dense(self, rows: Array) -> Array:
        """W (T n, c) of compact rows (T, C)."""
        _, joint, base = self._places
        W = np.zeros((len(rows), len(self.robot.joints), len(self.columns)))
        W[:, joint, base] = rows
        return W.reshape(-1, len(self.columns))

    def compact(self, G: Array) -> Array:
        """Entries of G (T n, c) where W is not zero by structure, (T, C)."""
        _, joint, base = self._places
        return G.reshape(-1, len(self.robot.joints), len(self.columns))[:, joint, base]

    def _torque(self, whole: Array) -> Array | None:
        if self.robot.prior is None:
            return None
        layout = self.robot.regressor.layout
        full = np.append(self.robot.prior, 0.0)[layout.parameters]
        return np.add.reduceat(whole * full, layout.row_starts[:-1], axis=1)
