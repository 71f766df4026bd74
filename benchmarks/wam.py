"""The data of the identification benchmarks: the WAM on the trajectory of 003, with noise."""

from __future__ import annotations

from math import pi
from pathlib import Path

import numpy as np

from heft.identify.data import Dataset
from heft.identify.robot import Robot

WAM = Path(__file__).parents[1] / "configs" / "robots" / "wam7.yaml"
SAMPLES = 57656
SINES = [
    [0.05, -0.29, 0.48, 0.55, 0.65],
    [0.03, 0.29, -0.23, 0.32, 0.82],
    [-0.07, 0.40, 0.45, 0.40, -0.03],
    [0.14, -0.35, 0.15, 0.11, 0.93],
    [0.21, 0.35, 0.16, -0.02, 0.03],
    [-0.11, 0.28, 0.36, -0.06, 0.33],
    [-0.01, 0.24, 0.37, -0.45, 0.75],
]
COSINES = [
    [0.19, -0.40, -0.18, 0.63, -0.46],
    [0.09, -0.08, 0.05, -0.02, 0.65],
    [-0.49, 0.32, -0.26, -0.63, 0.06],
    [-0.14, 0.06, -0.13, -0.14, -0.03],
    [-0.51, 0.14, 0.37, -0.15, -0.17],
    [0.13, 0.07, 0.67, -0.15, -0.22],
    [0.24, 0.24, -0.22, -0.50, -0.52],
]
OFFSETS = [-0.29, 0.11, -0.02, 1.67, -2.41, 0.20, 0.58]


def trajectory(samples: int) -> tuple[np.ndarray, ...]:
    """t, q, dq, ddq of 003, Eq. 78."""
    t = np.arange(samples) * 1e-3
    w = 0.1 * pi * np.arange(1, 6)
    sine, cosine = np.sin(np.multiply.outer(t, w)), np.cos(np.multiply.outer(t, w))
    a, b = np.array(SINES), np.array(COSINES)
    q = sine @ (a / w).T - cosine @ (b / w).T + OFFSETS
    return t, q, cosine @ a.T + sine @ b.T, cosine @ (b * w).T - sine @ (a * w).T


def measured(robot: Robot, samples: int) -> tuple[Dataset, tuple[np.ndarray, ...]]:
    """A dataset with noise, and the true motion."""
    t, q, dq, ddq = trajectory(samples)
    assert robot.prior is not None
    tau = robot.torque(q, dq, ddq, robot.prior)
    rng = np.random.default_rng(0)
    tau += 0.02 * np.sqrt((tau**2).mean(axis=0)) * rng.standard_normal(tau.shape)
    count = 2 * pi / 2**19
    return Dataset.from_arrays(t, np.round(q / count) * count, tau), (q, dq, ddq)
