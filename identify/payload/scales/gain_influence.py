"""What unsure gains of the drives do to a load that is weighed by joint torques while it is carried.

A log gain l_k moves the torque beyond the arm's own of joint j by

    c_jk = (j = k) kappa_j torque_j - Y_j b_k

with b_k the part of the arm's parameters that follows it; what of that was there with an empty hand is in the offset.
The load, by rows K and weights W, moves by (K' W K)^-1 K' W c: a common factor in all gains is that factor in the
load's mass.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.payload.estimation.estimate import PayloadEstimate
from heft.identify.payload.estimation.uncertainty import inverse
from heft.identify.payload.estimation.unknowns import Unknowns
from heft.identify.payload.kinematics.alignment import Samples
from heft.identify.payload.scales.arm_model import UnsureGains
from heft.identify.robot import Robot

__all__ = ["GainInfluence"]


class GainInfluence:
    """Sums over the samples of one load, and what the empty hand showed before."""

    def __init__(self, robot: Robot, gains: UnsureGains) -> None:
        n = len(gains.values)
        self._robot, self._gains = robot, gains
        self._bare, self._count = np.zeros((n, n)), 0
        self._weights = np.ones(n)
        self._information, self._pull = np.zeros((10, 10)), np.zeros((10, n))

    def learn(self, samples: Samples, torque: Array) -> None:
        """A window of the empty hand; `torque` [N m] (N, n) with the gains."""
        self._count += 1
        self._bare = self._bare + (self._columns(samples, torque).mean(axis=0) - self._bare) / self._count

    def begin(self, noise: Array) -> None:
        """A load is held from now on; `noise` [N m] (n,) of a sample."""
        self._weights = noise**-2.0
        self._information, self._pull = np.zeros_like(self._information), np.zeros_like(self._pull)

    def weigh(self, samples: Samples, torque: Array, rows: Array) -> None:
        """A window of the load, with its rows (N, n, 10)."""
        scaled = rows * self._weights[:, None]
        columns = self._columns(samples, torque) - self._bare
        self._information = self._information + np.einsum("tja,tjb->ab", scaled, rows)
        self._pull = self._pull + np.einsum("tja,tjk->ak", scaled, columns)

    def widened(self, estimate: PayloadEstimate) -> PayloadEstimate:
        """The estimate with what the gains make unsure; what no motion told moves with none."""
        by_y = estimate.body.derivative_by_moments()
        precision = by_y.T @ self._information @ by_y + Unknowns().prior_precision(estimate.scale)
        moved = inverse(precision) @ (by_y.T @ self._pull)
        part = moved @ self._gains.covariance @ moved.T
        return replace(estimate, covariance=frozen(estimate.covariance + part), gain_covariance=frozen(part))

    def _columns(self, samples: Samples, torque: Array) -> Array:
        """c at each sample, shape (N, n, n)."""
        dense = self._robot.regressor.dense(samples.q, samples.dq, samples.ddq)
        return torque[:, :, None] * np.eye(torque.shape[1]) - dense @ self._gains.parts
