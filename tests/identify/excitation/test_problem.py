"""Derivatives of criterion and constraints against finite differences of their values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from heft.daq.config.robot import RobotConfig
from heft.daq.config.scene import ObstacleConfig, SceneConfig
from heft.identify.excitation.criterion import CRITERIA
from heft.identify.excitation.problem import FourierProblem
from heft.identify.excitation.starting import first_motion

from .conftest import middle, request_for


@pytest.fixture(scope="module")
def problem(panda: RobotConfig) -> FourierProblem:
    wall = SceneConfig(obstacles={"wall": ObstacleConfig(box=(0.1, 2.0, 2.0), at=(0.75, 0.0, 0.5))})
    return request_for(panda, wall, criterion="condition").problem(middle(panda))


@pytest.fixture(scope="module")
def x(problem: FourierProblem) -> np.ndarray:
    return first_motion(problem, np.random.default_rng(1))


@pytest.mark.parametrize("name", list(CRITERIA))
def test_the_gradient_is_that_of_the_criterion(problem: FourierProblem, x: np.ndarray, name: str) -> None:
    asked = replace(problem, criterion=CRITERIA[name], scene=None)
    h, way = 1e-5, np.random.default_rng(1).standard_normal(len(x))
    slope = (asked.evaluate(x + h * way).value - asked.evaluate(x - h * way).value) / (2 * h)
    assert asked.evaluate(x).gradient @ way == pytest.approx(slope, rel=1e-4)


def test_the_slopes_of_constraints_are_theirs(problem: FourierProblem, x: np.ndarray) -> None:
    way, h = np.random.default_rng(2).standard_normal(len(x)), 1e-7
    x = 3.0 * x
    here = problem.evaluate(x)
    assert len(here.constraints) > 20
    there = problem.evaluate(x + h * way)
    assert len(there.constraints) == len(here.constraints)
    slopes = (there.constraints - here.constraints) / h
    error = np.abs(slopes - here.slopes @ way)
    assert np.quantile(error, 0.95) < 1e-3 * np.abs(slopes).max()


def test_the_slopes_of_a_joints_use_are_those_of_its_way(problem: FourierProblem, x: np.ndarray) -> None:
    asked = replace(problem, scene=None, torque=None, least_use=np.array([0.0, 2.0, 0, 0, 0, 1.5, 0]))
    way, h = np.random.default_rng(3).standard_normal(len(x)), 1e-6
    here, there = asked.evaluate(x), asked.evaluate(x + h * way)
    assert (
        asked.uses(asked.motion(x)[0]).about
        == ("the least use of joint2",) * 2 + ("the least use of joint6",) * 2
    )
    slopes = (there.constraints[-4:] - here.constraints[-4:]).reshape(2, 2).sum(axis=1) / h
    assert (here.slopes[-4:] @ way).reshape(2, 2).sum(axis=1) == pytest.approx(slopes, rel=1e-4)
    assert here.constraints[-4] == pytest.approx(1 - np.ptp(asked.motion(x)[0][:, 1]) / (1.02 * 2.0))


def test_linear_limits_are_those_of_the_motion(problem: FourierProblem, x: np.ndarray) -> None:
    x = x / (problem.matrix @ x).max()
    q, dq, ddq = problem.series(x).at(np.linspace(0.0, 20.0, 4001))
    limits = problem.limits
    assert np.all((q <= limits.upper) & (q >= limits.lower))
    assert np.all(np.abs(dq) <= limits.velocity)
    assert np.all(np.abs(ddq) <= limits.acceleration)
