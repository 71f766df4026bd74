"""Friction that changes with the temperature is found where something measures it."""

from __future__ import annotations

import numpy as np
import pytest

from heft.identify import Dataset, Processing, Robot, fit
from heft.identify.data.temperature import Temperature
from heft.identify.errors import DataError
from heft.identify.estimation.friction import choose_friction
from heft.identify.estimation.problem import Problem
from heft.identify.information.fit_data import FitData
from heft.identify.robot.regressor.drives import REFERENCE_K

ROWS = [{"alpha": -np.pi / 2, "a": 0.0, "d": 0.3}, {"alpha": 0.0, "a": 0.4, "d": 0.0}]
PER_K = -0.05  # [N m s/(rad K)] of joint 2


@pytest.fixture(scope="module")
def arm() -> Robot:
    return Robot.from_dh(ROWS)


def truth(arm: Robot) -> np.ndarray:
    values = np.random.default_rng(7).uniform(0.5, 1.0, len(arm.parameter_names))
    values[arm.parameter_names.index("joint2.viscous")] = 3.0
    return values


def warming(arm: Robot, start_k: float, seed: int, per_k: float = PER_K, seconds: float = 30.0) -> Dataset:
    """Joints that warm up by 8 K from `start_k` above the reference."""
    t = np.arange(round(seconds * 500)) / 500
    a, b = np.random.default_rng(5).uniform(-0.8, 0.8, (2, 2, 4))
    w = 2 * np.pi / 6.0 * np.arange(1, 5)
    sine, cosine = np.sin(np.multiply.outer(t, w)), np.cos(np.multiply.outer(t, w))
    q, dq = sine @ (a / w).T - cosine @ (b / w).T, cosine @ a.T + sine @ b.T
    ddq = cosine @ (b * w).T - sine @ (a * w).T
    warmth = start_k + 8 * (1 - np.exp(-t / 20))
    tau = arm.torque(q, dq, ddq, truth(arm)) + np.random.default_rng(seed).normal(0, 0.2, q.shape)
    tau[:, 1] += per_k * warmth * dq[:, 1]
    return Dataset.from_arrays(t, q, tau, temperature=np.column_stack([warmth, warmth]) + REFERENCE_K)


def test_it_is_found_and_predicts_a_warmer_arm(arm: Robot) -> None:
    cold, warm = warming(arm, -4.0, 0), warming(arm, 10.0, 1)
    result = fit(arm, [cold, warm], "wls", cutoff_hz=8.0)
    assert result.friction is not None
    assert [(one.joint, one.added) for one in result.friction.changed] == [
        ("joint2", ("viscous_temperature",))
    ]
    assert result.parameters["joint2"].viscous_temperature == pytest.approx(PER_K, rel=0.1)
    assert result.parameters["joint2"].viscous == pytest.approx(3.0, rel=0.05)
    assert "joint2.viscous_temperature" in result.intervals
    hot = warming(arm, 18.0, 2)
    plain = fit(arm, [cold, warm], "wls", cutoff_hz=8.0, friction="file")
    assert result.relative_error(hot).per_joint[1] < 0.8 * plain.relative_error(hot).per_joint[1]


def test_warming_alone_is_no_friction(arm: Robot) -> None:
    for seed in range(6):
        rows = FitData.of(
            arm, [warming(arm, 0.0, seed, 0.0), warming(arm, 10.0, 50 + seed, 0.0)], Processing(8.0)
        )
        assert not choose_friction(rows, Problem.of(arm, rows.reduced())).changed


def test_the_regressor_has_its_columns(arm: Robot) -> None:
    robot = arm.with_terms(("viscous", "coulomb", "viscous_temperature", "coulomb_temperature"))
    q, dq, ddq, warmth = np.random.default_rng(0).uniform(-1, 1, (4, 5, 2))
    Y = robot.regressor.dense(q, dq, ddq, warmth)
    names = robot.parameter_names
    for term in ("viscous", "coulomb"):
        own, warm = (Y[:, 1, names.index(f"joint2.{one}")] for one in (term, f"{term}_temperature"))
        np.testing.assert_allclose(warm, warmth[:, 1] * own)
    assert not robot.regressor.dense(q, dq, ddq)[:, :, names.index("joint2.viscous_temperature")].any()


def test_temperatures_have_their_own_stamps() -> None:
    found = Temperature(np.array([2.0, 0.0, 1.0]), np.array([[302.0], [300.0], [np.nan]]))
    np.testing.assert_allclose(found.at(np.array([-1.0, 0.5, 2.0, 9.0])), [[300.0, 300.5, 302.0, 302.0]])
    with pytest.raises(DataError, match="no temperature is a finite number"):
        Temperature(np.arange(3.0), np.full((3, 1), np.nan))
    with pytest.raises(DataError, match=r"temperature has shape \(2, 1\), with 3 stamps"):
        Temperature(np.arange(3.0), np.zeros((2, 1)))
