"""Bounds that a motion has to keep at every sample and that are not linear in its coefficients.

Each constraint is c <= 0 at one sample; its derivative is by position, velocity and acceleration there. Only those that
may matter nearby are handed on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heft.daq.trajectory.limits import RAMP_PEAK, SHORTEST_STOP_S, Brake, Limits
from heft.identify.bodies.arrays import Array
from heft.identify.excitation.sampled_regressor import RegressorSample
from heft.identify.excitation.scene import Scene
from heft.identify.robot.regressor.row_layout import Ints

__all__ = [
    "APART",
    "METRE",
    "NEARBY",
    "SampleConstraints",
    "collision_constraints",
    "stop_constraints",
    "torque_constraints",
    "use_constraints",
]

NEARBY = -0.3  # c below this is left out: no step goes that far
NEARBY_M = 0.06  # [m] beyond the clearance
METRE = 0.1  # [m] that counts as 1
APART = 10**6  # numbers of a part's series: there are fewer


@dataclass(frozen=True, slots=True, eq=False)
class SampleConstraints:
    """c (m,), the samples they are at (m,), their derivatives (3, m, n), and what each is about.

    series   a number that the constraints have in common which are about the same at all samples (m,)
    """

    value: Array
    sample: Ints
    slopes: Array
    about: tuple[str, ...]
    series: Ints

    def peaks(self) -> SampleConstraints:
        """Those that are not below that of the sample before or after: where they are kept, all are."""
        order = np.lexsort((self.sample, self.series))
        value = self.value[order]
        beside = (np.diff(self.series[order]) == 0) & (np.diff(self.sample[order]) == 1)
        peak = np.ones(len(value), dtype=bool)
        peak[:-1] &= ~(beside & (value[:-1] < value[1:]))
        peak[1:] &= ~(beside & (value[:-1] >= value[1:]))
        return self.only(np.sort(order[peak]))

    def only(self, kept: Ints) -> SampleConstraints:
        """Some of them."""
        about = tuple(self.about[k] for k in kept)
        return SampleConstraints(
            self.value[kept], self.sample[kept], self.slopes[:, kept], about, self.series[kept]
        )

    @classmethod
    def none(cls, n: int) -> SampleConstraints:
        """No constraint."""
        none = np.zeros(0, dtype=np.int64)
        return cls(np.zeros(0), none, np.zeros((3, 0, n)), (), none)

    @classmethod
    def joined(cls, parts: Sequence[SampleConstraints], n: int) -> SampleConstraints:
        """All of them."""
        if not parts:
            return cls.none(n)
        return cls(
            np.concatenate([part.value for part in parts]),
            np.concatenate([part.sample for part in parts]),
            np.concatenate([part.slopes for part in parts], axis=1),
            tuple(about for part in parts for about in part.about),
            np.concatenate([part.series + APART * number for number, part in enumerate(parts)]),
        )


def _where(mask: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Rows and columns of a mask (T, n)."""
    rows, columns = np.nonzero(mask)
    return rows.astype(np.int64), columns.astype(np.int64)


def torque_constraints(sample: RegressorSample, bound: Array, joints: Sequence[str]) -> SampleConstraints:
    """|torque| / bound - 1, with `bound` (n,) [N m]."""
    assert sample.torque is not None
    share = np.abs(sample.torque) / bound - 1.0
    at, joint = _where(share > NEARBY)
    sign = np.sign(sample.torque[at, joint]) / bound[joint]
    slopes = sample.slopes_of_torques(at, joint) * sign[:, None]
    return SampleConstraints(
        share[at, joint], at, slopes, tuple(f"torque of {joints[int(j)]}" for j in joint), joint
    )


