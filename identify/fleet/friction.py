"""Friction of a joint as one number: its torque at one fixed speed.

Viscous and Coulomb friction of a session are known together far better than each: what one has too much the other has
too little. Their sum at a speed that the joint is moved at hardly depends on how the two share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.parameters import Layout
from heft.identify.certainty.interval import Interval
from heft.identify.result import Result
from heft.identify.robot import Robot

__all__ = ["friction_intervals", "friction_of", "friction_rows"]

#: The speed that friction is told at, over the joint's limit; and where there is no limit [rad/s, m/s].
SPEED_SHARE, SPEED = 0.25, 0.5
#: Joint terms that are friction at the reference temperature and without load.
TERMS = ("viscous", "coulomb", "stribeck")


def friction_rows(robot: Robot) -> Array:
    """Rows f with f d = friction of each joint at its speed [N m, N], shape (n, p); d the parameters (p,)."""
    layout, n = Layout(robot.parameter_names), len(robot.joints)
    limits = np.full(n, np.inf) if robot.limits is None else robot.limits.velocity
    speed = np.where(np.isfinite(limits), SPEED_SHARE * limits, SPEED)
    bare = replace(robot, prior=None) if robot.prior is not None else robot
    rows, still = np.zeros((n, len(layout))), np.zeros((1, n))
    for j, joint in enumerate(robot.joints):
        moving = np.zeros((1, n))
        moving[0, j] = speed[j]
        for term, place in layout.joint_terms.get(joint, {}).items():
            if term in TERMS:
                one = np.zeros(len(layout))
                one[place] = 1.0
                there = bare.torque(still, moving, still, one)[0, j]
                back = bare.torque(still, -moving, still, one)[0, j]
                rows[j, place] = 0.5 * (there - back)
    return rows


def friction_intervals(result: Result) -> dict[str, Interval]:
    """`friction_of` a session that was identified."""
    base = result.base
    return friction_of(result.robot, result.parameters.values, base.names, base.covariance, base.degrees)


def friction_of(
    robot: Robot, parameters: Array, base: Sequence[str], covariance: Array, degrees: float = np.inf
) -> dict[str, Interval]:
    """`JOINT.friction` [N m, N] of every joint whose friction the data determine.

    parameters   all of the robot (p,)
    base         names of the base parameters; their `covariance` (b, b), known with so many `degrees` of freedom
    """
    places = {name: i for i, name in enumerate(base)}
    names, found = robot.parameter_names, {}
    for joint, row in zip(robot.joints, friction_rows(robot), strict=True):
        used = np.flatnonzero(row)
        if not len(used) or any(names[i] not in places for i in used):
            continue
        at = [places[names[i]] for i in used]
        square = float(row[used] @ covariance[np.ix_(at, at)] @ row[used])
        if np.isfinite(square):
            value = float(row @ parameters)
            found[f"{joint}.friction"] = Interval.of(
                value, float(np.sqrt(max(square, 0.0))), degrees, "N m", positive=value > 0
            )
    return found
