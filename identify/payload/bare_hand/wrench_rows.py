"""Rows of the wrench equations (004, Eq. 8), through the same filters as the joints' rows.

Six equations per instant: wrench = A(q, q', q'') phi + bias + drift t, with phi the ten numbers of what the sensor
carries, in the sensor's frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.signal import upfirdn

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.wrench import ENTRIES, wrench_signals
from heft.identify.data import Processing, Survey
from heft.identify.data.filters import central
from heft.identify.payload.kinematics.wrist_motion import frame_motion
from heft.identify.robot import Robot

__all__ = ["WrenchRows", "sensor_signals", "wrench_rows"]

CHUNK = 256  # rows that are made at a time


@dataclass(frozen=True)
class WrenchRows:
    """K instants: time [s] (K,), A filtered (K, 6, 10), wrench and its first two derivatives (K, 6, 3)."""

    time: Array
    regressor: Array
    wrench: Array

    @classmethod
    def joined(cls, parts: list[WrenchRows]) -> WrenchRows:
        """One after the other."""
        return cls(
            np.concatenate([part.time for part in parts]),
            np.concatenate([part.regressor for part in parts]),
            np.concatenate([part.wrench for part in parts]),
        )


def wrench_rows(
    robot: Robot, processing: Processing, survey: Survey, lag_s: float = 0.0
) -> Iterator[WrenchRows]:
    """Rows of one dataset with wrenches, block by block; those that touch an unknown wrench are left out.

    Wrenches are taken from as many whole samples later as fit into `lag_s`.
    """
    data, step = survey.data, survey.sampling.step_s
    assert data.wrench is not None
    taps, decimation = processing.taps(1 / step), processing.decimation(1 / step)
    motion, smooth = processing.differentiator(1 / step), central(taps, step)
    half = smooth.half
    lag = round(lag_s / step)
    reach = half + motion.half + abs(lag)
    for piece in survey.sampling.pieces:
        first, last = -(-reach // decimation), (piece.count - 1 - reach) // decimation
        for start in range(first, last + 1, CHUNK):
            stop = min(start + CHUNK, last + 1)
            low, high = start * decimation - half, (stop - 1) * decimation + half + 1
            position, velocity, acceleration = data.kinematics(piece, step, low, high, motion)
            count = stop - start
            signals = sensor_signals(robot, position, velocity, acceleration)
            rows = _decimated(signals, smooth.value, decimation, count) @ ENTRIES
            wrench = data.wrist_wrench(piece, step, low + lag, high + lag).T
            kernels = (smooth.value, smooth.first, smooth.second)
            stacked = np.stack([_decimated(wrench, kernel, decimation, count) for kernel in kernels], axis=2)
            time = piece.start_s + step * decimation * np.arange(start, stop, dtype=np.float64)
            good = np.isfinite(stacked).all(axis=(1, 2))
            for a, b in survey.gaps:
                good &= (time < a - 0.5 / processing.cutoff_hz) | (time > b + 0.5 / processing.cutoff_hz)
            yield WrenchRows(time[good], rows.reshape(count, 6, 10)[good], stacked[good])


def sensor_signals(robot: Robot, q: Array, dq: Array, ddq: Array) -> Array:
    """The twelve signals of the wrench equation at the robot's `sensor` frame, at joint motions (n, T): (T, 12)."""
    w, dw, a = frame_motion(robot, "sensor", q, dq, ddq)
    return wrench_signals(a, w, dw)


def _decimated(values: Array, taps: Array, decimation: int, count: int) -> Array:
    """out[k] = sum_i taps[i] values[k decimation + i], shape (count, columns)."""
    spread = len(taps) - 1
    pad = -spread % decimation
    padded = np.concatenate([np.zeros((pad, values.shape[1])), values])
    filtered: Array = upfirdn(taps[::-1], padded, 1, decimation, axis=0)
    first = (spread + pad) // decimation
    return filtered[first : first + count]