def stop_constraints(limits: Limits, q: Array, dq: Array, extra: float = 0.0) -> SampleConstraints:
    """That a stop from any sample ends `extra` inside the position limits, as shares of half the range."""
    n = q.shape[1]
    half = 0.5 * (limits.upper - limits.lower)
    end = limits.at_rest_from(q, dq)
    parts = []
    for sign, room in ((1.0, limits.upper - end), (-1.0, end - limits.lower)):
        at, joint = _where(-room / half > NEARBY)
        slopes = np.zeros((3, len(at), n))
        rows = np.arange(len(at))
        slopes[0, rows, joint] = sign / half[joint]
        for brake in limits.brakes:
            own = np.isin(joint, brake.joints)
            if own.any():
                slopes[1, own] += (
                    _stop_slopes(brake, dq[at[own]], joint[own]) * (sign / half[joint[own]])[:, None]
                )
        about = tuple(f"the stop of {limits.axes[j]}" for j in joint)
        parts.append(SampleConstraints(extra - room[at, joint] / half[joint], at, slopes, about, joint))
    return SampleConstraints.joined(parts, n)


def _stop_slopes(brake: Brake, velocity: Array, joint: Ints) -> Array:
    """Derivative of a stop's way, D v / 2, by velocities (m, n): of the joint itself, and through its duration D."""
    C = np.eye(len(brake.joints)) if brake.coupling is None else brake.coupling
    moving = velocity[:, brake.joints]
    motors = moving @ C.T
    hardest = np.argmax(np.abs(motors) / brake.deceleration, axis=1)
    rows = np.arange(len(velocity))
    duration = brake.duration(moving)
    rate = RAMP_PEAK * np.sign(motors[rows, hardest]) / brake.deceleration[hardest]
    rate = np.where(duration > SHORTEST_STOP_S, rate, 0.0)
    slopes = np.zeros_like(velocity)
    own = velocity[rows, joint]
    slopes[:, brake.joints] = 0.5 * (own * rate)[:, None] * C[hardest]
    slopes[rows, joint] += 0.5 * duration
    return slopes


def use_constraints(q: Array, least: Array, joints: Sequence[str]) -> SampleConstraints:
    """1 - way / least for joints that have to go `least` (n,) from their lowest to their highest position; zero: any.

    Each stands twice, at both ends of its way, of which each has to leave the middle: together their slopes are those
    of the whole.
    """
    joint = np.flatnonzero(least > 0.0)
    way = 1.0 - np.ptp(q[:, joint], axis=0) / least[joint]
    twice, end = np.repeat(joint, 2), np.tile([-1.0, 1.0], len(joint))
    at = np.column_stack([q[:, joint].argmax(axis=0), q[:, joint].argmin(axis=0)]).ravel()
    slopes = np.zeros((3, len(at), q.shape[1]))
    slopes[0, np.arange(len(at)), twice] = 2.0 * end / least[twice]
    about = tuple(f"the least use of {joints[int(j)]}" for j in twice)
    return SampleConstraints(np.repeat(way, 2), at, slopes, about, np.arange(len(at)))


def collision_constraints(scene: Scene, q: Array, extra: float = 0.0) -> SampleConstraints:
    """(clearance - distance) / 0.1 m for every pair that is close, and the flange's way out of the workspace."""
    at, pair, distance, slope = scene.near(q, extra + NEARBY_M)
    wanted = scene.wanted[pair] + extra * scene.part[pair]
    slopes = np.zeros((3, len(at), q.shape[1]))
    slopes[0] = -slope / METRE
    names = [f"the distance between {one} and {other}" for one, other in scene.pairs]
    parts = [SampleConstraints((wanted - distance) / METRE, at, slopes, tuple(names[k] for k in pair), pair)]
    if scene.workspace is not None:
        points, by_joints = scene.flange(q)
        for sign, corner in ((1.0, scene.workspace[1]), (-1.0, scene.workspace[0])):
            beyond = (sign * (points - np.array(corner)) + extra) / METRE
            at, axis = _where(beyond > -NEARBY_M / METRE)
            slopes = np.zeros((3, len(at), q.shape[1]))
            slopes[0] = sign * by_joints[at, axis] / METRE
            about = tuple(f"the workspace along {'xyz'[k]}" for k in axis)
            parts.append(SampleConstraints(beyond[at, axis], at, slopes, about, axis))
    return SampleConstraints.joined(parts, q.shape[1])
