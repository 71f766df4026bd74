"""Slower along the same path: how a motion comes to rest on it, and goes on from there.

With x(t) the place in the motion [samples] and s = dx/dt its speed (1: as planned), joint velocity is q'(x) s and
acceleration q''(x) s^2 + q'(x) ds/dt. Speed goes from 1 to 0, or back, by 10 u^3 - 15 u^4 + 6 u^5 in an even number of
samples: so a motion that goes on meets its own samples again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heft.daq.errors import CheckError
from heft.daq.trajectory.checks import limit_checks, run_checks
from heft.daq.trajectory.limits import Limits
from heft.daq.trajectory.trajectory import Motion, Trajectory

__all__ = ["going_on", "slowing_down"]

#: How much of the motion [s] is passed on the way: the shortest within the limits is taken.
_WAYS_S = np.geomspace(0.1, 20.0, 28)

Array = NDArray[np.float64]


def slowing_down(motion: Motion, at: int, limits: Limits) -> tuple[Trajectory, int] | None:
    """The samples after sample `at` on the shortest way to rest, and the sample where that is.

    None where no way is within the limits, or where the motion ends before: then it is played on.
    """
    here = motion.window(at, at + 1)
    for way in _ways(motion):
        if at + way >= len(motion):
            return None
        ramp = _ramp(motion, at, way, falling=True)
        if _allowed(here.joined([ramp]), limits):
            return ramp, at + way
    return None


def going_on(motion: Motion, at: int, limits: Limits) -> tuple[Trajectory, int]:
    """From rest at sample `at`: the samples of the shortest way to full speed, and the sample that they end with.

    CheckError where no way is within the limits.
    """
    left = len(motion) - 1 - at
    if left == 0:
        return motion.window(at, at + 1), at
    for way in [w for w in _ways(motion) if w < left] + [left]:
        ramp = _ramp(motion, at, way, falling=False)
        if _allowed(ramp, limits):
            return ramp, at + way
    raise CheckError(
        f"from {at / motion.rate_hz:.3f} s on the motion cannot go on from rest within the limits; begin it anew"
    )


def _ways(motion: Motion) -> list[int]:
    """Samples of the motion that are passed."""
    return [max(1, round(way * motion.rate_hz)) for way in _WAYS_S]


def _ramp(motion: Motion, at: int, way: int, *, falling: bool) -> Trajectory:
    count = 2 * way
    u = np.arange(1 if falling else 0, count + 1) / count
    rise = u**3 * (10.0 - 15.0 * u + 6.0 * u**2)
    area = u**4 * (2.5 - 3.0 * u + u**2)  # its integral, 1/2 in all
    slope = 30.0 * u**2 * (1.0 - u) ** 2 * (motion.rate_hz / count)
    x, s, ds = (at + count * (u - area), 1.0 - rise, -slope) if falling else (at + count * area, rise, slope)
    position, velocity, acceleration = _between_samples(motion, x)
    s, ds = s[:, None], ds[:, None]
    return Trajectory(
        motion.axes, motion.rate_hz, position, velocity * s, acceleration * s**2 + velocity * ds, at
    )


def _between_samples(motion: Motion, x: Array) -> tuple[Array, Array, Array]:
    """Position, velocity and acceleration at places x [samples], by the quintic through both neighbours' states."""
    first, last = int(np.floor(x[0])), min(int(np.floor(x[-1])) + 2, len(motion))
    near = motion.window(first, last)
    left = np.clip(np.floor(x).astype(np.intp) - first, 0, max(len(near) - 2, 0))
    right = np.minimum(left + 1, len(near) - 1)
    f = (x - first - left)[:, None]
    h = 1.0 / motion.rate_hz
    v0, v1 = h * near.velocity[left], h * near.velocity[right]
    a0, a1 = h**2 * near.acceleration[left], h**2 * near.acceleration[right]
    way = near.position[right] - near.position[left]
    c3 = 10.0 * way - 6.0 * v0 - 4.0 * v1 - 1.5 * a0 + 0.5 * a1
    c4 = -15.0 * way + 8.0 * v0 + 7.0 * v1 + 1.5 * a0 - a1
    c5 = 6.0 * way - 3.0 * (v0 + v1) - 0.5 * (a0 - a1)
    position = near.position[left] + f * (v0 + f * (0.5 * a0 + f * (c3 + f * (c4 + f * c5))))
    velocity = v0 + f * (a0 + f * (3.0 * c3 + f * (4.0 * c4 + f * 5.0 * c5)))
    acceleration = a0 + f * (6.0 * c3 + f * (12.0 * c4 + f * 20.0 * c5))
    return position, velocity / h, acceleration / h**2


def _allowed(motion: Motion, limits: Limits) -> bool:
    try:
        run_checks(motion, limit_checks(limits))
    except CheckError:
        return False
    return True
