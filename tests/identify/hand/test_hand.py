"""What the wrist carries, from wrenches that are late, biased and drifting."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from identify import Dataset, Processing, Robot
from identify.hand import Hand, identify_hand
from identify.inertia import from_mass_com_inertia
from identify.payload.wrench import differential_terms
from identify.payload.wrist import wrist_motion
from identify.source import Source

WAM = Path(__file__).parents[3] / "configs" / "robots" / "wam7.yaml"
TEN = from_mass_com_inertia(0.8, np.array([0.002, -0.001, 0.055]), np.diag([0.0012, 0.0011, 0.0006]))
BIAS = np.array([1.0, -0.5, 0.3, 0.02, -0.01, 0.03])


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot.load(WAM)


def motion(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a, b = np.random.default_rng(5).uniform(-0.8, 0.8, (2, 7, 4))
    w = 2 * np.pi / 5.0 * np.arange(1, 5)
    sine, cosine = np.sin(np.multiply.outer(t, w)), np.cos(np.multiply.outer(t, w))
    return (
        sine @ (a / w).T - cosine @ (b / w).T,
        cosine @ a.T + sine @ b.T,
        cosine @ (b * w).T - sine @ (a * w).T,
    )


def hand_of(
    robot: Robot, delay_s: float, noise: float = 1.0, seed: int = 0, lost: slice | None = None
) -> Hand | None:
    t = np.arange(9000) * 1e-3
    moved = wrist_motion(robot, *motion(t - delay_s))
    terms = differential_terms(
        moved.rotation, moved.angular_velocity, moved.angular_acceleration, moved.linear_acceleration
    )
    wrench = terms.regressor(robot.gravity) @ TEN + BIAS + 1e-3 * np.outer(t - t.mean(), BIAS)
    wrench += noise * np.random.default_rng(seed).standard_normal(wrench.shape) * ([0.05] * 3 + [0.002] * 3)
    if lost is not None:
        wrench[lost] = np.nan
    data = Dataset.from_arrays(t, motion(t)[0], np.zeros((len(t), 7)), wrench=wrench)
    return identify_hand(Source.of(robot, [data], Processing(8.0)))


@pytest.mark.parametrize("delay_s", [0.003, -0.001, 0.031])
def test_mass_centre_inertia_and_delay(robot: Robot, delay_s: float) -> None:
    hand = hand_of(robot, delay_s)
    assert hand is not None
    assert hand.delay.value_s == pytest.approx(delay_s, abs=2e-4)
    assert hand.intervals["hand.mass"].value == pytest.approx(0.8, rel=1e-3)
    assert hand.bias == pytest.approx(BIAS, abs=0.02)
    std = np.sqrt(np.diag(hand.covariance))
    assert (np.abs(hand.ten - TEN) < 5 * std).all()


def test_intervals_hold(robot: Robot) -> None:
    inside, off = [], []
    for seed in range(12):
        hand = hand_of(robot, 0.002, seed=seed)
        assert hand is not None
        inside += (np.abs(hand.ten - TEN) < 1.96 * np.sqrt(np.diag(hand.covariance))).tolist()
        off.append((hand.delay.value_s - 0.002) / hand.delay.std_s)
    assert np.mean(inside) > 0.88
    assert np.sqrt(np.mean(np.square(off))) < 1.6


def test_unknown_wrenches_are_left_out(robot: Robot) -> None:
    hand = hand_of(robot, 0.002, lost=slice(3000, 4000))
    assert hand is not None
    assert hand.intervals["hand.mass"].value == pytest.approx(0.8, rel=2e-3)
    assert hand_of(robot, 0.002, lost=slice(0, 8900)) is None
