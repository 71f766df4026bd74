"""The wrench equation against point masses (004, Eq. 8, 21 and 25 to 27), and the same as rows of the regression."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from heft.identify.bodies.wrench import integral_terms, window_means, wrench_terms
from heft.identify.payload.bare_hand.hand_alone import hand_alone
from heft.identify.payload.kinematics.wrist_motion import wrist_motion
from heft.identify.robot import Robot

ROBOTS = Path(__file__).parents[4] / "configs" / "robots"


@pytest.fixture
def case(simulator: ModuleType):
    rng = np.random.default_rng(3)
    body = simulator.box(rng, 1.3, np.array([0.1, 0.2, 0.07]), np.array([0.02, -0.01, 0.12]))
    return body, simulator.wrist_motion(rng, 0.0)


@pytest.mark.parametrize("gravity", [(0.0, 0.0, -9.81), (6.9, 0.0, -6.9)])
def test_regressor_times_parameters_is_the_wrench_of_the_point_masses(case, gravity) -> None:
    body, motion = case
    t = np.linspace(0.0, 3.0, 200)
    rows = wrench_terms(**motion.kinematics(t)).regressor(gravity)
    np.testing.assert_allclose(rows @ body.ten, motion.wrench(t, body, np.array(gravity)), atol=1e-6)


def test_at_rest_only_gravity_acts_and_the_force_points_up(case) -> None:
    body, motion = case
    rotation = motion.rotation(np.linspace(0.5, 3.0, 50))
    wrench = wrench_terms(rotation).regressor((0, 0, -9.81)) @ body.ten
    down = np.swapaxes(rotation, 1, 2) @ np.array([0.0, 0.0, -9.81])
    np.testing.assert_allclose(wrench[:, :3], -body.mass * down, atol=1e-12)
    np.testing.assert_allclose(wrench[:, 3:], np.cross(body.com, -body.mass * down), atol=1e-12)
    assert wrench_terms(np.eye(3)[None]).regressor((0, 0, -9.81))[0, 2, 0] > 0


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


@pytest.mark.parametrize("name", ["wam7", "panda"])
def test_a_wrist_sensor_is_a_sensor_inside_the_arm(name: str) -> None:
    """Its rows of the regression are the same equation, by the robot's kinematics."""
    robot = Robot.load(ROBOTS / f"{name}.yaml")
    q, dq, ddq = np.random.default_rng(0).normal(size=(3, 200, len(robot.joints)))
    moved = wrist_motion(robot, q, dq, ddq)
    terms = wrench_terms(
        moved.rotation, moved.angular_velocity, moved.angular_acceleration, moved.linear_acceleration
    )
    expected = terms.regressor(robot.gravity)
    alone = hand_alone(robot)
    found = alone.regressor.dense(q, dq, ddq)[:, -6:, 10 * len(robot.links) : 10 * len(alone.links)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
