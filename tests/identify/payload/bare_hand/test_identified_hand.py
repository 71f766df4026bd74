"""What the wrist carries, from wrenches that are late, biased and drifting."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heft.identify import Dataset, Processing, Robot
from heft.identify.bodies import from_mass_com_inertia
from heft.identify.bodies.wrench import wrench_terms
from heft.identify.information.fit_data import FitData
from heft.identify.payload.bare_hand import wrench_information as wrench_information_module
from heft.identify.payload.bare_hand.hand import Hand
from heft.identify.payload.bare_hand.identified_hand import IdentifiedHand, identify_hand
from heft.identify.payload.kinematics.wrist_motion import wrist_motion

WAM = Path(__file__).parents[4] / "configs" / "robots" / "wam7.yaml"
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


def data_of(
    robot: Robot,
    delay_s: float,
    noise: float = 1.0,
    seed: int = 0,
    lost: slice | None = None,
    bias: np.ndarray = BIAS,
) -> Dataset:
    t = np.arange(9000) * 1e-3
    moved = wrist_motion(robot, *motion(t - delay_s))
    terms = wrench_terms(
        moved.rotation, moved.angular_velocity, moved.angular_acceleration, moved.linear_acceleration
    )
    wrench = terms.regressor(robot.gravity) @ TEN + bias + 1e-3 * np.outer(t - t.mean(), bias)
    wrench += noise * np.random.default_rng(seed).standard_normal(wrench.shape) * ([0.05] * 3 + [0.002] * 3)
    if lost is not None:
        wrench[lost] = np.nan
    return Dataset.from_arrays(t, motion(t)[0], np.zeros((len(t), 7)), wrench=wrench)


def hand_of(
    robot: Robot, delay_s: float, noise: float = 1.0, seed: int = 0, lost: slice | None = None
) -> IdentifiedHand | None:
    data = data_of(robot, delay_s, noise, seed, lost)
    return identify_hand(FitData.of(robot, [data], Processing(8.0)))


@pytest.mark.parametrize("delay_s", [0.003, -0.001, 0.031])
def test_mass_centre_inertia_and_delay(robot: Robot, delay_s: float) -> None:
    hand = hand_of(robot, delay_s)
    assert hand is not None
    assert hand.delay.value_s == pytest.approx(delay_s, abs=2e-4)
    assert hand.intervals["hand.mass"].value == pytest.approx(0.8, rel=1e-3)
    assert hand.bias == pytest.approx(BIAS, abs=0.02)
    std = np.sqrt(np.diag(hand.covariance))
    assert (np.abs(hand.ten - TEN) < 5 * std).all()


def test_it_is_a_hand_that_a_load_can_be_weighed_with(robot: Robot) -> None:
    hand = hand_of(robot, 0.003)
    assert hand is not None
    again = Hand.from_dict(hand.to_dict())
    assert again.mass == hand.intervals["hand.mass"].value
    assert (again.delay_s, again.delay_std_s) == (hand.delay.value_s, hand.delay.std_s)
    assert again.sensor.force_noise == pytest.approx(0.05, rel=0.05)
    assert again.sensor.torque_noise == pytest.approx(0.002, rel=0.05)
    assert again.notes == hand.notes == ()


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


def test_every_dataset_has_a_bias_of_its_own(robot: Robot) -> None:
    parts = [data_of(robot, 0.002, seed=seed, bias=scale * BIAS) for seed, scale in ((0, 1.0), (1, -3.0))]
    hand = identify_hand(FitData.of(robot, parts, Processing(8.0)))
    assert hand is not None
    assert (np.abs(hand.ten - TEN) < 4 * np.sqrt(np.diag(hand.covariance))).all()
    assert hand.bias == pytest.approx(-BIAS, abs=0.02)


def test_a_long_session_needs_no_more_memory_and_is_used_to_its_end(
    robot: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = hand_of(robot, 0.002)
    monkeypatch.setattr(wrench_information_module, "MOST_GROUPS", 12)
    grouped = hand_of(robot, 0.002)
    assert whole is not None
    assert grouped is not None
    assert grouped.ten == pytest.approx(whole.ten, abs=1e-12)
    assert np.diag(grouped.covariance) == pytest.approx(np.diag(whole.covariance), rel=1.0)
    data = data_of(robot, 0.002)
    source = FitData.of(robot, [data], Processing(8.0))
    found = wrench_information_module.wrench_information(source, 0.0)
    assert found is not None
    assert len(found.squares) < 20 < found.rows
    assert found.squares.sum(axis=0) == pytest.approx(
        np.swapaxes(found.factors, 1, 2) @ found.factors, rel=1e-6
    )


def test_what_a_motion_does_not_show_is_infinitely_uncertain(robot: Robot) -> None:
    t = np.arange(9000) * 1e-3
    q = np.zeros((len(t), 7))
    q[:, 1], q[:, 3] = 0.3 * np.sin(t), 1.5  # slow, and about one horizontal axis
    moved = wrist_motion(robot, q, np.zeros_like(q), np.zeros_like(q))
    wrench = wrench_terms(moved.rotation).regressor(robot.gravity) @ TEN
    data = Dataset.from_arrays(t, q, np.zeros_like(q), wrench=wrench)
    hand = identify_hand(FitData.of(robot, [data], Processing(8.0)))
    assert hand is not None
    assert np.isinf(hand.intervals["hand.inertia.yy"].high) or hand.intervals["hand.inertia.yy"].std > 1e-2
    assert np.linalg.eigvalsh(hand.precision)[0] >= -1e-9 * np.trace(hand.precision)


def test_noise_of_positions_is_allowed_for(robot: Robot) -> None:
    """Enough of it, and the estimate is drawn towards zero by what was computed."""
    off, told, std = [], [], []
    for seed in range(6):
        data = data_of(robot, 0.0, seed=seed)
        noisy = data.q + 2e-3 * np.random.default_rng(100 + seed).standard_normal(data.q.shape)
        hand = identify_hand(FitData.of(robot, [replace(data, q=noisy)], Processing(8.0)))
        assert hand is not None
        off.append(hand.ten - TEN)
        told.append(hand.attenuated)
        std.append(np.sqrt(np.diag(hand.covariance)))
    rotational = slice(4, 10)
    assert np.mean(told, axis=0)[[4, 6, 9]] == pytest.approx(np.mean(off, axis=0)[[4, 6, 9]], rel=0.6)
    assert (np.abs(np.mean(off, axis=0)) < 2 * np.mean(std, axis=0))[rotational].all()


def test_a_delay_that_moves_is_said(robot: Robot) -> None:
    early, late = data_of(robot, 0.002), data_of(robot, 0.006)
    assert early.wrench is not None
    assert late.wrench is not None
    both = np.vstack([np.asarray(early.wrench)[:4500], np.asarray(late.wrench)[4500:]])
    hand = identify_hand(FitData.of(robot, [replace(early, wrench=both)], Processing(8.0)))
    steady = identify_hand(FitData.of(robot, [early], Processing(8.0)))
    assert hand is not None
    assert steady is not None
    assert len(steady.delay.windows) > 2
    assert steady.notes == ()
    assert any("the delay of" in line and "moves" in line for line in hand.notes)
    assert hand.delay.windows[0].value_s == pytest.approx(0.002, abs=1e-3)
    assert hand.delay.windows[-1].value_s == pytest.approx(0.006, abs=1e-3)


def test_at_rest_mass_alone_is_known_and_no_delay(robot: Robot) -> None:
    t = np.arange(9000) * 1e-3
    q = np.zeros((len(t), 7))
    q[:, 6] = np.where(t > 4.5, 2e-3, 0.0)  # enough to be called a motion
    q[:, 3] = 1.5
    wrench = 8.0 + 0.05 * np.random.default_rng(0).standard_normal((len(t), 6))
    hand = identify_hand(FitData.of(robot, [Dataset.from_arrays(t, q, q, wrench=wrench)], Processing(8.0)))
    assert hand is not None
    assert np.isfinite(hand.precision).all()
    assert np.isinf(hand.covariance.max())


def test_wrenches_without_noise(robot: Robot) -> None:
    hand = hand_of(robot, 0.002, noise=0.0)
    assert hand is not None
    assert hand.ten == pytest.approx(TEN, abs=1e-5)
    assert hand.doubt == ""
    assert np.isfinite(hand.covariance).all()
