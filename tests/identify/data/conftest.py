"""A small arm, and motion it could make."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from heft.identify.data import Dataset
from heft.identify.robot import Robot

Series = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@pytest.fixture(scope="session")
def arm() -> Robot:
    """Three joints; the first upright."""
    rows = [
        {"alpha": -np.pi / 2, "a": 0.0, "d": 0.0},
        {"alpha": 0.0, "a": 0.4, "d": 0.1},
        {"alpha": np.pi / 2, "a": 0.1, "d": 0.0},
    ]
    return Robot.from_dh(rows)


@pytest.fixture(scope="session")
def truth(arm: Robot) -> np.ndarray:
    return np.random.default_rng(7).uniform(0.2, 1.0, len(arm.parameter_names))


@pytest.fixture(scope="session")
def harmonic() -> Callable[..., Series]:
    """t -> (t, q, dq, ddq): three harmonics of 5 s, different for every joint."""

    def motion(t: np.ndarray, joints: int = 3, seed: int = 5) -> Series:
        a, b = np.random.default_rng(seed).uniform(-0.8, 0.8, (2, joints, 3))
        w = 2 * np.pi / 5.0 * np.arange(1, 4)
        sine, cosine = np.sin(np.multiply.outer(t, w)), np.cos(np.multiply.outer(t, w))
        q = sine @ (a / w).T - cosine @ (b / w).T
        return t, q, cosine @ a.T + sine @ b.T, cosine @ (b * w).T - sine @ (a * w).T

    return motion


@pytest.fixture
def make(arm: Robot, truth: np.ndarray, harmonic: Callable[..., Series]) -> Callable[..., Dataset]:
    """Data without noise at given stamps."""

    def data(t: np.ndarray) -> Dataset:
        t, q, dq, ddq = harmonic(t)
        return Dataset.from_arrays(t, q, arm.torque(q, dq, ddq, truth))

    return data
