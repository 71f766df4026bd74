"""A few hundred instants of the motion, with which other explanations of the same data are tried."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.data.filters import central
from heft.identify.data.rows import extents, within
from heft.identify.information.fit_data import FitData

__all__ = ["MotionSample"]

MOST = 300  # instants: each joint counts for a hundred


@dataclass(frozen=True, eq=False)
class MotionSample:
    """Motion and torque at K instants, through one low-pass: noise of accelerations must not speak for itself.

    q, dq, ddq   [rad, m and per s, s2], shape (K, n); dq and ddq from measured velocities where there are any
    slope        derivative of q, whatever was measured, shape (K, n)
    tau          [N m, N], shape (K, n)
    kept         False where a joint stood still, shape (K, n)
    measured     velocities were measured
    """

    q: Array
    dq: Array
    ddq: Array
    slope: Array
    tau: Array
    kept: NDArray[np.bool_]
    measured: bool

    @classmethod
    def of(cls, data: FitData) -> MotionSample:
        """From the data of a fit, evenly over all of them."""
        delays = [data.delay_s for _ in data.surveys]
        ends = [
            extents(*one) for one in zip(data.surveys, [data.processing] * len(delays), delays, strict=True)
        ]
        total = sum(max(0, last - first + 1) for pieces in ends for first, last in pieces)
        stride, count = max(1, total // MOST), 0
        parts: list[tuple[Array, ...]] = []
        kept: list[NDArray[np.bool_]] = []
        for one, delay_s, pieces in zip(data.surveys, delays, ends, strict=True):
            step = one.sampling.step_s
            smooth = central(data.processing.taps(1 / step), step)
            decimation, lag = data.processing.decimation(1 / step), round(delay_s / step)
            for piece, (first, last) in zip(one.sampling.pieces, pieces, strict=True):
                rows = range(first + (-count) % stride, last + 1, stride)
                count += max(0, last - first + 1)
                for at in (decimation * row for row in rows):
                    q, dq = one.data.motion(piece, step, at - smooth.half, at + smooth.half + 1)
                    tau = one.data.torque(piece, step, at + lag - smooth.half, at + lag + smooth.half + 1)
                    slope = q @ smooth.first
                    speed = slope if dq is None else dq @ smooth.value
                    bend = q @ smooth.second if dq is None else dq @ smooth.first
                    parts.append((q @ smooth.value, speed, bend, slope, tau @ smooth.value))
                time = piece.start_s + step * decimation * np.array(rows, dtype=np.float64)
                resting = [within(time, rest, 0.5 / data.processing.cutoff_hz) for rest in one.rest]
                kept.append(~np.stack(resting, axis=1))
        q, dq, ddq, slope, tau = (np.array(column) for column in zip(*parts, strict=True))
        measured = any(one.dq is not None for one in data.datasets)
        return cls(q, dq, ddq, slope, tau, np.concatenate(kept), measured)
