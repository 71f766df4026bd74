"""`fit` with constraints of one's own: they hold, intervals narrow, and the result remembers them."""

import sys
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


def test_a_constraint_that_data_and_prior_contradict_is_told(robot: Robot, data: Dataset) -> None:
    def said(function) -> list[str]:
        result = fit(robot, data, cutoff_hz=10.0, constraints=function)
        return [line for line in result.warnings if "data and prior contradict it" in line]

    total, ten = float(robot.prior[[0, 10, 20]].sum()), robot.prior[20:30]
    assert said(lambda p: [p.total_mass == total, p.link["link3"].vector == ten]) == []
    (line,) = said(lambda p: [p.total_mass == total, p.joint["joint1"].viscous == 5.0])
    assert line.startswith("constraint joint1.viscous == 5.0: data and prior contradict it, -4.4")
    (line,) = said(lambda p: {"link3 as on the pendulum": p.link["link3"].vector == 1.5 * ten})
    assert line.startswith("constraint link3 as on the pendulum: ")


def test_without_a_prior_the_most_compact_robot_that_fulfils_them(robot: Robot, data: Dataset) -> None:
    result = fit(
        robot,
        data,
        cutoff_hz=10.0,
        prior="none",
        constraints=lambda p: [p.total_mass == 60.0, p.link["link1"].mass <= p.link["link2"].mass],
    )
    assert result.total_mass == pytest.approx(60.0, rel=1e-6)
    masses = [link.mass for link in result.parameters.links]
    assert masses[0] <= masses[1] * (1 + 1e-6)
    assert result.consistency("full").ok


def test_the_plain_problem_does_not_import_cvxpy(
    robot: Robot, data: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cvxpy", None)  # importing it fails
    monkeypatch.delitem(sys.modules, "heft.identify.estimation.constrained.modelled", raising=False)
    scale = replace(robot, constraints=RobotConstraints(total_mass=(100.0, 5.0), equal=(("link1", "link2"),)))
    assert fit(scale, data, cutoff_hz=10.0).consistency("full").ok
