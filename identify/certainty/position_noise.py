"""Noise of the positions in the regressor, and the bias that it causes.

Positions are measured too; their noise comes into the regressor mostly by the accelerations. With rows Y + dY instead
of Y, least squares is drawn towards zero by

    bias = -A^-1 (sum over rows E[dY' W dY]) b

(attenuation). dY = (dY/dq'') dq'', and dq'' has the variance that differentiator and filter leave of the positions'
noise, whose standard deviation is estimated from fourth differences, where motion has next to no power.
"""

from __future__ import annotations

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.data import Dataset, Processing
from heft.identify.data.white_noise import white_noise
from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.problem import Problem
from heft.identify.information.fit_data import FitData

__all__ = ["INSTANTS", "acceleration_noise", "attenuation", "position_noise"]

INSTANTS = 24  # at which the regressor's derivative is looked at


def position_noise(data: Dataset) -> Array:
    """Standard deviation of white noise on positions (on velocities, where they are measured), shape (n,)."""
    return white_noise(data.t, data.turned if data.dq is None else data.dq)


def acceleration_noise(processing: Processing, data: Dataset, rate_hz: float) -> Array:
    """Variance of the filtered accelerations by noise of what is measured [rad2/s4], shape (n,)."""
    motion, taps = processing.differentiator(rate_hz), processing.taps(rate_hz)
    kernel = motion.second if data.dq is None else motion.first
    return position_noise(data) ** 2 * float((np.convolve(kernel, taps) ** 2).sum())


def attenuation(fit_data: FitData, problem: Problem, estimate: Estimate, spread: Array) -> Array:
    """The bias of the base parameters, shape (n_base,); zero for periodic motion, whose noise is averaged away."""
    columns = list(problem.base.independent)
    if fit_data.processing.derivative == "fourier":
        return np.zeros(len(columns))
    robot = fit_data.robot
    squares = np.zeros((len(columns), len(columns)))
    rows = (estimate.information or problem.information).rows
    whole = sum(data.duration_s for data in fit_data.datasets)
    for data, survey in zip(fit_data.datasets, fit_data.surveys, strict=True):
        variance = acceleration_noise(fit_data.processing, data, 1 / survey.sampling.step_s)
        variance[survey.still] = 0.0
        picked = np.linspace(0, len(data) - 1, INSTANTS).astype(int)
        q = np.array(data.q[picked], dtype=np.float64)
        survey.held(q.T)
        weight = np.sqrt(estimate.weights * rows * data.duration_s / whole / INSTANTS)
        for i, change in enumerate(robot.regressor.by_acceleration(q)[:, :, :, columns]):
            change = (change * weight[None, :, None]).reshape(-1, len(columns))
            squares += variance[i] * (change.T @ change)
    finite = np.where(np.isfinite(spread), spread, 0.0)
    base: Array = problem.base.matrix @ estimate.parameters
    return -finite @ (squares @ base)
