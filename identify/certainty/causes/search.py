"""The search for the cause of data that do not agree with the robot's file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import numpy as np

from heft.identify.bodies.arrays import Array
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
    likeliest_gain,
    unknown_gains,
    unsure_scale,
)
from heft.identify.certainty.causes.unknown_scale import link_scale, scale_unknown, unlikely_torque
from heft.identify.certainty.reason import CAUSE, Reason
from heft.identify.estimation.problem import Problem
from heft.identify.information.fit_data import FitData
from heft.identify.robot import Robot

__all__ = ["find_causes"]

POOR_FIT = 0.12  # of a joint's torque unexplained
FAR = 1.5  # a link's squared distance from its file over what the spread allows
BESIDE = 0.35  # of the best cause's nats, that another must have to be told beside it
COMMON = ("torque-scale", "torque-sign")  # of all joints
ODDS = 5.0  # nats that any cause may be ahead by without being the more probable: no two are equally common


def find_causes(data: FitData, problem: Problem) -> tuple[Reason, ...]:
    """What would explain the data better than the robot's file does, and what cannot be known; most likely first.

    The looks at positions and stamps, at the torques' common scale and at measured velocities are made always; the
    others, which cost as much as a fit, only where data and file disagree.
    """
    if data.robot.tree.free or data.robot.sources is not None:
        return ()  # the looks below are at torques of an arm; wrenches have their own (`wrench_findings`)
    robot, joints = data.robot, data.robot.joints
    travel = np.max([one.travel for one in data.surveys], axis=0)
    speed = np.max([one.speed for one in data.surveys], axis=0)
    certain = beyond_limits(robot, travel, speed)
    if any(one.id == "position-unit" and one.fix is None for one in certain):
        return tuple(certain)  # of positions in an unknown unit, nothing else can be told
    agreement, told = Agreement.of_problem(problem), problem.prior is not None
    unsure: list[Reason] = []  # of the scale, which matters where nothing else is told
    if told:
        now = agreement.explained()
        near = likeliest_gain(agreement, now, thorough=False)
        found = common_gain(agreement, near)
        if not (found or _weighed(data)):
            unsure = unsure_scale(agreement, near)
    else:
        agreement = replace(agreement, known=agreement.known.scaled(link_scale(agreement)))
        now = agreement.explained()
        found = driving_friction(agreement, now, problem.layout, joints)
        found += unlikely_torque(robot, agreement, int(problem.information.rows.max()))
        if problem.bounds.total_mass is None and problem.carried is None and not _weighed(data):
            certain.append(scale_unknown())
    suspicious = bool(found) or _suspicious(now) or any(one.cause for one in certain)
    if not suspicious and all(one.dq is None for one in data.datasets):
        return (*certain, *unsure)
    sample = MotionSample.of(data)
    ratio = velocity_ratio(sample)
    certain += [] if ratio is None else velocity_mismatch(ratio)
    if not suspicious:
        return (*certain, *unsure)
    known = agreement.known
    Y = robot.regressor.dense(sample.q, sample.dq, sample.ddq)
    here = Agreement.of_rows(known, Y, sample.tau, sample.kept).explained()
    if all(one.id != "position-unit" for one in certain):
        certain += position_unit(robot, known, sample, here)
    lower = cache(partial(MotionSample.of, data))
    likely = (
        _likely(robot, agreement, now, sample, here, lower if ratio is None else None)
        if told
        else list(found)
    )
    if told:
        likely += compensated_gravity(robot, known, sample, here)
        likely += joint_offset(robot, known, sample, here)
    likely += exchanged_joints(robot, known, sample, here)
    best = max((one for one in likely if one.cause), key=lambda one: one.weight, default=None)
    nats = 0.0 if best is None else best.weight - CAUSE
    kept = [one for one in likely if not one.cause or one.weight - CAUSE >= BESIDE * (nats - ODDS)]
    if told and best is not None and (factors := _factors(best, joints)) is not None:
        more = _once_scaled(robot, agreement, sample, lower if ratio is None else None, factors)
        if best.id in COMMON:
            more = [one for one in more if one.id not in COMMON]
        told_already = {(one.id, one.where) for one in kept if one.cause}
        more = [one for one in more if (one.id, one.where) not in told_already]
        kept = [*(one for one in kept if one.cause), *more]
    elif best is None:
        kept += unsure
    if told and (_poor(now) or any(one.cause for one in [*certain, *kept])):
        named = {joint for one in kept if one.id == "joint-gain" for joint in one.where}
        kept += unknown_gains(agreement, joints, set(joints) - named)
    return tuple(sorted([*certain, *kept], key=lambda one: -one.weight))


def _factors(cause: Reason, joints: tuple[str, ...]) -> Array | None:
    """What a cause multiplies torques by, shape (n,): 0 leaves a joint out of which only a bound is known."""
    scale = (cause.fix or {}).get("torque", {}).get("scale")
    if scale is not None:
        return np.broadcast_to(np.asarray(scale, dtype=np.float64), (len(joints),))
    if cause.id == "joint-gain":
        return np.array([float(joint not in cause.where) for joint in joints])
    return None


def _likely(
    robot: Robot,
    agreement: Agreement,
    now: Explained,
    sample: MotionSample,
    here: Explained,
    lower: Callable[[float], MotionSample] | None,
) -> list[Reason]:
    """Mistakes of scale, time and gravity that explain the data better than a file with masses does.

    now, here   what is explained of all rows, and of the sample
    lower       the sample through lower low-passes; None: measured velocities tell the time
    """
    known = agreement.known
    return [
        *common_gain(agreement, likeliest_gain(agreement, now, thorough=True)),
        *joint_gain(agreement, now, robot.joints),
        *([] if lower is None else time_scale(robot, known, sample, here, lower)),
        *gravity_direction(robot, known, sample, here),
    ]


def _once_scaled(
    robot: Robot,
    agreement: Agreement,
    sample: MotionSample,
    lower: Callable[[float], MotionSample] | None,
    factors: Array,
) -> list[Reason]:
    """What else is wrong once the torques are multiplied by factors, shape (n,); joints without torque say nothing.

    Real arms have a joint whose torque is none, or torque constants that are off, whatever else is wrong: that must
    neither hide the rest nor speak for another cause.
    """

    def scaled(one: MotionSample) -> MotionSample:
        return replace(one, tau=one.tau * factors)

    rows = agreement.rows.copy()
    rows[:, :, -1] *= factors[:, None]
    agreement, sample = replace(agreement, rows=rows), scaled(sample)
    now, Y = agreement.explained(), robot.regressor.dense(sample.q, sample.dq, sample.ddq)
    here = Agreement.of_rows(agreement.known, Y, sample.tau, sample.kept).explained()
    through = None if lower is None else lambda share: scaled(lower(share))
    found = _likely(robot, agreement, now, sample, here, through)
    found += exchanged_joints(robot, agreement.known, sample, here)
    if not any(one.cause for one in found) and _poor(now) and np.ptp(factors) > 0:
        found += unsure_scale(agreement, likeliest_gain(agreement, now, thorough=False))
    return found


def _weighed(data: FitData) -> bool:
    return any(one.load is not None for one in data.datasets)


def _suspicious(now: Explained) -> bool:
    return _poor(now) or bool(np.any(now.width > FAR))


def _poor(now: Explained) -> bool:
    return bool(np.any(now.left > POOR_FIT))
