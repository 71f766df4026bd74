"""Other forms of the ten numbers: other frames, the manifold, mass points, boxes."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from heft.identify.bodies import (
    MassDistribution,
    from_mass_com_inertia,
    grid,
    mass_point_matrix,
    transform,
    transform_matrix,
)
from heft.identify.bodies.arrays import Array
from heft.identify.bodies.mass_distribution import CENTRE, symmetric
from heft.identify.bodies.shape import share_inside

LOW, HIGH = np.array([-0.1, -0.2, 0.0]), np.array([0.1, 0.1, 0.5])


def body(seed: int = 0) -> Array:
    points = np.random.default_rng(seed).uniform(LOW, HIGH, (12, 3))
    return np.asarray(mass_point_matrix(points) @ np.linspace(0.1, 0.4, 12))


def test_transform_is_pinocchios() -> None:
    pin.seed(1)
    pose = pin.SE3.Random()
    moved = pose.act(pin.Inertia.FromDynamicParameters(body()))
    np.testing.assert_allclose(
        transform(body(), pose.rotation, pose.translation), moved.toDynamicParameters(), atol=1e-9
    )


def test_transform_and_back() -> None:
    pin.seed(2)
    pose = pin.SE3.Random()
    there = transform_matrix(pose.rotation, pose.translation)
    back = transform_matrix(pose.inverse().rotation, pose.inverse().translation)
    np.testing.assert_allclose(back @ there, np.eye(10), atol=1e-9)


def test_manifold_and_back() -> None:
    point = MassDistribution.from_ten(body())
    np.testing.assert_allclose(point.ten, body(), rtol=1e-9, atol=1e-12)
    assert np.linalg.det(point.axes) == pytest.approx(1.0)


@given(st.lists(st.floats(-0.24, 0.24), min_size=10, max_size=10))
def test_every_step_on_the_manifold_is_consistent_and_linear(x: list[float]) -> None:
    point = MassDistribution.from_ten(body())
    moved = point.linear_step(x)
    assert moved.mass > 0
    assert (moved.moments > 0).all()
    np.testing.assert_allclose(
        moved.ten, point.ten + point.derivative_by_linear_step() @ x, rtol=1e-7, atol=1e-9
    )


@given(st.lists(st.floats(-3, 3), min_size=10, max_size=10))
def test_every_step_of_the_log_chart_is_consistent(step: list[float]) -> None:
    moved = MassDistribution.from_ten(body()).log_step(np.array(step))
    assert moved.mass > 0
    assert (moved.moments > 0).all()


def test_the_log_charts_derivative_is_that_of_its_steps() -> None:
    point, h = MassDistribution.from_ten(body()), 1e-6
    steps = h * np.eye(10)
    numeric = [(point.log_step(s).ten - point.log_step(-s).ten) / (2 * h) for s in steps]
    np.testing.assert_allclose(point.derivative_by_log_step(), np.transpose(numeric), atol=1e-8)


def test_charts_have_full_rank_for_a_ball() -> None:
    ball = MassDistribution.from_ten(from_mass_com_inertia(2.0, [0.1, 0, 0], 0.01 * np.eye(3)))
    for derivative in (
        ball.derivative_by_linear_step(),
        ball.derivative_by_log_step(),
        ball.derivative_by_moments(),
    ):
        assert np.linalg.matrix_rank(derivative) == 10


def test_coordinates_of_the_chart_are_orthonormal() -> None:
    x = np.random.default_rng(0).normal(size=10)
    assert np.linalg.norm(symmetric(x)) == pytest.approx(np.linalg.norm(x))
    np.testing.assert_allclose(symmetric(CENTRE), np.eye(4), atol=1e-12)


def test_moments_that_are_too_small_are_raised() -> None:
    flat = from_mass_com_inertia(1.0, [0, 0, 0], np.diag([1.0, 1.0, 2.0]))
    assert MassDistribution.from_ten(flat, 0.01).moments.min() == 0.01


def test_mass_points_are_spread_over_the_box() -> None:
    points = grid(LOW, HIGH)
    assert points.shape == (27, 3)
    np.testing.assert_allclose(points.min(axis=0), LOW)
    np.testing.assert_allclose(points.max(axis=0), HIGH)


def test_an_even_body_fills_its_box() -> None:
    side = HIGH - LOW
    inertia = np.diag([side[1] ** 2 + side[2] ** 2, side[0] ** 2 + side[2] ** 2, side[0] ** 2 + side[1] ** 2])
    even = from_mass_com_inertia(3.0, (LOW + HIGH) / 2, 3.0 / 12 * inertia)
    assert share_inside(even, LOW, HIGH) == pytest.approx(1.0, abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_mass_inside_the_box_is_found_inside(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.uniform(LOW, HIGH, (rng.integers(5, 20), 3))
    ten = mass_point_matrix(points) @ rng.uniform(0.1, 1, len(points))
    assert share_inside(ten, LOW, HIGH) > 0


def test_mass_in_the_corners_is_at_the_border() -> None:
    corners = mass_point_matrix([LOW, HIGH, [LOW[0], HIGH[1], LOW[2]], [HIGH[0], LOW[1], LOW[2]]])
    assert share_inside(corners.sum(axis=1), LOW, HIGH) == pytest.approx(0.0, abs=1e-6)


def test_mass_beyond_a_wall_is_found_out() -> None:
    """The mean square of x exceeds half the width although the centre of mass is in the middle."""
    ten = from_mass_com_inertia(1.0, (LOW + HIGH) / 2, np.diag([0.01, 0.02, 0.02]))
    assert share_inside(ten, LOW, HIGH) < 0


@pytest.mark.parametrize("seed", range(3))
def test_the_share_is_that_of_many_mass_points(seed: int) -> None:
    """A linear program over a fine grid of points comes close from below."""
    points = grid(-np.ones(3), np.ones(3), 9)
    rng = np.random.default_rng(seed)
    ten = mass_point_matrix(rng.uniform(-1, 1, (4, 3))) @ rng.uniform(0.1, 1, 4)
    even = from_mass_com_inertia(1.0, np.zeros(3), 2 / 3 * np.eye(3))
    balance = np.hstack([even[:, None], mass_point_matrix(points)])
    cost = np.zeros(1 + len(points))
    cost[0] = -1.0
    found = linprog(cost, A_eq=balance, b_eq=ten / ten[0], bounds=[(None, None)] + [(0, None)] * len(points))
    exact = share_inside(ten, -np.ones(3), np.ones(3))
    assert found.x[0] - 1e-6 <= exact <= found.x[0] + 0.1
