"""Checks: every violated bound is named with joint, time, value, bound and remedy, all at once."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from heft.daq.errors import CheckError
from heft.daq.trajectory import Limits, Trajectory, limit_checks, minimum_jerk, run_checks
from heft.daq.trajectory.checks import check_motion

AXES = ("shoulder", "elbow")
LIMITS = Limits(
    axes=AXES,
    lower=np.array([-1.0, -2.0]),
    upper=np.array([1.0, 2.0]),
    velocity=np.array([1.0, 0.5]),
    acceleration=np.array([2.0, 1.0]),
)


def move(end: tuple[float, float], velocity: float = 0.4, acceleration: float = 0.9) -> Trajectory:
    return minimum_jerk(
        (0.0, 0.0), end, velocity=(velocity,) * 2, acceleration=(acceleration,) * 2, rate_hz=1000.0, axes=AXES
    )


def fails(trajectory: Trajectory) -> CheckError:
    with pytest.raises(CheckError) as info:
        check_motion(trajectory, LIMITS)
    return info.value


def test_a_good_move_passes() -> None:
    run_checks(move((0.9, -1.9)), limit_checks(LIMITS))
    run_checks(move((1.0, -2.0)), limit_checks(LIMITS))  # the bound itself is inside


@pytest.mark.parametrize(
    ("trajectory", "message"),
    [
        (move((1.2, 0.1)), r"^shoulder: position 1.2 rad at \d\.\d{3} s, bound 1 rad; move the centre"),
        (move((0.1, -2.5)), r"^elbow: position -2.5 rad at .* s, bound -2 rad; move the centre"),
        (
            move((0.5, -1.5), velocity=0.6),
            r"^elbow: velocity -0.59\d+ rad/s at .* s, bound -0.5 rad/s; reduce",
        ),
        (
            move((0.0, 0.2), acceleration=1.5, velocity=1.0),
            r"^elbow: acceleration -?1.4\d+ rad/s2 at .*, bound -?1 rad/s2; reduce",
        ),
    ],
)
def test_each_bound_is_named(trajectory: Trajectory, message: str) -> None:
    error = fails(trajectory)
    assert re.match(message, str(error))
    assert len(error.violations) == 1
    assert abs(error.violations[0].value) > abs(error.violations[0].bound)


def test_all_violations_come_at_once() -> None:
    error = fails(move((2.4, -2.5), velocity=3.0, acceleration=9.0))
    assert [(v.joint, v.quantity) for v in error.violations] == [
        ("shoulder", "position"),
        ("elbow", "position"),
        ("shoulder", "velocity"),
        ("elbow", "velocity"),
        ("shoulder", "acceleration"),
        ("elbow", "acceleration"),
    ]
    assert len(str(error).splitlines()) == 6


def test_a_check_that_is_handed_in_is_heard_too() -> None:
    def torque(trajectory: Trajectory) -> None:
        raise CheckError("shoulder: torque 90 N m at 0.1 s, bound 77 N m; slow down")

    with pytest.raises(CheckError, match=r"(?s)shoulder: position 1.2.*torque 90 N m"):
        run_checks(move((1.2, 0.0)), [*limit_checks(LIMITS), torque])
    with pytest.raises(ZeroDivisionError):  # a check that breaks is not a check that passes
        run_checks(move((0.1, 0.0)), [lambda t: 1 / 0])  # type: ignore[func-returns-value,list-item]


def test_samples_that_lie_about_their_derivatives_do_not_pass() -> None:
    """A step of position with velocities of zero would throw the arm; so would a step of velocity."""
    good = move((0.5, 0.5))
    position = good.position.copy()
    position[700:, 1] += 0.01
    error = fails(replace(good, position=position))
    assert [(v.joint, v.quantity, v.time_s) for v in error.violations] == [("elbow", "velocity", 0.7)]
    velocity = good.velocity.copy()
    velocity[700, 0] += 0.05
    error = fails(replace(good, velocity=velocity))
    assert [(v.joint, v.quantity) for v in error.violations] == [("shoulder", "acceleration")]


def test_motion_at_the_ends_is_refused() -> None:
    whole = move((0.5, 0.5))
    half = Trajectory(AXES, 1000.0, whole.position[:500], whole.velocity[:500], whole.acceleration[:500])
    assert "does not end at rest" in str(fails(half))
    tail = Trajectory(AXES, 1000.0, whole.position[500:], whole.velocity[500:], whole.acceleration[500:])
    assert "does not begin at rest" in str(fails(tail))


def test_axes_in_another_order_are_refused() -> None:
    good = move((0.5, 0.5))
    assert "in the robot's order" in str(fails(replace(good, axes=("elbow", "shoulder"))))


def test_bad_limits_are_named() -> None:
    with pytest.raises(ValueError, match="elbow: the upper position limit"):
        replace(LIMITS, upper=np.array([1.0, -3.0]))
    with pytest.raises(ValueError, match="shoulder: the velocity limit is not positive"):
        replace(LIMITS, velocity=np.array([0.0, 1.0]))
    with pytest.raises(ValueError, match="acceleration has shape"):
        replace(LIMITS, acceleration=np.array([1.0]))
