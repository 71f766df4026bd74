"""Positions in degrees where radians are expected, or the other way round."""

from __future__ import annotations

import numpy as np

from heft.identify.certainty.causes.agreement import Agreement, Explained, Known
from heft.identify.certainty.causes.motion_sample import MotionSample
from heft.identify.certainty.reason import CAUSE, Reason
from heft.identify.robot import Robot

__all__ = ["position_unit"]

DEGREE = np.pi / 180
MOST_TURNS = 3.0  # of a joint: more are hardly an arm's motion
LEAST_TRAVEL = 0.1  # [rad] of all joints: less is hardly a motion to identify from
BEYOND = 2.0  # times the range of a joint


def position_unit(robot: Robot, known: Known, sample: MotionSample, now: Explained) -> list[Reason]:
    """Whether revolute joints turn further than they can, or hardly at all, and would not in the other unit."""
    assert robot.limits is not None
    turning = ~robot.tree.prismatic
    if not turning.any():
        return []
    travel = np.where(turning, np.ptp(sample.q, axis=0), 0.0)
    span = robot.limits.position[:, 1] - robot.limits.position[:, 0]
    allowed = np.where(np.isfinite(span) & (span > 0), BEYOND * span, 2 * np.pi * MOST_TURNS)
    worst = int(np.argmax(travel / allowed))
    far = bool(travel[worst] > allowed[worst])
    if not far and travel.max() > LEAST_TRAVEL:
        return []
    factor = DEGREE if far else 1 / DEGREE
    scale = np.where(turning, factor, 1.0)
    Y = robot.regressor.dense(sample.q * scale, sample.dq * scale, sample.ddq * scale)
    better = now.cost - Agreement.of_rows(known, Y, sample.tau, sample.kept).explained().cost
    if better < (0.0 if far else 8.0):
        return []
    if far:
        text = (
            f"{robot.joints[worst]} moves over {travel[worst]:.3g} rad, it can about {allowed[worst]:.3g}: positions "
            "look like degrees; give them in radians"
        )
    else:
        text = (
            f"no joint moves more than {travel.max():.2g} rad, and the data fit much better with positions 57.3 times "
            "as large: they look converted to radians twice; give them in radians"
        )
    fix = {"position": {"unit": "deg"} if far else {"gear": DEGREE}}
    return [Reason("position-unit", "unfit", text, weight=2 * CAUSE + better, fix=fix)]
