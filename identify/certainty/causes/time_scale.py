"""Time that runs at another rate than the stamps say.

If true time is k times the stamped one, true velocities are dq / k and accelerations ddq / k^2: gravity's torque is
right, and the torque of motion 1 / k^2 of what the regressor makes of it. Measured velocities tell k by themselves.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from heft.identify.certainty.causes.agreement import SAMPLES, Agreement, Explained, Known
from heft.identify.certainty.causes.kinematic_limits import FASTEST
from heft.identify.certainty.causes.motion_sample import MotionSample
from heft.identify.certainty.reason import CAUSE, Reason
from heft.identify.robot import Robot

__all__ = ["time_scale", "velocity_mismatch", "velocity_ratio"]

FACTORS = (1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 40.0)
UNITS = (1e-3, 1e-6, 1e-9)  # s: stamps in ms, us, ns
SHARES = (0.5, 0.25, 0.125)  # of the cut-off, for times that are shorter than stamped
FEWEST = 30  # rows of a joint, for a view to tell anything
STANDSTILL = 1e4  # times as long: motion without inertia
LIKELY, CERTAIN = 10.0, 50.0  # nats
MISMATCH = 0.2  # |log| of measured over differentiated velocity
ALIKE = 0.15  # median deviation of that among joints
UNKNOWN_WEIGHT = 60.0  # it says what is not known, and comes after what is
UNKNOWN = (
    "the torques do not show inertia, so that a wrong sampling rate would not show either: move faster, or record "
    "velocities"
)
LEAST_MOTION = 1e-3  # of the fastest joint's squared velocity, for a joint to be asked


def time_scale(
    robot: Robot, known: Known, sample: MotionSample, now: Explained, lower: Callable[[float], MotionSample]
) -> list[Reason]:
    """Whether the torques are explained much better by a motion that is slower or faster by one factor.

    A motion that was really faster has its signal at higher frequencies than the stamps say, and so has the noise that
    the cut-off was chosen for: shorter times are looked at through a low-pass that is lower by as much (in octaves),
    beside the stamped time through the same. Accelerations are else noise that grows with the square of the factor.

    lower   the same motion through a lower low-pass, by its share of the cut-off
    """
    views = {1.0: _View(robot, known, sample, now)}
    for share in SHARES:
        seen = lower(share)
        if seen.kept.sum() < FEWEST * len(robot.joints):
            break
        views[share] = _View(robot, known, seen)

    def view(factor: float) -> _View:
        return views[min((share for share in views), key=lambda share: abs(np.log(share / min(factor, 1.0))))]

    tried = [k for factor in FACTORS for k in (factor, 1 / factor)]
    fastest = float(np.abs(sample.dq[sample.kept.any(axis=1)]).max())
    tried += [k for k in UNITS if fastest / k <= FASTEST]  # no arm is faster, whatever its torques fit
    better = {k: view(k).better(k) for k in tried}
    best = max(better, key=lambda k: better[k])
    for finer in (best / 1.15, best * 1.15):
        better[finer] = view(best).better(finer)
    best = max(better, key=lambda k: better[k])
    gained = better[best]
    if gained - view(best).better(STANDSTILL) < LIKELY:  # accelerations are noise alone, or too small to tell
        return [Reason("time-unknown", "care", UNKNOWN, weight=UNKNOWN_WEIGHT)]
    if gained < LIKELY:
        return []
    rate = f"{1 / best:.2g} times" if best < 1 else f"one {best:.2g}th of"
    text = (
        f"the torques fit a motion that takes {best:.2g} times as long as the stamps say: the sampling rate of the "
        f"data is {rate} the stated one, or t is not in seconds; correct t"
    )
    fix = {"time": {"factor": best}}
    return [
        Reason("time-scale", "unfit" if gained > CERTAIN else "care", text, weight=CAUSE + gained, fix=fix)
    ]


class _View:
    """The motion through one low-pass, and how much better another time explains it [nats]."""

    def __init__(
        self, robot: Robot, known: Known, sample: MotionSample, now: Explained | None = None
    ) -> None:
        moving = robot.regressor.dense(sample.q, sample.dq, sample.ddq)
        still = np.zeros_like(sample.q)
        resting = robot.regressor.dense(sample.q, still, still)
        inertial = [i for i, name in enumerate(robot.parameter_names) if _inertial(name, i, len(robot.links))]
        self.dynamic = np.zeros_like(moving)
        self.dynamic[:, :, inertial] = moving[:, :, inertial] - resting[:, :, inertial]
        self.static = moving - self.dynamic
        self.known, self.sample = known, sample
        self.now = now or self.explained(1.0)
        self.weight = min(
            1.0, sample.told / SAMPLES
        )  # a joint counts for so many samples, or for what there are

    def explained(self, factor: float) -> Explained:
        slowed = self.static + factor**-2 * self.dynamic
        return Agreement.of_rows(self.known, slowed, self.sample.tau, self.sample.kept).explained()

    def better(self, factor: float) -> float:
        return self.weight * (self.now.cost - self.explained(factor).cost)


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


def _inertial(name: str, place: int, links: int) -> bool:
    return place < 10 * links or name.endswith(".drive_inertia")
