"""Friction is chosen by what predicts held-out data: the terms a joint has, on that joint, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from heft.identify import Dataset, Processing, Robot, fit, load
from heft.identify.errors import ProblemError
from heft.identify.estimation.friction import FrictionChoice, choose_friction, with_friction
from heft.identify.estimation.problem import Problem
from heft.identify.information.fit_data import FitData

ROWS = [
    {"alpha": -np.pi / 2, "a": 0.0, "d": 0.3},
    {"alpha": 0.0, "a": 0.4, "d": 0.0},
    {"alpha": np.pi / 2, "a": 0.1, "d": 0.0},
]
NOISE = 0.3


@pytest.fixture(scope="module")
def arm() -> Robot:
    """Three joints whose plain friction is known, and whose links weigh something."""
    robot = Robot.from_dh(ROWS)
    rng = np.random.default_rng(7)
    prior = rng.uniform(0.2, 1.0, len(robot.parameter_names))
    prior[:30:10] = 3.0
    for joint in robot.joints:
        prior[robot.parameter_names.index(f"{joint}.coulomb")] = 2.0
    return replace(robot, prior=prior)


def motion(seconds: float = 40.0) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    t = np.arange(round(seconds * 500)) / 500
    a, b = np.random.default_rng(5).uniform(-0.7, 0.7, (2, 3, 5))
    w = 2 * np.pi / 8.0 * np.arange(1, 6)
    sine, cosine = np.sin(np.multiply.outer(t, w)), np.cos(np.multiply.outer(t, w))
    q = sine @ (a / w).T - cosine @ (b / w).T
    return t, (q, cosine @ a.T + sine @ b.T, cosine @ (b * w).T - sine @ (a * w).T)


def measured(arm: Robot, extra: np.ndarray | float = 0.0, seed: int = 0, seconds: float = 40.0) -> Dataset:
    t, moved = motion(seconds)
    noise = np.random.default_rng(seed).normal(0, NOISE, moved[0].shape)
    return Dataset.from_arrays(t, moved[0], arm.torque(*moved, arm.prior) + extra + noise)


def chosen(arm: Robot, data: Dataset, cutoff_hz: float = 8.0) -> FrictionChoice:
    rows = FitData.of(arm, [data], Processing(cutoff_hz))
    return choose_friction(rows, Problem.of(arm, rows.reduced()))


def on_joint_2(column: np.ndarray) -> np.ndarray:
    extra = np.zeros((len(column), 3))
    extra[:, 1] = column
    return extra


@pytest.mark.parametrize("cutoff_hz", [4.0, 10.0])
def test_plain_friction_stays_plain(arm: Robot, cutoff_hz: float) -> None:
    for seed in range(12):
        found = chosen(arm, measured(arm, seed=seed), cutoff_hz)
        assert not found.changed
        assert found.searched
        assert found.drives(arm.drives).to_dict() == arm.drives.to_dict()


def test_slow_noise_is_no_friction(arm: Robot) -> None:
    """Residuals that resemble their neighbours look like much; the standard error over blocks knows better."""
    for seed in range(8):
        steps = np.random.default_rng(seed).normal(0, 1, (20000, 3))
        slow = np.zeros_like(steps)
        for k in range(1, len(steps)):
            slow[k] = 0.995 * slow[k - 1] + 0.1 * steps[k]
        assert not chosen(arm, measured(arm, 0.5 * slow, seed)).changed


@pytest.mark.parametrize("seed", range(3))
def test_stribeck_friction_is_found_with_its_velocity(arm: Robot, seed: int) -> None:
    v = motion()[1][1][:, 1]
    column = 1.5 * np.tanh(v / 0.02) * np.exp(-((v / 0.2) ** 2))
    found = chosen(arm, measured(arm, on_joint_2(column), seed))
    assert [one.joint for one in found.changed] == ["joint2"]
    assert found.joints[1].added == ("stribeck",)
    assert found.joints[1].stribeck_velocity == pytest.approx(0.2, rel=0.35)
    assert found.joints[1].gain > 2 * found.joints[1].gain_std > 0


@pytest.mark.parametrize("seed", range(3))
def test_friction_that_turns_over_slowly_has_another_smoothing_velocity(arm: Robot, seed: int) -> None:
    v = motion()[1][1][:, 1]
    column = 2.0 * (np.tanh(v / 0.2) - np.tanh(v / 0.02))  # instead of the plain 2 N m
    found = chosen(arm, measured(arm, on_joint_2(column), seed))
    assert [one.joint for one in found.changed] == ["joint2"]
    assert found.joints[1].added == ()
    assert found.joints[1].moved == ("smoothing_velocity",)
    assert found.joints[1].smoothing_velocity == pytest.approx(0.2, rel=0.25)


def test_friction_that_grows_with_the_load_is_found(arm: Robot) -> None:
    _, moved = motion()
    links = np.where(np.arange(len(arm.prior)) < 30, arm.prior, 0.0)
    column = 0.15 * np.abs(arm.torque(*moved, links)[:, 1]) * np.tanh(moved[1][:, 1] / 0.02)
    found = chosen(arm, measured(arm, on_joint_2(column)))
    assert [(one.joint, one.added) for one in found.changed] == [("joint2", ("load_friction",))]


def test_asymmetric_friction_is_found_where_the_offset_does_not_do(arm: Robot) -> None:
    """|tanh| is an offset but near standstill: only a wide turn-over shows the difference."""
    slow = arm.with_drives(replace(arm.drives, smoothing_velocity=np.full(3, 0.2)))
    column = 1.5 * np.abs(np.tanh(motion()[1][1][:, 1] / 0.2))
    found = chosen(slow, measured(slow, on_joint_2(column)))
    assert [(one.joint, one.added) for one in found.changed] == [("joint2", ("coulomb_asymmetry",))]


def test_what_is_fixed_is_not_chosen(arm: Robot) -> None:
    v = motion()[1][1][:, 1]
    data = measured(arm, on_joint_2(1.5 * np.tanh(v / 0.02) * np.exp(-((v / 0.2) ** 2))))
    assert not chosen(with_friction(arm, "file"), data).searched
    assert not chosen(with_friction(arm, {"joint2": ("viscous", "coulomb")}), data).changed
    assert chosen(with_friction(arm, {"joint1": ("viscous", "coulomb")}), data).changed


def test_too_little_data_choose_nothing(arm: Robot) -> None:
    v = motion(4.0)[1][1][:, 1]
    extra = on_joint_2(1.5 * np.tanh(v / 0.02) * np.exp(-((v / 0.2) ** 2)))
    assert not chosen(arm, measured(arm, extra, seconds=4.0)).changed


def test_a_fit_has_the_friction_and_says_so(arm: Robot, tmp_path) -> None:
    v = motion()[1][1][:, 1]
    data = measured(arm, on_joint_2(1.5 * np.tanh(v / 0.02) * np.exp(-((v / 0.2) ** 2))))
    train, unseen = data.split(0.7)
    plain = fit(arm, train, "wls", cutoff_hz=8.0, friction="file", validate=unseen)
    found = fit(arm, train, "wls", cutoff_hz=8.0, validate=unseen)
    assert found.validation.per_joint[1] < 0.97 * plain.validation.per_joint[1]
    assert found.parameters["joint2"].stribeck == pytest.approx(1.5, rel=0.2)
    assert not hasattr(found.parameters["joint1"], "stribeck")
    assert "joint2.stribeck" in found.intervals
    assert any("friction of joint2 is not of the form" in line for line in found.warnings)
    again = load(found.save(tmp_path / "result.json"))
    assert again.to_dict() == found.to_dict()
    assert again.friction == found.friction
    assert again.relative_error(unseen).total == found.validation.total


def test_a_prior_for_the_robots_own_terms_is_carried_over(arm: Robot) -> None:
    v = motion()[1][1][:, 1]
    data = measured(arm, on_joint_2(1.5 * np.tanh(v / 0.02) * np.exp(-((v / 0.2) ** 2))))
    found = fit(arm, data, "wls", cutoff_hz=8.0, prior=arm.prior)
    assert found.prior[found.layout.index("joint3.coulomb")] == 2.0
    assert found.prior[found.layout.index("joint2.stribeck")] == 0.0


def test_terms_by_the_user(arm: Robot) -> None:
    robot = with_friction(arm, ("viscous",))
    assert robot.drives.joint_terms == (("drive_inertia", "viscous", "offset"),) * 3
    robot = with_friction(arm, {"joint3": ("viscous", "coulomb", "stribeck")})
    assert robot.drives.joint_terms[0] == arm.drives.joint_terms[0]
    assert robot.drives.joint_terms[2] == ("drive_inertia", "viscous", "coulomb", "offset", "stribeck")
    assert robot.drives.fixed == {"joint3"}
    assert Robot.from_dict(robot.to_dict()).to_dict() == robot.to_dict()


@pytest.mark.parametrize(
    ("friction", "message"),
    [
        ("cad", "friction 'cad': give auto, file, or terms"),
        (("offset",), "friction term 'offset' is unknown"),
        ({"elbow": ("viscous",)}, "friction of elbow: there are joint1, joint2, joint3"),
    ],
)
def test_friction_that_makes_no_sense(arm: Robot, friction, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        with_friction(arm, friction)
