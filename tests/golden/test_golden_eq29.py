"""000, Eq. 29: the mass points' own problem, solved once more as a quadratic program in cvxpy, against `masspoint`."""

from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from scipy import linalg

from heft.identify.bodies import grid, mass_point_matrix, transform_matrix
from heft.identify.bodies.arrays import Array
from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.estimators import estimate
from heft.identify.estimation.least_squares import weights_of
from heft.identify.estimation.problem import Problem
from heft.identify.information.reduction import Information
from heft.identify.robot import Robot

CONFIGS = Path(__file__).parents[2] / "configs" / "robots"
EVENNESS = 1e-6  # lambda_rho


@pytest.fixture(scope="module")
def problem() -> Problem:
    """The WAM with its boxes at random states; links as heavy as the prior times 0.8 to 1.2, 5 % of noise."""
    robot = Robot.load(CONFIGS / "wam7.yaml")
    rng = np.random.default_rng(0)
    assert robot.prior is not None
    truth = robot.prior * np.concatenate([np.repeat(rng.uniform(0.8, 1.2, 7), 10), np.ones(28)])
    q, dq, ddq = rng.uniform(-2, 2, (3, 600, 7))
    Y = robot.regressor.dense(q, dq, 3 * ddq)
    tau = Y @ truth
    tau = tau + 0.05 * tau.std(axis=0) * rng.normal(size=tau.shape)
    rows = np.concatenate([Y, tau[:, :, None]], axis=2)
    factors = np.stack([np.linalg.qr(rows[:, j], mode="r") for j in range(7)])
    return Problem.of(robot, Information(factors, np.full(7, 600), robot.parameter_names))


def spread_of(problem: Problem, link: str) -> Array:
    """Root of W_phi^-1 of a link (Eq. 19 to 22, 27): by the most it may weigh (half as much again, section V) and its
    box's half sides, about the box's centre.
    """
    low, high = (np.asarray(corner) for corner in problem.boxes[link])
    x, y, z = (high - low) / 2
    size = np.array([1, x, y, z, y * y + z * z, x * y, x * x + z * z, x * z, y * z, x * x + y * y])
    to_link = transform_matrix(np.eye(3), (low + high) / 2)
    mass = problem.masses[link]
    return np.asarray(to_link @ np.diag((mass + min(0.5 * mass, 2.0)) * size))


def eq29(problem: Problem) -> Array:
    """The minimum of Eq. 29 over the 27 points of every box, and over joint terms, which the paper does not have."""
    weights, layout, prior = weights_of(problem), problem.layout, problem.prior
    assert prior is not None
    R, z, rho2 = problem.stacked(weights)
    variance = rho2 / float(problem.information.rows.sum())
    P = linalg.block_diag(*(mass_point_matrix(grid(*problem.boxes[link])) for link in layout.links))
    joints = prior[layout.link_indices.stop :]
    Z = problem.base.matrix
    null = np.eye(len(layout)) - np.linalg.pinv(Z) @ Z  # Eq. 25
    spread = linalg.block_diag(
        *(spread_of(problem, link) for link in layout.links), np.diag(np.maximum(np.abs(joints), 0.1))
    )
    rho, terms = cp.Variable(P.shape[1]), cp.Variable(len(joints))
    reference = np.linalg.pinv(P) @ prior[layout.link_indices]  # Eq. 23
    d = cp.hstack([P @ rho, terms])
    positive = [i - layout.link_indices.stop for i in layout.non_negative]
    cost = cp.sum_squares((R @ d - z) / np.sqrt(variance))
    cost += cp.sum_squares(np.linalg.solve(spread, null) @ (d - prior)) + EVENNESS * cp.sum_squares(
        rho - reference
    )
    cp.Problem(cp.Minimize(cost), [rho >= 0, terms[positive] >= 0]).solve(solver=cp.CLARABEL)
    return np.asarray(d.value)


@pytest.fixture(scope="module")
def own(problem: Problem) -> Array:
    return eq29(problem)


@pytest.fixture(scope="module")
def found(problem: Problem) -> Estimate:
    return estimate(problem, "masspoint", null_space="structure")  # Z of Eq. 24


def test_the_fit_is_as_good(problem: Problem, own: Array, found: Estimate) -> None:
    assert found.cost <= problem.cost(own, found.weights) * 1.01


def test_what_no_torque_depends_on_stays_at_the_prior(problem: Problem, own: Array, found: Estimate) -> None:
    """The mass of link 1 is in no torque: Eq. 24 and 25 leave it, as far as its box allows."""
    assert "link1.m" in problem.base.groups["unidentifiable"]
    index = problem.layout.index("link1.m")
    assert own[index] == pytest.approx(problem.prior[index], rel=0.05)
    assert found.parameters[index] == pytest.approx(own[index], rel=0.05)


def test_the_links_weigh_the_same(problem: Problem, own: Array, found: Estimate) -> None:
    masses = [problem.layout.link(link).start for link in problem.layout.links]
    np.testing.assert_allclose(found.parameters[masses], own[masses], rtol=0.1, atol=0.05)
    assert found.parameters[masses].sum() == pytest.approx(own[masses].sum(), rel=0.03)
