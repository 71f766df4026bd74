"""Regressors against point masses (004, Eq. 8, 21, 25 to 27)."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from identify.errors import DataError
from identify.payload import differential_terms, integral_terms, static_terms
from identify.payload.wrench import window_means


@pytest.fixture
def case(simulator: ModuleType):
    rng = np.random.default_rng(3)
    body = simulator.box(rng, 1.3, np.array([0.1, 0.2, 0.07]), np.array([0.02, -0.01, 0.12]))
    return body, simulator.wrist_motion(rng, 0.0)


@pytest.mark.parametrize("gravity", [(0.0, 0.0, -9.81), (6.9, 0.0, -6.9)])
def test_regressor_times_parameters_is_the_wrench_of_the_point_masses(case, gravity) -> None:
    body, motion = case
    t = np.linspace(0.0, 3.0, 200)
    rows = differential_terms(**motion.kinematics(t)).regressor(gravity)
    np.testing.assert_allclose(rows @ body.ten, motion.wrench(t, body, np.array(gravity)), atol=1e-6)


def test_at_rest_only_gravity_acts_and_the_force_points_up(case) -> None:
    body, motion = case
    rotation = motion.rotation(np.linspace(0.5, 3.0, 50))
    wrench = static_terms(rotation).regressor((0, 0, -9.81)) @ body.ten
    down = np.swapaxes(rotation, 1, 2) @ np.array([0.0, 0.0, -9.81])
    np.testing.assert_allclose(wrench[:, :3], -body.mass * down, atol=1e-12)
    np.testing.assert_allclose(wrench[:, 3:], np.cross(body.com, -body.mass * down), atol=1e-12)
    assert static_terms(np.eye(3)[None]).regressor((0, 0, -9.81))[0, 2, 0] > 0


def test_integral_form_averages_the_wrench_without_accelerations(case) -> None:
    body, motion = case
    t = np.arange(0.0, 3.0, 1e-3)
    kinematics = motion.kinematics(t)
    terms = integral_terms(
        t, kinematics["rotation"], kinematics["angular_velocity"], motion.linear_velocity(t), 40
    )
    means = window_means(t, motion.wrench(t, body), 40)
    assert len(terms) == len(means) == 74
    np.testing.assert_allclose(terms.regressor((0, 0, -9.81)) @ body.ten, means, atol=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rotation": np.eye(3)}, r"rotation: shape \(3, 3\), must be \(T, 3, 3\)"),
        ({"rotation": np.empty((0, 3, 3))}, "no samples"),
        ({"rotation": 1.1 * np.eye(3)[None]}, r"rotation\[0\].*right-handed"),
        ({"rotation": np.diag([1.0, 1.0, -1.0])[None]}, "mirror"),
        (
            {"rotation": np.eye(3)[None], "angular_velocity": np.zeros((2, 3))},
            r"angular_velocity: shape \(2, 3\)",
        ),
        ({"rotation": np.eye(3)[None], "angular_acceleration": np.full((1, 3), np.nan)}, "not finite"),
    ],
)
def test_what_is_wrong_with_the_input_is_said(arguments, message) -> None:
    with pytest.raises(DataError, match=message):
        differential_terms(**arguments)


def test_time_must_increase_and_windows_must_fit() -> None:
    three = (np.broadcast_to(np.eye(3), (3, 3, 3)), np.zeros((3, 3)), np.zeros((3, 3)))
    with pytest.raises(DataError, match=r"time\[2\]"):
        integral_terms([0.0, 1.0, 1.0], *three, 1)
    with pytest.raises(DataError, match="window: 3"):
        integral_terms([0.0, 1.0, 2.0], *three, 3)
