"""Forgetting in seconds: after a step in a parameter the recursive estimate follows with the stated time constant."""

from __future__ import annotations

import numpy as np
import pytest

from heft.identify import Dataset, Robot, Signals, fit
from heft.identify.errors import ProblemError
from heft.identify.estimation.estimators import Method

STEP_AT_S = 12.0


@pytest.fixture(scope="module")
def arm() -> Robot:
    return Robot.from_dh([{"alpha": -np.pi / 2, "a": 0.0, "d": 0.3}, {"alpha": 0.0, "a": 0.4, "d": 0.0}])


def motion(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, dq, ddq of sines that are all fast against the memory, each (T, 2)."""
    a, b = np.random.default_rng(5).uniform(-3.0, 3.0, (2, 2, 4))
    w = 2 * np.pi * np.array([0.5, 0.8, 1.1, 1.7])
    sine, cosine = np.sin(np.multiply.outer(t, w)), np.cos(np.multiply.outer(t, w))
    return (
        sine @ (a / w).T - cosine @ (b / w).T,
        cosine @ a.T + sine @ b.T,
        cosine @ (b * w).T - sine @ (a * w).T,
    )


def truth(arm: Robot) -> np.ndarray:
    return np.random.default_rng(7).uniform(0.5, 1.0, len(arm.parameter_names))


def changing(arm: Robot, rate_hz: float, change: np.ndarray, noise: float = 0.01, seed: int = 0) -> Dataset:
    """24 s of motion; at STEP_AT_S the parameters change."""
    t = np.arange(round(24 * rate_hz)) / rate_hz
    tau = arm.torque(*motion(t), truth(arm))
    tau += np.where(t[:, None] >= STEP_AT_S, arm.torque(*motion(t), change), 0.0)
    tau += np.random.default_rng(seed).normal(0, noise, tau.shape)
    return Dataset.from_arrays(t, motion(t)[0], tau)


@pytest.mark.parametrize("rate_hz", [1000.0, 200.0])
@pytest.mark.parametrize("changes", ["joint2.viscous", "link2.m"])
def test_a_step_is_followed_with_the_stated_time_constant(arm: Robot, rate_hz: float, changes: str) -> None:
    """How much of the change of torque, over a long motion, the estimate has at several times after the step."""
    memory_s = 3.0
    change, index = np.zeros(len(arm.parameter_names)), arm.parameter_names.index(changes)
    part = slice(index, index + 10) if changes.endswith(".m") else slice(index, index + 1)
    change[part] = 0.5 * truth(arm)[part]  # friction, or a link that is half as heavy again
    data = changing(arm, rate_hz, change)
    method = Method("recursive", {"memory_s": memory_s}, weighting=np.ones(2))
    around = motion(np.arange(0.0, 40.0, 0.05))
    whole = arm.torque(*around, change)
    since, left = [], []
    for end_s in (13.0, 14.0, 15.0, 16.5, 18.0, 20.0):
        seen = data.between(0.0, end_s)
        result = fit(arm, seen, method, cutoff_hz=8.0, signals=Signals(delay_s=0.0), friction="file")
        followed = arm.torque(*around, result.parameters.values - truth(arm))
        left.append(1 - (followed * whole).sum() / (whole**2).sum())
        since.append(end_s - STEP_AT_S)
    slope = np.polyfit(since, np.log(left), 1)[0]
    assert -1 / slope == pytest.approx(memory_s, rel=0.2)


def test_intervals_are_of_what_is_remembered(arm: Robot) -> None:
    """Not of all rows, of which most are forgotten: errors are within their standard deviations, and near them."""
    off = []
    for seed in range(12):
        data = changing(arm, 200.0, np.zeros(len(arm.parameter_names)), 0.3, seed)
        method = Method("recursive", {"memory_s": 4.0})
        result = fit(arm, data, method, cutoff_hz=8.0, signals=Signals(delay_s=0.0), friction="file")
        off.append((result.base.values - result.base.matrix @ truth(arm)) / result.base.std)
    assert 0.5 < np.sqrt(np.mean(np.square(off))) < 1.1


def test_a_memory_of_nothing_is_refused(arm: Robot) -> None:
    data = changing(arm, 200.0, np.zeros(len(arm.parameter_names)))
    with pytest.raises(ProblemError, match="memory_s 0 s must be above 0"):
        fit(arm, data, Method("recursive", {"memory_s": 0.0}), cutoff_hz=8.0)
