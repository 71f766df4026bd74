"""Causes that positions and stamps tell alone, what a file without masses leaves unknown, and random healthy arms."""

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from heft.identify import Dataset, Robot, fit
from heft.identify.certainty.causes.kinematic_limits import beyond_limits, reach
from heft.identify.certainty.causes.unknown_scale import unlikely_torque
from heft.identify.certainty.reason import Reason
from heft.identify.robot.limits import Limits

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
from random_arms import random_arm

ROWS = [
    {"alpha": np.pi / 2, "a": 0.0, "d": 0.3, "theta": 0.0},
    {"alpha": 0.0, "a": 0.5, "d": 0.0, "theta": 0.0},
    {"alpha": 0.0, "a": 0.4, "d": 0.0, "theta": 0.0},
]


@pytest.fixture
def bare() -> Robot:
    return Robot.from_dh(ROWS)


@pytest.fixture
def limited(bare: Robot) -> Robot:
    span = np.tile([-2.0, 2.0], (3, 1))
    return replace(bare, limits=replace(Limits.none(3), position=span, velocity=np.array([2.0, 2.0, 4.0])))


def ids(robot: Robot, travel: float, speed: float) -> list[str]:
    return [one.id for one in beyond_limits(robot, np.full(3, travel), np.full(3, speed))]


def test_motion_of_an_arm_is_within_limits(bare: Robot, limited: Robot) -> None:
    assert ids(limited, 3.5, 1.9) == []
    assert ids(bare, 6.0, 6.0) == []


def test_positions_in_degrees_are_told_without_torques(bare: Robot, limited: Robot) -> None:
    assert ids(limited, 2.0 * 57.3, 57.3) == ["position-unit"]
    assert ids(bare, 57.3, 57.3) == ["position-unit"]


def test_counts_of_an_encoder_are_not_called_degrees(limited: Robot) -> None:
    (found,) = beyond_limits(limited, np.full(3, 2.0 * 65_536), np.full(3, 65_536.0))
    assert found.id == "position-unit"
    assert found.fix is None
    assert "counts per rev" in found.text


def test_one_joint_without_a_limit_may_turn_on_and_on(bare: Robot) -> None:
    assert beyond_limits(bare, np.array([1.0, 1.0, 100.0]), np.ones(3)) == []


def test_rates_that_are_far_off_are_told_without_torques(bare: Robot, limited: Robot) -> None:
    assert ids(limited, 2.0, 20 * 1.0) == ["too-fast"]
    assert ids(limited, 2.0, 1.0 / 20) == ["too-slow"]
    assert ids(bare, 2.0, 20 * 1.5) == ["too-fast"]
    assert ids(bare, 2.0, 1.0 / 20) == []  # without a limit nobody knows what is slow


def test_reach_is_the_stretched_arm(bare: Robot) -> None:
    assert reach(bare) == pytest.approx(1.2)
    assert reach(bare, 1) == pytest.approx(0.9)
    assert reach(bare, 2) == pytest.approx(0.4)


def test_the_last_link_is_part_of_the_reach_by_which_torques_are_judged() -> None:
    """A camera on a pan-tilt unit: its joints are 8 cm apart, and it is as large again."""
    plain = Robot.from_dh([{"alpha": np.pi / 2, "a": 0.0, "d": 0.08}, {"alpha": 0.0, "a": 0.0, "d": 0.0}])
    box = np.array([[-0.03, -0.05, -0.05], [0.07, 0.05, 0.05]])
    grams = np.zeros((2, 21, 21))
    grams[:, -1, -1] = [0.01, 0.3**2]  # 0.3 N m, the weight of 0.45 kg in the camera's middle
    likely: Any = SimpleNamespace(grams=grams)
    hardly: Any = SimpleNamespace(grams=1e4 * grams)
    camera = replace(plain, shapes={"link2": box})
    assert not unlikely_torque(camera, likely, 1)
    assert unlikely_torque(camera, hardly, 1)


def reasons(robot: Robot, data: Dataset, factor: float = 1.0) -> tuple[Reason, ...]:
    return fit(robot, replace(data, tau=factor * np.asarray(data.tau)), cutoff_hz=5.0).verdict.reasons


@pytest.mark.slow
def test_without_masses_it_says_what_cannot_be_known_and_what_cannot_be() -> None:
    arm = random_arm(0)
    robot = replace(arm.robot, prior=None)
    told = [one.id for one in reasons(robot, arm.fit)]
    assert "scale-unknown" in told
    assert "torque-scale" not in told
    assert "scale-unknown" not in [
        one.id for one in reasons(replace(robot, total_mass=(10.0, 90.0)), arm.fit)
    ]
    for factor in (5e-3, 200.0):
        first = reasons(robot, arm.fit, factor)[0]
        assert first.id == "torque-scale"
        assert "at the arm's reach" in first.text


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_healthy_arm_is_not_blamed(seed: int) -> None:
    arm = random_arm(seed)
    result = fit(arm.robot, arm.fit, cutoff_hz=5.0)
    assert [one.id for one in result.findings if one.cause] == []
    assert result.fit.total < 0.05  # whatever hangs together in the base parameters


@pytest.mark.slow
def test_poor_motion_still_tells_factor_and_rate() -> None:
    arm = random_arm(2)
    assert reasons(arm.robot, arm.fit, 100.0)[0].id == "torque-scale"
    slow = replace(arm.fit, t=20 * arm.fit.t)
    first = [one.id for one in fit(arm.robot, slow, cutoff_hz=0.5).verdict.reasons[:3]]
    assert {"time-scale", "too-slow"} & set(first)


@pytest.mark.slow
def test_a_factor_that_a_poor_file_hides_is_not_passed_over() -> None:
    """To this arm's file its torques look 0.84 times as large as they should: 1.3 times them look like another file."""
    arm = random_arm(8)
    told = fit(arm.robot, replace(arm.fit, tau=1.3 * np.asarray(arm.fit.tau))).verdict.reasons
    assert "scale-unknown" in [one.id for one in told]


@pytest.mark.slow
def test_torques_of_the_wrong_sign_are_not_taken_for_bounds_that_exclude_each_other() -> None:
    arm = random_arm(21)
    told = fit(arm.robot, replace(arm.fit, tau=-np.asarray(arm.fit.tau))).verdict.reasons
    assert told[0].id == "torque-sign"


@pytest.mark.slow
@pytest.mark.parametrize("factor", [-1.0, 3.0, 8.0])
def test_a_nearly_constant_weight_hides_no_gain_of_a_joint(factor: float) -> None:
    arm = random_arm(404)  # its second joint bears 341 N m, of which 53 N m change
    factors = np.ones(len(arm.robot.joints))
    factors[1] = factor
    data = replace(arm.fit, tau=factors * np.asarray(arm.fit.tau))
    told = [one for one in fit(arm.robot, data, cutoff_hz=5.0).verdict.reasons if one.id == "joint-gain"]
    assert any(one.where == (arm.robot.joints[1],) for one in told)
