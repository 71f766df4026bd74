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

__all__ = ["MotionGradient", "RegressorSample", "SampledRegressor", "moved_motions"]

STEP = 1e-7  # [rad], [rad/s]: forward differences, good to seven digits; accelerations enter linearly

Ints = NDArray[np.int64]
#: Derivatives with respect to position, velocity and acceleration, each of the motion's shape (T, n).
MotionGradient = tuple[Array, Array, Array]


def moved_motions(motion: Array) -> tuple[Array, Array]:
    """Position, velocity and acceleration (3, T, n) as they are, then with each number of each joint moved a little,
    one after the other: (3, (3 n + 1) T, n), and by how much, (3 n,)."""
    n = motion.shape[2]
    copies = [motion]
    for kind, step in enumerate((STEP, STEP, 1.0)):
        for joint in range(n):
            moved = motion.copy()
            moved[kind, :, joint] += step
            copies.append(moved)
    return np.concatenate(copies, axis=1), np.repeat([STEP, STEP, 1.0], n)


@dataclass(frozen=True, eq=False)
class RegressorSample:
    """Compact rows of the regressor at T samples, and those of motions that were moved a little.

    motion          position, velocity, acceleration (3, T, n)
    rows            (T, R), without structural zeros
    moved           (3 n, T, R): by position, velocity, acceleration of each joint; None where nobody asked
    torque, slopes  by the robot's prior, (T, n), and derivatives (3, n, T, n); None where there is none, the slopes
                    also where torques are not measured
    """

    owner: SampledRegressor
    motion: Array
    rows: Array
    moved: Array | None
    torque: Array | None
    torque_slopes: Array | None

    def slopes_of_torques(self, at: Ints, joint: Ints) -> Array:
        """Derivatives of torques of joints (m,) at samples (m,), (3, m, n); zeros where nobody asked for any."""
        if self.moved is None:
            return np.zeros((3, len(at), self.motion.shape[2]))
        if self.torque_slopes is not None:
            return self.torque_slopes[:, :, at, joint].transpose(0, 2, 1)
        samples, back = np.unique(at, return_inverse=True)
        if not len(samples):
            return np.zeros((3, 0, self.motion.shape[2]))
        moved, steps = moved_motions(self.motion[:, samples])
        torque = self.owner.torque(moved[0], moved[1], moved[2])
        assert torque is not None
        torque = torque.reshape(len(steps) + 1, len(samples), -1)
        slopes = (torque[1:] - torque[0]) / steps[:, None, None]
        return np.asarray(slopes[:, back, joint].reshape(3, -1, len(at)).transpose(0, 2, 1))

    @property
    def dense(self) -> Array:
        """W, the columns that count, (T rows, c)."""
        return self.owner.dense(self.rows)

    def pull_back(self, G: Array) -> MotionGradient:
        """The derivative of f by the motion, from its derivative G by W (T rows, c).

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
    dynamics             the robot whose prior says the joints' torques, where `robot` does not measure them

    A root that moves freely rests upright.
    """

    def __init__(
        self,
        robot: Robot,
        columns: tuple[int, ...] | None = None,
        smoothing_velocity: Array | None = None,
        dynamics: Robot | None = None,
    ) -> None:
        self.columns = base_parameters(robot).independent if columns is None else columns
        if smoothing_velocity is not None:
            robot = _smoothed(robot, smoothing_velocity)
            dynamics = None if dynamics is None else _smoothed(dynamics, smoothing_velocity)
        self.robot = robot
        self.dynamics = dynamics
        self.rows = np.flatnonzero(robot.measured_rows)

    @cached_property
    def _places(self) -> tuple[Ints, Ints, Ints]:
        """Of the compact columns: those that count, their places among measured rows, and among `columns`."""
        layout = self.robot.regressor.layout
        place = {parameter: k for k, parameter in enumerate(self.columns)}
        found = [
            (column, number, place[int(layout.parameters[column])])
            for number, row in enumerate(self.rows.tolist())
            for column in range(layout.row(row).start, layout.row(row).stop)
            if int(layout.parameters[column]) in place
        ]
        column, row, base = (np.array(values) for values in zip(*found, strict=True))
        return column, row, base

    def sample(self, q: Array, dq: Array, ddq: Array, *, slopes: bool = True) -> RegressorSample:
        """At a motion (T, n); with `slopes`, also the derivatives by it."""
        T, n = q.shape
        motion = np.stack([q, dq, ddq])
        stacked, steps = moved_motions(motion) if slopes else (motion, np.zeros(0))
        whole = self.robot.regressor.rows(stacked[0], stacked[1], stacked[2])
        rows = whole.reshape(len(steps) + 1, T, -1)
        moved = rows[1:] if slopes else None
        if self.dynamics is not None:
            return RegressorSample(self, motion, rows[0], moved, self.torque(q, dq, ddq), None)
        torque = self._torque(whole)
        if not slopes:
            return RegressorSample(self, motion, rows[0], None, torque, None)
        torque_slopes = None
        if torque is not None:
            torque = torque.reshape(len(steps) + 1, T, n)
            torque_slopes = ((torque[1:] - torque[0]) / steps[:, None, None]).reshape(3, n, T, n)
            torque = torque[0]
        return RegressorSample(self, motion, rows[0], moved, torque, torque_slopes)

    def torque(self, q: Array, dq: Array, ddq: Array) -> Array | None:
        """Of the joints by the prior of `dynamics` along a motion (T, n), (T, n) [N m]; None without one."""
        robot = self.dynamics
        return None if robot is None or robot.prior is None else robot.torque(q, dq, ddq, robot.prior)

    def dense(self, rows: Array) -> Array:
        """W (T rows, c) of compact rows (T, R)."""
        column, row, base = self._places
        W = np.zeros((len(rows), len(self.rows), len(self.columns)))
        W[:, row, base] = rows[:, column]
        return W.reshape(-1, len(self.columns))

    def compact(self, G: Array) -> Array:
        """Entries of G (T rows, c) where W is not zero by structure, at the places of compact rows (T, R)."""
        column, row, base = self._places
        found = np.zeros((len(G) // len(self.rows), len(self.robot.regressor.layout.parameters)))
        found[:, column] = G.reshape(-1, len(self.rows), len(self.columns))[:, row, base]
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


def _smoothed(robot: Robot, velocity: Array) -> Robot:
    """With Coulomb friction that changes sign no faster than within `velocity` (n,)."""
    slower = np.maximum(robot.drives.smoothing_velocity, velocity)
    return robot.with_drives(replace(robot.drives, smoothing_velocity=slower))
