"""Periodic motion: all periods averaged to one, positions as a Fourier series, derivatives from the series."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.fft import irfft, rfft

from heft.identify.bodies.arrays import Array
from heft.identify.data.dataset import Dataset
from heft.identify.data.filters import central
from heft.identify.data.processing import Processing
from heft.identify.data.row_block import RowBlock
from heft.identify.data.sampling import Piece
from heft.identify.data.survey import Survey
from heft.identify.errors import DataError

if TYPE_CHECKING:
    from heft.identify.robot import Robot

__all__ = ["periodic_rows"]

REPEATS = 0.01  # of a joint's range: how well periods must agree


def periodic_rows(
    robot: Robot, data: Dataset, processing: Processing, surveyed: Survey, delay_s: float = 0.0
) -> RowBlock:
    """Rows of one mean period, weighted as all the periods that went into it.

    Positions keep the harmonics up to twice the cut-off. The low-pass goes round the period, so nothing is lost
    at its ends.
    """
    assert processing.period_s is not None
    period, step = processing.period_s, surveyed.sampling.step_s
    piece = max(surveyed.sampling.pieces, key=lambda piece: piece.count)
    first, last = processing.trim_s
    usable = (piece.count - 1) * step - first - last
    periods = int(usable / period + 1e-6)
    if periods < 1:
        raise DataError(
            f"too short: {usable:.3g} s of data for a period of {period:g} s; record whole periods"
        )
    decimation = processing.decimation(1 / step)
    samples, decimation, even = _grid(period, step, decimation, piece)
    skip = round(first / step) if even else 0
    part = Piece(
        piece.first + skip, piece.last, piece.start_s + (skip * step if even else first), piece.count, even
    )
    q, tau = _mean_period(robot, data, part, period, samples, periods, motors=False)
    lag = round(delay_s * samples / period)
    tau = np.roll(tau, -lag, axis=1)
    position, velocity, acceleration = _series(q, period, 2 * processing.cutoff_hz)
    if data.motor is not None:
        motor, _ = _mean_period(robot, data, part, period, samples, periods, motors=True)
        _, velocity, acceleration = _series(motor, period, 2 * processing.cutoff_hz)
    surveyed.held(position, velocity, acceleration)
    taps = processing.taps(samples / period)
    torque = central(taps, period / samples)
    half = len(taps) // 2
    around = [np.pad(a, ((0, 0), (half, half)), mode="wrap") for a in (position, velocity, acceleration, tau)]
    rows = np.zeros((samples // decimation, robot.regressor.layout.width))
    robot.regressor.decimate(around[0], around[1], around[2], around[3], taps, decimation, 0, rows)
    time = part.start_s + period / samples * decimation * np.arange(len(rows), dtype=np.float64)
    around_period = np.pad(tau, ((0, 0), (torque.half, torque.half)), mode="wrap")
    block = RowBlock(
        robot.regressor.layout,
        np.arange(len(rows)),
        time,
        np.sqrt(periods) * rows,
        np.tile(robot.measured_rows, (len(rows), 1)),
        np.sqrt(periods) * torque.rates(around_period, decimation),
    )
    return block.aligned(delay_s - lag * period / samples)


def _grid(period: float, step: float, decimation: int, piece: Piece) -> tuple[int, int, bool]:
    """Samples per period, samples per row (a divisor of it), and whether the data's own samples can be used."""
    exact = period / step
    samples = round(exact)
    if piece.even and abs(exact - samples) < 1e-6 * exact:
        return samples, max(d for d in range(1, decimation + 1) if samples % d == 0), True
    return decimation * max(1, round(exact / decimation)), decimation, False


def _mean_period(
    robot: Robot, data: Dataset, piece: Piece, period: float, samples: int, periods: int, *, motors: bool
) -> tuple[Array, Array]:
    """Mean positions (of the links or of the motors) and torques over the periods, (n, samples) each."""
    q, tau = np.zeros((data.joints, samples)), np.zeros((data.joints, samples))
    squares = np.zeros(data.joints)
    start = None
    for number in range(periods):
        part = (piece, period / samples, number * samples, (number + 1) * samples)
        turned = data.turning(*part) if motors else None
        position, torque = data.motion(*part)[0] if turned is None else turned, data.torque(*part)
        start = position[:, :1] if start is None else start
        q += (position - start) / periods
        tau += torque / periods
        squares += ((position - start) ** 2).sum(axis=1) / periods
    spread = np.sqrt(np.maximum(squares - (q**2).sum(axis=1), 0.0) / samples)
    reach = np.ptp(q, axis=1)
    for j in np.flatnonzero(spread > REPEATS * np.maximum(reach, 1e-3)):
        raise DataError(
            f"{robot.joints[j]} does not repeat after {period:g} s: periods differ by {spread[j]:.2g} rad (rms), "
            f"its range is {reach[j]:.2g} rad; correct period_s, leave the approach out (trim_s), or use central"
        )
    assert start is not None
    return q + start, tau


def _series(q: Array, period: float, highest_hz: float) -> tuple[Array, Array, Array]:
    """Positions (n, P) of one period without what is above `highest_hz`, and their derivatives."""
    samples = q.shape[1]
    spectrum = rfft(q, axis=1)
    frequency = np.arange(spectrum.shape[1]) / period
    spectrum[:, frequency > min(highest_hz, 0.49 * samples / period)] = 0.0
    turn = 2j * np.pi * frequency
    value, first, second = (irfft(spectrum * turn**k, samples, axis=1) for k in range(3))
    return value, first, second
