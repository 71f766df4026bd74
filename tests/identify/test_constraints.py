"""`fit` with constraints of one's own: they hold, intervals narrow, and the result remembers them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heft.identify import Dataset, Result, Robot, fit
from heft.identify.errors import ProblemError
from heft.identify.robot.constraints import RobotConstraints

CONFIGS = Path(__file__).parents[2] / "configs" / "robots"


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot.load(CONFIGS / "ddarm.yaml").with_terms(("viscous", "coulomb"))


@pytest.fixture(scope="module")
def data(robot: Robot) -> Dataset:
    t = np.arange(0, 6.0, 0.005)
    q = np.stack([np.sin((1.0 + 0.7 * k) * t + k) + 0.3 * np.cos(2.3 * t + k) for k in range(3)], axis=1)
    dq, ddq = np.gradient(q, t, axis=0), np.gradient(np.gradient(q, t, axis=0), t, axis=0)
    truth = robot.prior.copy()
    truth[30:] = 0.5
    tau = robot.torque(q, dq, ddq, truth)
    return Dataset.from_arrays(
        t, q, tau + 0.02 * tau.std(axis=0) * np.random.default_rng(0).normal(size=tau.shape)
    )


@pytest.fixture(scope="module")
def plain(robot: Robot, data: Dataset) -> Result:
    return fit(robot, data, cutoff_hz=10.0)


def test_a_weighed_total_holds_and_narrows(robot: Robot, data: Dataset, plain: Result) -> None:
    weighed = float(robot.prior[[0, 10, 20]].sum()) * 1.02
    result = fit(robot, data, cutoff_hz=10.0, constraints=lambda p: p.total_mass == weighed)
    assert result.total_mass == pytest.approx(weighed, rel=1e-9)
    assert result.intervals["total_mass"].std < 1e-3 * plain.intervals["total_mass"].std
    assert result.intervals["link1.mass"].std < 0.95 * plain.intervals["link1.mass"].std
    assert result.consistency("full").ok
    assert result.provenance.configuration["own_constraints"] == [f"total_mass == {weighed}"]


def test_the_same_from_the_robots_file(robot: Robot, data: Dataset, plain: Result) -> None:
    weighed, std = float(robot.prior[[0, 10, 20]].sum()) * 1.02, 0.1
    scale = replace(robot, constraints=RobotConstraints(total_mass=(weighed, std)))
    result = fit(scale, data, cutoff_hz=10.0)
    assert result.total_mass == pytest.approx(weighed, abs=3 * std)
    assert 0.5 * std < result.intervals["total_mass"].std < 1.5 * std
    assert result.intervals["total_mass"].std < plain.intervals["total_mass"].std


def test_a_pinned_link_is_certain(robot: Robot, data: Dataset) -> None:
    pinned = replace(robot, constraints=RobotConstraints(pinned=("link2",)))
    result = fit(pinned, data, cutoff_hz=10.0)
    prior = robot.prior[10:20]
    assert result.parameters["link2"].mass == pytest.approx(prior[0], rel=1e-9)
    assert result.intervals["link2.mass"].std < 1e-3 * prior[0]
    assert "own_constraints" not in result.provenance.configuration


def test_a_method_that_takes_none(robot: Robot, data: Dataset) -> None:
    with pytest.raises(ProblemError, match="manifold takes no constraints"):
        fit(robot, data, "manifold", cutoff_hz=10.0, constraints=lambda p: p.total_mass == 100.0)
