"""One rigid body on a force and torque sensor, as in 001: slow motion says little of its inertia."""

import numpy as np
import pinocchio as pin
import pytest

from heft.identify.bodies import from_mass_com_inertia
from heft.identify.bodies.parameters import LINK_TERMS, Layout
from heft.identify.estimation.estimators import estimate
from heft.identify.estimation.problem import Problem
from heft.identify.information.reduction import Information
from heft.identify.robot.base import BaseParameters

TRUTH = from_mass_com_inertia(1.85, [0.03, 0.0, 0.11], np.diag([0.012, 0.014, 0.006]))
NOISE = np.array([0.1, 0.1, 0.1, 0.01, 0.01, 0.01])  # [N], [N m]


def problem(speed: float, prior: np.ndarray | None = None) -> Problem:
    """Newton-Euler equations of the body (001, Eq. 4), turning with about `speed` [rad/s] in gravity."""
    rng = np.random.default_rng(3)
    layout = Layout(tuple(f"load.{term}" for term in LINK_TERMS))
    rows = []
    for _ in range(400):
        rotation = pin.SE3.Random().rotation
        velocity = pin.Motion(np.zeros(3), speed * rng.normal(size=3))
        proper = pin.Motion(rotation.T @ [0, 0, 9.81], speed**2 * rng.normal(size=3))
        Y = pin.bodyRegressor(velocity, proper)
        rows.append(np.column_stack([Y, Y @ TRUTH + NOISE * rng.normal(size=6)]))
    stacked = np.array(rows)
    factors = np.stack([np.linalg.qr(stacked[:, j], mode="r") for j in range(6)])
    factors = np.stack([np.vstack([f, np.zeros((11 - len(f), 11))]) for f in factors])
    names = layout.names
    base = BaseParameters(names, names, np.eye(10), tuple(range(10)), {})
    return Problem(Information(factors, np.full(6, 400), names), base, layout, prior=prior)


@pytest.fixture(autouse=True)
def _seed() -> None:
    pin.seed(5)


def test_slow_motion_makes_least_squares_impossible_and_the_manifold_does_not() -> None:
    slow = problem(speed=0.15)
    plain, found = estimate(slow, "wls"), estimate(slow, "manifold")
    assert not slow.consistency(plain.parameters, "full").ok
    assert slow.consistency(found.parameters, "full").ok
    np.testing.assert_allclose(
        found.parameters[:4], plain.parameters[:4], atol=5e-3
    )  # 001, Table I: m and mc agree


def test_fast_motion_makes_them_agree() -> None:
    fast = problem(speed=5.0)
    plain, found = estimate(fast, "wls"), estimate(fast, "manifold")
    assert fast.consistency(plain.parameters, "full").ok
    np.testing.assert_allclose(found.parameters, plain.parameters, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(found.parameters, TRUTH, atol=2e-3)


def test_the_manifold_fits_as_the_cone_program() -> None:
    slow = problem(speed=0.15)
    compact, fittest = estimate(slow, "sdp").cost, estimate(slow, "manifold").cost
    assert (
        fittest - 1e-3 <= compact <= fittest + 1.01
    )  # one squared standard deviation buys the smallest body
