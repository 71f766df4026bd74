"""A short motion of the wrist that tells what hangs on it: it turns about all its axes and ends where it began."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heft.daq.trajectory.limits import Limits
from heft.daq.trajectory.trajectory import Trajectory

__all__ = ["wrist_excitation"]

#: Frequencies of the last joints [Hz], from the outermost inwards: no two alike, so that no axis hides another.
FREQUENCIES_HZ = ((0.53, 1.27), (0.41, 1.07), (0.67, 0.89))
SWELL_S = 0.8
WIDEST = 0.6  # [rad]


def wrist_excitation(
    limits: Limits, here: ArrayLike, *, rate_hz: float, seconds: float = 5.0, vigour: float = 0.4
) -> Trajectory:
    """Sines of the last three joints about `here` [rad] (n,), that swell and fade.

    `vigour` is the part of each joint's velocity and acceleration limits that is used; a joint near the end of its
    range moves less, and all of them where a stop would carry one out of it.
    """
    start = np.asarray(here, dtype=np.float64)
    t = np.arange(round(seconds * rate_hz) + 1) / rate_hz
    position = np.tile(start, (len(t), 1))
    velocity, acceleration = np.zeros_like(position), np.zeros_like(position)
    for back, pair in enumerate(FREQUENCIES_HZ[: len(start)], start=1):
        joint = len(start) - back
        p, v, a = _swelling(t, pair, seconds)
        room = min(start[joint] - limits.lower[joint], limits.upper[joint] - start[joint])
        size = min(
            WIDEST / np.abs(p).max(),
            max(0.9 * room, 0.0) / np.abs(p).max(),
            vigour * limits.velocity[joint] / np.abs(v).max(),
            vigour * limits.acceleration[joint] / np.abs(a).max(),
        )
        position[:, joint] += size * p
        velocity[:, joint], acceleration[:, joint] = size * v, size * a
    share = _share_that_stops(limits, start, position, velocity)
    return Trajectory(
        limits.axes, rate_hz, start + share * (position - start), share * velocity, share * acceleration
    )


def _share_that_stops(
    limits: Limits, start: NDArray[np.float64], position: NDArray[np.float64], velocity: NDArray[np.float64]
) -> float:
    """How much of a motion about `start` leaves room for a stop from every sample; 0 where nothing does."""
    for share in np.linspace(1.0, 0.0, 21):
        end = limits.at_rest_from(start + share * (position - start), share * velocity)
        if np.all((end <= limits.upper) & (end >= limits.lower)):
            return float(share)
    return 0.0


def _swelling(
    t: NDArray[np.float64], pair: tuple[float, float], seconds: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """A sum of two sines times a window, with its first and second derivative."""
    w = 2 * np.pi * np.array(pair)
    phase = t[:, None] * w
    f, df, ddf = (
        (np.sin(phase) @ [1.0, 0.5]),
        (np.cos(phase) * w) @ [1.0, 0.5],
        -(np.sin(phase) * w**2) @ [1.0, 0.5],
    )
    u = np.clip(np.minimum(t, seconds - t) / SWELL_S, 0.0, 1.0)
    way = np.where(t < seconds / 2, 1.0, -1.0) / SWELL_S
    s = u**4 * (35 - 84 * u + 70 * u**2 - 20 * u**3)
    ds = way * 140 * u**3 * (1 - u) ** 3
    dds = way**2 * 420 * u**2 * (1 - u) ** 2 * (1 - 2 * u)
    return f * s, df * s + f * ds, ddf * s + 2 * df * ds + f * dds
