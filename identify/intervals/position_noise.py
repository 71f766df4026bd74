"""Noise of the positions in the regressor, and what it does to the estimates.

Positions are measured too; their noise comes into the regressor mostly by the accelerations. With rows Y + dY instead
of Y, least squares is drawn towards zero by

    bias = -A^-1 (sum over rows E[dY' W dY]) b

(attenuation). dY = (dY/dq'') dq'', and dq'' has the variance that the differentiator and the filter leave of the
positions' noise, whose size is read off their fourth differences: motion has none there.
"""

from __future__ import annotations

import numpy as np

from identify.arrays import Array
from identify.dataset import Dataset, Processing
from identify.dataset.noise import white_noise
from identify.estimators.answer import Estimate
from identify.problem import Problem
from identify.source import Source

__all__ = ["INSTANTS", "acceleration_noise", "attenuation", "position_noise"]

INSTANTS = 24  # at which the regressor's derivative is looked at


def position_noise(data: Dataset) -> Array:
    """Standard deviation of white noise on positions (on velocities, where they are measured), shape (n,)."""
    return white_noise(data.t, data.q if data.dq is None else data.dq)


def acceleration_noise(processing: Processing, data: Dataset, rate_hz: float) -> Array:
    """Variance of the filtered accelerations by noise of what is measured [rad2/s4], shape (n,)."""
    motion, taps = processing.differentiator(rate_hz), processing.taps(rate_hz)
    kernel = motion.second if data.dq is None else motion.first
    return position_noise(data) ** 2 * float((np.convolve(kernel, taps) ** 2).sum())


def attenuation(source: Source, problem: Problem, answer: Estimate, spread: Array) -> Array:
    """The bias of the base parameters, shape (n_base,); zero for periodic motion, whose noise is averaged away."""
    columns = list(problem.base.independent)
    if source.processing.derivative == "fourier":
        return np.zeros(len(columns))
    robot = source.robot
    n = len(robot.joints)
    squares = np.zeros((len(columns), len(columns)))
    rows = (answer.information or problem.information).rows
    whole = sum(data.duration_s for data in source.datasets)
    for data, found in zip(source.datasets, source.surveys, strict=True):
        variance = acceleration_noise(source.processing, data, 1 / found.sampling.step_s)
        picked = np.linspace(0, len(data) - 1, INSTANTS).astype(int)
        q = np.asarray(data.q[picked], dtype=np.float64)
        still = robot.regressor.dense(q, np.zeros_like(q), np.zeros_like(q))[:, :, columns]
        for i in range(n):
            pushed = np.zeros_like(q)
            pushed[:, i] = 1.0
            change = robot.regressor.dense(q, np.zeros_like(q), pushed)[:, :, columns] - still
            weight = np.sqrt(answer.weights * rows * data.duration_s / whole / INSTANTS)
            change = (change * weight[None, :, None]).reshape(-1, len(columns))
            squares += variance[i] * (change.T @ change)
    finite = np.where(np.isfinite(spread), spread, 0.0)
    base: Array = problem.base.matrix @ answer.parameters
    return -finite @ (squares @ base)
