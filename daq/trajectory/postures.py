"""From posture to posture, each in the same time: the motion by which 001 compares slow and fast data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heft.daq.trajectory.limits import Limits
from heft.daq.trajectory.minimum_jerk import PEAK_ACCELERATION, PEAK_VELOCITY
from heft.daq.trajectory.sampled_motion import SampledMotion
from heft.daq.trajectory.trajectory import Trajectory

__all__ = ["posture_motion", "random_postures"]


def random_postures(
    limits: Limits, *, count: int, each_s: float, seed: int, fraction: float = 0.8
) -> NDArray[np.float64]:
    """`count` postures [rad], shape (count, n), drawn evenly from the middle `fraction` of every joint's range.

    Where `each_s` [s] is too short to get from one to the next within that fraction of a joint's bounds of velocity
    and acceleration, the joint goes only as far as they allow, in the same direction. One seed gives one answer.
    """
    if not 0.0 < fraction <= 0.99:
        raise ValueError(f"fraction is {fraction}, must be above 0 and at most 0.99")
    middle, half = 0.5 * (limits.lower + limits.upper), 0.5 * fraction * (limits.upper - limits.lower)
    drawn = middle + half * np.random.default_rng(seed).uniform(-1.0, 1.0, (count, len(limits.axes)))
    farthest = fraction * np.minimum(
        limits.velocity * each_s / PEAK_VELOCITY, limits.acceleration * each_s**2 / PEAK_ACCELERATION
    )
    postures = drawn.copy()
    for k in range(1, count):
        postures[k] = postures[k - 1] + np.clip(drawn[k] - postures[k - 1], -farthest, farthest)
    return postures


def posture_motion(
    postures: NDArray[np.float64], *, each_s: float, rate_hz: float, axes: tuple[str, ...]
) -> SampledMotion:
    """Through postures (K, n) [rad] one after the other, at rest in each, `each_s` [s] from one to the next.

    q(t) = a + (b - a) s(t / T), s(u) = 10 u^3 - 15 u^4 + 6 u^5: the least jerk between two points at rest.
    """
    steps = max(1, round(each_s * rate_hz))
    T = steps / rate_hz
    count = (len(postures) - 1) * steps + 1

    def compute(numbers: NDArray[np.int64]) -> Trajectory:
        leg = np.minimum(numbers // steps, max(len(postures) - 2, 0))
        here, distance = postures[leg], postures[np.minimum(leg + 1, len(postures) - 1)] - postures[leg]
        u = ((numbers - leg * steps) / steps)[:, None]
        s = u**3 * (10.0 - 15.0 * u + 6.0 * u**2)
        ds = 30.0 * u**2 * (1.0 - u) ** 2 / T
        dds = 60.0 * u * (1.0 - u) * (1.0 - 2.0 * u) / T**2
        return Trajectory(axes, rate_hz, here + distance * s, distance * ds, distance * dds, int(numbers[0]))

    return SampledMotion(axes, rate_hz, count, compute)
