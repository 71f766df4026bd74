"""Noise in the wrench equations: of the wrenches, and of the positions, and what that does to the ten numbers.

That of positions is as in the joint equations (`identify.intervals.position_noise`): it comes by the accelerations,
and draws estimates towards zero by -P^-1 (sum over rows E[dA' W dA]) phi, with dA = (dA/dq'') dq'' linear in the noise.
"""

from __future__ import annotations

import numpy as np

from identify.arrays import Array
from identify.dataset import Dataset
from identify.dataset.noise import MOST_SAMPLES, white_noise
from identify.intervals.position_noise import INSTANTS, acceleration_noise
from identify.payload.wrench import differential_terms
from identify.payload.wrist import wrist_motion
from identify.robot import Robot
from identify.source import Source

__all__ = ["attenuation", "wrench_noise"]

LEAST_SAMPLES = 16


def wrench_noise(data: Dataset) -> Array:
    """Standard deviation of white noise on the wrench [N, N m], shape (6,), from its fourth differences."""
    assert data.wrench is not None
    values = np.asarray(data.wrench[:MOST_SAMPLES], dtype=np.float64)
    known = np.isfinite(values).all(axis=1)
    if known.sum() < LEAST_SAMPLES:
        return np.zeros(6)
    return white_noise(data.t[:MOST_SAMPLES][known], values[known])


def attenuation(source: Source, ten: Array, weights: Array, rows: int, spread: Array) -> Array:
    """The bias of the ten numbers, shape (10,), with `weights` on the squares of the six equations (6,).

    `spread`, shape (10, 10), is their covariance for residuals of variance 1 / weights at `rows` instants.
    """
    robot = source.robot
    surveys = [found for found in source.surveys if found.data.wrench is not None]
    whole = sum(found.data.duration_s for found in surveys)
    squares = np.zeros((10, 10))
    for found in surveys:
        data = found.data
        variance = acceleration_noise(source.processing, data, 1 / found.sampling.step_s)
        picked = np.linspace(0, len(data) - 1, INSTANTS).astype(int)
        q = np.asarray(data.q[picked], dtype=np.float64)
        still = _regressor(robot, q, np.zeros_like(q))
        for i in range(len(robot.joints)):
            pushed = np.zeros_like(q)
            pushed[:, i] = 1.0
            change = (_regressor(robot, q, pushed) - still) * np.sqrt(weights)[None, :, None]
            share = variance[i] * rows * data.duration_s / whole / INSTANTS
            squares += share * np.einsum("kia,kib->ab", change, change)
    return -spread @ (squares @ ten)


def _regressor(robot: Robot, q: Array, acceleration: Array) -> Array:
    moved = wrist_motion(robot, q, np.zeros_like(q), acceleration)
    terms = differential_terms(moved.rotation, None, moved.angular_acceleration, moved.linear_acceleration)
    return terms.regressor(robot.gravity)
