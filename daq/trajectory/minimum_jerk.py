"""From one point to another at rest, with the least jerk."""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heft.daq.trajectory.limits import Limits
from heft.daq.trajectory.sampled_motion import SampledMotion
from heft.daq.trajectory.trajectory import Trajectory

__all__ = ["limited_move", "minimum_jerk", "minimum_jerk_motion"]

#: Largest velocity and acceleration of s(u) = 10 u^3 - 15 u^4 + 6 u^5 on 0 <= u <= 1.
PEAK_VELOCITY = 15.0 / 8.0
PEAK_ACCELERATION = 10.0 / sqrt(3.0)


def minimum_jerk(
    begin: ArrayLike,
    end: ArrayLike,
    *,
    velocity: ArrayLike,
    acceleration: ArrayLike,
    rate_hz: float,
    axes: tuple[str, ...],
) -> Trajectory:
    """`minimum_jerk_motion` with all its samples in memory."""
    motion = minimum_jerk_motion(
        begin, end, velocity=velocity, acceleration=acceleration, rate_hz=rate_hz, axes=axes
    )
    return motion.window(0, len(motion))


def minimum_jerk_motion(
    begin: ArrayLike,
    end: ArrayLike,
    *,
    velocity: ArrayLike,
    acceleration: ArrayLike,
    rate_hz: float,
    axes: tuple[str, ...],
) -> SampledMotion:
    """The shortest minimum-jerk motion from `begin` to `end` [rad] within both bounds, all axes together.

    q(t) = begin + (end - begin) s(t / T), s(u) = 10 u^3 - 15 u^4 + 6 u^5: the polynomial that minimises the
    integral of squared jerk between two points at rest without acceleration. All axes share T, which is the
    shortest whole number of samples with

        15/8 |end - begin| / T <= velocity [rad/s]
        10/sqrt(3) |end - begin| / T^2 <= acceleration [rad/s2]

    Every argument has one value per axis, shape (n,). Where begin equals end the result is a single sample.
    """
    here, there = _vector("begin", begin, axes), _vector("end", end, axes)
    bounds = {
        label: _vector(label, value, axes)
        for label, value in (("velocity", velocity), ("acceleration", acceleration))
    }
    for label, bound in bounds.items():
        if np.any(bound <= 0.0):
            k = int(np.argmax(bound <= 0.0))
            raise ValueError(f"{label} bound of {axes[k]} is {bound[k]}, must be positive")
    distance = there - here
    shortest_s = max(
        float(np.max(PEAK_VELOCITY * np.abs(distance) / bounds["velocity"])),
        float(np.max(np.sqrt(PEAK_ACCELERATION * np.abs(distance) / bounds["acceleration"]))),
    )
    steps = ceil(shortest_s * rate_hz)
    T = max(steps, 1) / rate_hz

    def compute(numbers: NDArray[np.int64]) -> Trajectory:
        u = (numbers / max(steps, 1))[:, None]
        s = u**3 * (10.0 - 15.0 * u + 6.0 * u**2)
        ds = 30.0 * u**2 * (1.0 - u) ** 2
        dds = 60.0 * u * (1.0 - u) * (1.0 - 2.0 * u)
        position = here + distance * s
        position[numbers == steps] = there  # without rounding, so that what follows begins exactly here
        return Trajectory(axes, rate_hz, position, distance * ds / T, distance * dds / T**2, int(numbers[0]))

    return SampledMotion(axes, rate_hz, steps + 1, compute)


def limited_move(
    begin: ArrayLike, end: ArrayLike, limits: Limits, *, fraction: float, rate_hz: float
) -> SampledMotion:
    """`minimum_jerk_motion` within a fraction of the joints' velocity and acceleration limits."""
    return minimum_jerk_motion(
        begin,
        end,
        velocity=fraction * limits.velocity,
        acceleration=fraction * limits.acceleration,
        rate_hz=rate_hz,
        axes=limits.axes,
    )


def _vector(
    label: str, value: ArrayLike, axes: tuple[str, ...]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    array = np.asarray(value, dtype=np.float64)
    if array.shape != (len(axes),):
        raise ValueError(f"{label} has shape {array.shape}, must have one value for each of {len(axes)} axes")
    return array
