"""A few hundred instants of the motion, with which other explanations of the same data are tried."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.data import Survey
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
    kept         False where a joint stood still, or its torque is not measured, shape (K, n)
    measured     velocities were measured
    told         rows of a joint that are independent of each other: two per second and hertz of the low-pass
    """

    q: Array
    dq: Array
    ddq: Array
    slope: Array
    tau: Array
    kept: NDArray[np.bool_]
    measured: bool
    told: float = np.inf

    @classmethod
    def of(cls, data: FitData, share: float = 1.0) -> MotionSample:
        """From the data of a fit, evenly over all of them; torques of known loads are taken off.

        share   of the fit's cut-off, at most 1: a lower one may leave no rows of short data
        """
        cutoff_hz = share * data.processing.cutoff_hz
        data = replace(data, processing=replace(data.processing, cutoff_hz=cutoff_hz))
        delays = [data.delays_s[data.delay_group(i)] for i in range(len(data.surveys))]
        ends = [extents(one, data.processing, late) for one, late in zip(data.surveys, delays, strict=True)]
        stride = max(1, sum(last - first + 1 for pieces in ends for first, last in pieces) // MOST)
        parts = [
            _sampled(data, one, late, pieces, stride)
            for one, late, pieces in zip(data.surveys, delays, ends, strict=True)
        ]
        q, dq, ddq, slope, tau = (
            np.concatenate(column) for column in zip(*(a for a, _ in parts), strict=True)
        )
        kept = np.concatenate([rows for _, rows in parts])
        seconds = sum(
            (last - first + 1) * one.sampling.step_s * data.processing.decimation(1 / one.sampling.step_s)
            for one, pieces in zip(data.surveys, ends, strict=True)
            for first, last in pieces
        )
        measured = any(one.dq is not None for one in data.datasets)
        return cls(q, dq, ddq, slope, tau, kept, measured, 2 * cutoff_hz * seconds)


def _sampled(
    data: FitData, one: Survey, delay_s: float, ends: list[tuple[int, int]], stride: int
) -> tuple[tuple[Array, ...], NDArray[np.bool_]]:
    """q, dq, ddq, slope and tau at every `stride`-th row of one dataset, each (K, n), and what is kept (K, n)."""
    step = one.sampling.step_s
    smooth = central(data.processing.taps(1 / step), step)
    decimation, lag = data.processing.decimation(1 / step), round(delay_s / step)
    columns: list[tuple[Array, ...]] = []
    times: list[Array] = []
    for piece, (first, last) in zip(one.sampling.pieces, ends, strict=True):
        rows = range(first, last + 1, stride)
        times.append(piece.start_s + step * decimation * np.array(rows, dtype=np.float64))
        for at in (decimation * row for row in rows):
            motion = one.data.kinematics(piece, step, at, at + 1, smooth)
            position, speed, bend = (values[:, 0] for values in motion)
            q, _ = one.data.motion(piece, step, at - smooth.half, at + smooth.half + 1)
            tau = one.data.torque(piece, step, at + lag - smooth.half, at + lag + smooth.half + 1)
            slope, moves = q @ smooth.first, ~one.still
            columns.append((position, speed * moves, bend * moves, slope * moves, tau @ smooth.value))
    time = np.concatenate(times)
    resting = [within(time, rest, 0.5 / data.processing.cutoff_hz) for rest in one.rest]
    shape = (len(time), one.data.joints)
    q, dq, ddq, slope, tau = (np.array([row[k] for row in columns]).reshape(shape) for k in range(5))
    if one.data.load is not None:
        tau = tau - data.robot.torque(q, dq, ddq, one.data.load.parameters(data.robot))
    measured = data.robot.measured_rows[: one.data.joints]
    return (q, dq, ddq, slope, tau), ~np.stack(resting, axis=1) & measured
