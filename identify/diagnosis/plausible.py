"""Ranges that joints can have: beyond them positions are of another unit, or of the motors."""

from __future__ import annotations

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.diagnosis.log import Log
from heft.identify.robot import Robot

__all__ = ["too_far", "too_short", "travel_of"]

BEYOND = 1.3  # times a joint's range
TURNS = 1.5  # of a joint without one, either way round
LEAST = 0.1  # [rad], of the joint that moves furthest


def travel_of(log: Log) -> Array:
    """From the lowest to the highest position, a thousandth aside at both ends [rad, m], shape (n,)."""
    values = log.tables["q"].values
    good = values[np.isfinite(values).all(axis=1)]
    if not len(good):
        return np.zeros(log.n)
    low, high = np.quantile(good, [0.001, 0.999], axis=0)
    return np.asarray(high - low)


def too_far(log: Log, robot: Robot | None) -> bool:
    """Whether a revolute joint moves further than it can."""
    travel = travel_of(log)
    span = np.full(log.n, 4 * np.pi * TURNS)
    if robot is not None and robot.limits is not None and len(robot.joints) == log.n:
        own = robot.limits.position[:, 1] - robot.limits.position[:, 0]
        span = np.where(np.isfinite(own) & (own > 0), BEYOND * own, span)
        travel = np.where(robot.tree.prismatic, 0.0, travel)
    return bool(np.any(travel > span))


def too_short(log: Log, robot: Robot | None) -> bool:
    """Whether no joint moves further than a motion to identify from would."""
    return bool(travel_of(log).max(initial=0.0) < LEAST)
