"""Data that could make the cut-off run away: what is chosen predicts as well as the best of eight fixed ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from heft.identify import Dataset, Processing, Robot, fit
from heft.identify.estimation.cutoff import choose

ROWS = [
    {"alpha": -np.pi / 2, "a": 0.0, "d": 0.1},
    {"alpha": 0.0, "a": 0.4, "d": 0.0},
    {"alpha": np.pi / 2, "a": 0.3, "d": 0.0},
]
LINK = [2.0, 0.2, 0.1, 0.1, 0.10, 0.0, 0.12, 0.0, 0.0, 0.15]
FIXED_HZ = (2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 30.0, 50.0)
T = np.arange(20_000) * 1e-3
Trap = Callable[[np.ndarray, np.ndarray, np.random.Generator], None]


def held(q: np.ndarray, tau: np.ndarray, rng: np.random.Generator) -> None:
    """The first joint is held, and jitters by 2 mrad."""
    q[:, 0] += 2e-3 * rng.standard_normal(len(q))


def trembles(q: np.ndarray, tau: np.ndarray, rng: np.random.Generator) -> None:
    """The first joint is held, and trembles at 30 Hz."""
    q[:, 0] += 1e-3 * np.sin(2 * np.pi * 30 * T + 1.0)


def hold(q: np.ndarray, tau: np.ndarray, rng: np.random.Generator) -> None:
    """Zero-order hold at a tenth of the rate."""
    q[:], tau[:] = np.repeat(q[::10], 10, axis=0), np.repeat(tau[::10], 10, axis=0)


def hold_torque(q: np.ndarray, tau: np.ndarray, rng: np.random.Generator) -> None:
    """Torques alone are held."""
    tau[:] = np.repeat(tau[::10], 10, axis=0)


def spikes(q: np.ndarray, tau: np.ndarray, rng: np.random.Generator) -> None:
    """Ten spikes of the positions, ten of the torques."""
    q[rng.choice(len(q), 10), 1] += 0.5
    tau[rng.choice(len(q), 10), 2] = 1e6


def quantised(q: np.ndarray, tau: np.ndarray, rng: np.random.Generator) -> None:
    """Positions in steps of a milliradian, torques of 0.5 N m."""
    q[:], tau[:] = np.round(q, 3), np.round(2 * tau) / 2


@pytest.fixture(scope="module")
def robot() -> Robot:
    prior = np.array([*LINK, *LINK, *LINK, *(0.1, 0.8, 0.6, 0.1) * 3])
    return replace(Robot.from_dh(ROWS), prior=prior)


def motion(robot: Robot, seed: int, still: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Positions and torques of three harmonics of 5 s; joint number `still` does not move."""
    a, b = np.random.default_rng(seed).uniform(-0.6, 0.6, (2, 3, 3))
    if still is not None:
        a[:, still] = b[:, still] = 0.0
    w = 2 * np.pi / 5 * np.arange(1, 4)
    s, c = np.sin(np.outer(T, w)), np.cos(np.outer(T, w))
    assert robot.prior is not None
    motion = (s @ a + c @ b, (c * w) @ a - (s * w) @ b, -(s * w**2) @ a - (c * w**2) @ b)
    return motion[0], robot.torque(*motion, robot.prior)


@pytest.mark.parametrize("trap", [held, trembles, hold, hold_torque, spikes, quantised])
def test_the_choice_predicts_as_well_as_the_best_fixed_one(robot: Robot, trap: Trap) -> None:
    rng, still = np.random.default_rng(5), 0 if trap in (held, trembles) else None
    q, tau = motion(robot, 4, still)
    tau = tau + 0.05 * rng.standard_normal(tau.shape)
    q = q + 1e-6 * rng.standard_normal(q.shape)
    trap(q, tau, rng)
    seen = Dataset.from_arrays(T, q, tau)
    unseen = Dataset.from_arrays(T, *motion(robot, 6, still))
    processing, tradeoff = choose(robot, [seen])
    assert tradeoff.spectrum is not None
    assert 2 < processing.cutoff_hz <= 20

    def error(cutoff_hz: float) -> float:
        result = fit(robot, seen, "wls", cutoff_hz=cutoff_hz)
        return replace(result, processing=Processing(10.0)).relative_error(unseen).total

    fixed = [error(hertz) for hertz in FIXED_HZ if hertz <= 0.4 / float(np.median(np.diff(seen.t)))]
    assert error(processing.cutoff_hz) < 1.1 * min(fixed) + 1e-4


@pytest.mark.parametrize("still", [1, 2])
def test_jitter_of_a_joint_that_is_held_shows_nothing(robot: Robot, still: int) -> None:
    """Parameters that it alone would show are left to the prior, and widen no other's interval."""
    q, tau = motion(robot, 4, still)
    rng = np.random.default_rng(5)
    tau = tau + 0.05 * rng.standard_normal(tau.shape)
    noise = 2e-5 * rng.standard_normal(q.shape)
    jittering = fit(robot, Dataset.from_arrays(T, q + noise, tau))
    noise[:, still] = 0.0
    steady = fit(robot, Dataset.from_arrays(T, q + noise, tau))
    assert jittering.rank == steady.rank
    assert jittering.processing.cutoff_hz == steady.processing.cutoff_hz > 3
    assert jittering.facts["typical_widening"] < 1.5
    assert np.allclose(jittering.base.values, steady.base.values, atol=1e-3)
