"""The search for the cause of data that do not agree with the robot's file."""

from __future__ import annotations

import numpy as np

from heft.identify.certainty.causes.agreement import Agreement, Explained
from heft.identify.certainty.causes.exchanged_joints import exchanged_joints
from heft.identify.certainty.causes.gravity_direction import gravity_direction
from heft.identify.certainty.causes.motion_sample import MotionSample
from heft.identify.certainty.causes.position_unit import position_unit
from heft.identify.certainty.causes.time_scale import time_scale, too_fast, velocity_mismatch, velocity_ratio
from heft.identify.certainty.causes.torque_gain import common_gain, driving_friction, joint_gain
from heft.identify.certainty.reason import CAUSE, Reason
from heft.identify.estimation.problem import Problem
from heft.identify.information.fit_data import FitData

__all__ = ["find_causes"]

POOR_FIT = 0.12  # of a joint's torque unexplained
FAR = 1.5  # a link's squared distance from its file over what the spread allows
BESIDE = 0.35  # of the best cause's nats, that another must have to be told beside it


def find_causes(data: FitData, problem: Problem) -> tuple[Reason, ...]:
    """What would explain the data better than the robot's file does; most likely first.

    The looks at the torques' common scale and at measured velocities are made always; the others, which cost as much
    as a fit, only where data and file disagree.
    """
    agreement = Agreement.of_problem(problem)
    now = agreement.explained()
    if problem.prior is None:
        found = driving_friction(agreement, now, problem.layout, data.robot.joints)
    else:
        found = common_gain(agreement, now, thorough=False)
    suspicious = bool(found) or _suspicious(now)
    if not suspicious and all(one.dq is None for one in data.datasets):
        return ()
    sample = MotionSample.of(data)
    ratio = velocity_ratio(sample)
    mismatch = [] if ratio is None else velocity_mismatch(ratio)
    if not suspicious:
        return tuple(mismatch)
    robot, joints, known = data.robot, data.robot.joints, agreement.known
    Y = robot.regressor.dense(sample.q, sample.dq, sample.ddq)
    here = Agreement.of_rows(known, Y, sample.tau, sample.kept).explained()
    certain = position_unit(robot, known, sample, here) + mismatch
    likely: list[Reason] = []
    if problem.prior is not None:
        likely += common_gain(agreement, now, thorough=True)
        likely += joint_gain(agreement, now, joints)
        if ratio is None:
            likely += time_scale(robot, known, sample, here)
        likely += gravity_direction(robot, known, sample, here)
    else:
        likely += found
    likely += exchanged_joints(robot, known, sample, here)
    best = max((one.weight - CAUSE for one in likely), default=0.0)
    likely = [one for one in likely if one.weight - CAUSE >= BESIDE * best]
    reasons = [*certain, *likely, *too_fast(robot, sample)]
    return tuple(sorted(reasons, key=lambda one: -one.weight))


def _suspicious(now: Explained) -> bool:
    return bool(np.any(now.left > POOR_FIT) or np.any(now.width > FAR))
