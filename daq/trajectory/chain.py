"""Chains of minimum-jerk moves from pose to pose (the protocols of 001 and 004), with a rest at each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heft.daq.trajectory.limits import Limits
from heft.daq.trajectory.minimum_jerk import limited_move
from heft.daq.trajectory.trajectory import Trajectory

__all__ = ["chain_motion"]


def chain_motion(
    poses: NDArray[np.float64], limits: Limits, *, fraction: float, rest_s: float, rate_hz: float
) -> Trajectory:
    """From pose to pose (K, n) [rad] within a fraction of velocity and acceleration limits; `rest_s` [s] at each."""
    rest = round(rest_s * rate_hz)
    parts: list[Trajectory] = []
    for number, pose in enumerate(poses):
        if number:
            move = limited_move(poses[number - 1], pose, limits, fraction=fraction, rate_hz=rate_hz)
            parts.append(move.window(1, len(move)) if len(move) > 1 else move.window(0, 1))
        else:
            parts.append(_standing(limits, rate_hz, pose, 1))
        if rest:
            parts.append(_standing(limits, rate_hz, pose, rest))
    return Trajectory(
        limits.axes,
        rate_hz,
        np.concatenate([part.position for part in parts]),
        np.concatenate([part.velocity for part in parts]),
        np.concatenate([part.acceleration for part in parts]),
    )


def _standing(limits: Limits, rate_hz: float, pose: NDArray[np.float64], count: int) -> Trajectory:
    still = np.zeros((count, len(pose)))
    return Trajectory(limits.axes, rate_hz, np.tile(pose, (count, 1)), still, still)
