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
    """Compact rows of the regressor at T samples, and those of motions that were moved a little.

    rows            (T, R), without structural zeros
    moved           (3 n, T, R): by position, velocity, acceleration of each joint; None where nobody asked
    torque, slopes  by the robot's prior, (T, n), and derivatives (3, n, T, n); None where there is none
    """

    owner: SampledRegressor
    rows: Array
    moved: Array | None
    torque: Array | None
    torque_slopes: Array | None

    @property
    def dense(self) -> Array:
        """W, the columns that count, (T n, c)."""
        return self.owner.dense(self.rows)

    def pull_back(self, G: Array) -> MotionGradient:
        """The derivative of f by the motion, from its derivative G by W (T n, c).

        df / dx_tj = sum over the rows of sample t of G dW / dx_tj, by forward differences of G W.
        """
        assert self.moved is not None
        compact = self.owner.compact(G)
        changed = np.einsum("dtc,tc->dt", self.moved, compact) - np.einsum("tc,tc->t", self.rows, compact)
        n = len(self.moved) // 3
        by_motion = changed.reshape(3, n, -1).transpose(0, 2, 1) / np.array([STEP, STEP, 1.0])[:, None, None]
        return by_motion[0], by_motion[1], by_motion[2]


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
        rows = whole.reshape(len(copies), T, -1)
        if not slopes:
            return RegressorSample(self, rows[0], None, torque, None)
        torque_slopes = None
        if torque is not None:
            steps = np.repeat([STEP, STEP, 1.0], n)[:, None, None]
            torque = torque.reshape(len(copies), T, n)
            torque_slopes = ((torque[1:] - torque[0]) / steps).reshape(3, n, T, n)
            torque = torque[0]
        return RegressorSample(self, rows[0], rows[1:], torque, torque_slopes)

    def dense(self, rows: Array) -> Array:
        """W (T n, c) of compact rows (T, R)."""
        column, joint, base = self._places
        W = np.zeros((len(rows), len(self.robot.joints), len(self.columns)))
        W[:, joint, base] = rows[:, column]
        return W.reshape(-1, len(self.columns))

    def compact(self, G: Array) -> Array:
        """Entries of G (T n, c) where W is not zero by structure, at the places of compact rows (T, R)."""
        column, joint, base = self._places
        found = np.zeros((len(G) // len(self.robot.joints), len(self.robot.regressor.layout.parameters)))
        found[:, column] = G.reshape(-1, len(self.robot.joints), len(self.columns))[:, joint, base]
        return found

    def _torque(self, whole: Array) -> Array | None:
        return None if self._prior_by_row is None else np.asarray(whole @ self._prior_by_row)

    @cached_property
    def _prior_by_row(self) -> Array | None:
        """The prior's parameters where each joint's compact row has them, (R, n)."""
        if self.robot.prior is None:
            return None
        layout, n = self.robot.regressor.layout, len(self.robot.joints)
        full = np.append(self.robot.prior, 0.0)[layout.parameters]
        spread = np.zeros((len(full), n))
        for joint in range(n):
            spread[layout.row(joint), joint] = full[layout.row(joint)]
        return spread
