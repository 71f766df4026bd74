"""Time that runs at another rate than the stamps say.

If true time is k times the stamped one, true velocities are dq / k and accelerations ddq / k^2: gravity's torque is
right, and the torque of motion 1 / k^2 of what the regressor makes of it. Measured velocities tell k by themselves.
"""

from __future__ import annotations

import numpy as np

from heft.identify.certainty.causes.agreement import Agreement, Explained, Known
from heft.identify.certainty.causes.motion_sample import MotionSample
from heft.identify.certainty.reason import CAUSE, Reason, Severity
from heft.identify.robot import Robot

__all__ = ["time_scale", "too_fast", "velocity_mismatch", "velocity_ratio"]

FACTORS = (1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 40.0)
STANDSTILL = 1e4  # times as long: motion without inertia
LIKELY, CERTAIN = 10.0, 50.0  # nats
MISMATCH = 0.2  # |log| of measured over differentiated velocity
ALIKE = 0.15  # median deviation of that among joints
LEAST_MOTION = 1e-3  # of the fastest joint's squared velocity, for a joint to be asked
TOO_FAST = 1.5  # times a joint's velocity limit


def time_scale(robot: Robot, known: Known, sample: MotionSample, now: Explained) -> list[Reason]:
    """Whether the torques are explained much better by a motion that is slower or faster by one factor."""
    moving = robot.regressor.dense(sample.q, sample.dq, sample.ddq)
    still = np.zeros_like(sample.q)
    resting = robot.regressor.dense(sample.q, still, still)
    inertial = [i for i, name in enumerate(robot.parameter_names) if _inertial(name, i, len(robot.links))]
    dynamic = np.zeros_like(moving)
    dynamic[:, :, inertial] = moving[:, :, inertial] - resting[:, :, inertial]
    static = moving - dynamic

    def explained(factor: float) -> Explained:
        slowed = static + factor**-2 * dynamic
        return Agreement.of_rows(known, slowed, sample.tau, sample.kept).explained()

    costs = {k: explained(k).cost for f in FACTORS for k in (f, 1 / f)}
    best = min(costs, key=lambda k: costs[k])
    for finer in (best / 1.15, best * 1.15):
        costs[finer] = explained(finer).cost
    best = min(costs, key=lambda k: costs[k])
    better = now.cost - costs[best]
    if (
        better < LIKELY or explained(STANDSTILL).cost - costs[best] < LIKELY
    ):  # accelerations may be noise alone
        return []
    rate = f"{1 / best:.2g} times" if best < 1 else f"one {best:.2g}th of"
    text = (
        f"the torques fit a motion that takes {best:.2g} times as long as the stamps say: the sampling rate of the "
        f"data is {rate} the stated one, or t is not in seconds; correct t"
    )
    return [Reason("time-scale", "unfit" if better > CERTAIN else "care", text, weight=CAUSE + better)]


def velocity_ratio(sample: MotionSample) -> float | None:
    """Measured velocities over the derivative of positions, 1 where stamps and units are right; None: not told."""
    if not sample.measured:
        return None
    square = (np.where(sample.kept, sample.slope, 0.0) ** 2).sum(axis=0)
    product = np.where(sample.kept, sample.slope * sample.dq, 0.0).sum(axis=0)
    told = square > LEAST_MOTION * square.max()
    ratios = product[told] / square[told]
    ratio = float(np.median(ratios))
    if not ratio > 0 or float(np.median(np.abs(ratios / ratio - 1))) > ALIKE:
        return None
    return ratio


def velocity_mismatch(ratio: float) -> list[Reason]:
    """The reason where measured velocities are a constant times the derivative of positions."""
    size = abs(float(np.log(ratio)))
    if size < MISMATCH:
        return []
    degrees = abs(size - np.log(180 / np.pi)) < MISMATCH
    why = (
        "positions or velocities are in degrees"
        if degrees
        else f"the sampling rate is {ratio:.3g} times the stated one, or t is not in seconds"
    )
    text = f"measured velocities are {ratio:.3g} times the derivative of positions, should be 1: {why}; correct t or dq"
    return [Reason("position-unit" if degrees else "time-scale", "unfit", text, weight=2 * CAUSE + size)]


def too_fast(robot: Robot, sample: MotionSample) -> list[Reason]:
    """Joints that move faster than they can."""
    assert robot.limits is not None
    top = np.abs(sample.slope).max(axis=0)
    over = top / np.where(robot.limits.velocity > 0, robot.limits.velocity, np.inf)
    worst = int(np.argmax(over))
    if over[worst] < TOO_FAST:
        return []
    unit = "m/s" if robot.tree.prismatic[worst] else "rad/s"
    text = (
        f"{robot.joints[worst]} would move at {top[worst]:.3g} {unit}, {over[worst]:.2g} times its limit of "
        f"{robot.limits.velocity[worst]:.3g} {unit}: the sampling rate is overstated, positions are not in radians, or "
        "the limit is that of careful motion; correct t, q or the limit"
    )
    severity: Severity = "unfit" if over[worst] > 2 * TOO_FAST else "care"
    return [Reason("too-fast", severity, text, weight=CAUSE + float(np.log(over[worst])))]


def _inertial(name: str, place: int, links: int) -> bool:
    return place < 10 * links or name.endswith(".drive_inertia")
