"""The wrench equations from twelve signals, against the payload's own form of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from identify.hand.wrench_signals import ENTRIES, wrench_signals
from identify.payload.wrench import differential_terms
from identify.payload.wrist import wrist_motion
from identify.robot import Robot

ROBOTS = Path(__file__).parents[3] / "configs" / "robots"


@pytest.mark.parametrize("name", ["wam7", "panda"])
def test_entries_are_those_of_the_wrench_equations(name: str) -> None:
    robot = Robot.load(ROBOTS / f"{name}.yaml")
    q, dq, ddq = np.random.default_rng(0).normal(size=(3, 200, len(robot.joints)))
    moved = wrist_motion(robot, q, dq, ddq)
    terms = differential_terms(
        moved.rotation, moved.angular_velocity, moved.angular_acceleration, moved.linear_acceleration
    )
    expected = terms.regressor(robot.gravity).reshape(-1, 60)
    found = wrench_signals(robot, q.T, dq.T, ddq.T) @ ENTRIES
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
