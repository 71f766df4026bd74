"""The search for the cause of data that do not agree with the robot's file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from heft.identify.certainty.causes.agreement import Agreement, Explained
from heft.identify.certainty.causes.compensated_gravity import compensated_gravity
from heft.identify.certainty.causes.exchanged_joints import exchanged_joints
from heft.identify.certainty.causes.gravity_direction import gravity_direction
from heft.identify.certainty.causes.joint_offset import joint_offset
from heft.identify.certainty.causes.kinematic_limits import beyond_limits
from heft.identify.certainty.causes.motion_sample import MotionSample
from heft.identify.certainty.causes.position_unit import position_unit
from heft.identify.certainty.causes.time_scale import time_scale, velocity_mismatch, velocity_ratio
from heft.identify.certainty.causes.torque_gain import (
    common_gain,
    driving_friction,
    joint_gain,
    unknown_gains,
)
from heft.identify.certainty.causes.unknown_scale import link_scale, scale_unknown, unlikely_torque
from heft.identify.certainty.reason import CAUSE, Reason
from heft.identify.estimation.problem import Problem
from heft.identify.information.fit_data import FitData

__all__ = ["find_causes"]

POOR_FIT = 0.12  # of a joint's torque unexplained
FAR = 1.5  # a link's squared distance from its file over what the spread allows
BESIDE = 0.35  # of the best cause's nats, that another must have to be told beside it
ODDS = 5.0  # nats that any cause may be ahead by without being the more probable: no two are equally common


def find_causes(data: FitData, problem: Problem) -> tuple[Reason, ...]:
    """What would explain the data better than the robot's file does, and what cannot be known; most likely first.

    The looks at positions and stamps, at the torques' common scale and at measured velocities are made always; the
    others, which cost as much as a fit, only where data and file disagree.
    """
    robot, joints = data.robot, data.robot.joints
    travel = np.max([one.travel for one in data.surveys], axis=0)
    speed = np.max([one.speed for one in data.surveys], axis=0)
    certain = beyond_limits(robot, travel, speed)
    agreement, told = Agreement.of_problem(problem), problem.prior is not None
    if told:
        now = agreement.explained()
        found = common_gain(agreement, now, thorough=False)
    else:
        agreement = replace(agreement, known=agreement.known.scaled(link_scale(agreement)))
        now = agreement.explained()
        found = driving_friction(agreement, now, problem.layout, joints)
        found += unlikely_torque(robot, agreement, int(problem.information.rows.max()))
        if problem.bounds.total_mass is None and problem.carried is None and not _weighed(data):
            certain.append(scale_unknown())
    suspicious = bool(found) or _suspicious(now) or any(one.cause for one in certain)
    if not suspicious and all(one.dq is None for one in data.datasets):
        return tuple(certain)
    sample = MotionSample.of(data)
    ratio = velocity_ratio(sample)
    certain += [] if ratio is None else velocity_mismatch(ratio)
    if not suspicious:
        return tuple(certain)
    known = agreement.known
    Y = robot.regressor.dense(sample.q, sample.dq, sample.ddq)
    here = Agreement.of_rows(known, Y, sample.tau, sample.kept).explained()
    if all(one.id != "position-unit" for one in certain):
        certain += position_unit(robot, known, sample, here)
    likely: list[Reason] = []
    if told:
        likely += common_gain(agreement, now, thorough=True)
        likely += joint_gain(agreement, now, joints)
        if ratio is None:
            likely += time_scale(data, known, sample, here)
        likely += gravity_direction(robot, known, sample, here)
        likely += compensated_gravity(robot, known, sample, here)
        likely += joint_offset(robot, known, sample, here)
    else:
        likely += found
    likely += exchanged_joints(robot, known, sample, here)
    best = max((one.weight - CAUSE for one in likely), default=0.0)
    kept = [one for one in likely if not one.cause or one.weight - CAUSE >= BESIDE * (best - ODDS)]
    if told and (_poor(now) or any(one.cause for one in [*certain, *kept])):
        kept += unknown_gains(agreement, joints)
    return tuple(sorted([*certain, *kept], key=lambda one: -one.weight))


def _weighed(data: FitData) -> bool:
    return any(one.load is not None for one in data.datasets)


def _suspicious(now: Explained) -> bool:
    return _poor(now) or bool(np.any(now.width > FAR))


def _poor(now: Explained) -> bool:
    return bool(np.any(now.left > POOR_FIT))
