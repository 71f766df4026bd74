"""Test of the model: residuals should be sensor noise through the filter, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.certainty.influence import Residuals
from heft.identify.data.measured_rows import row_noise
from heft.identify.data.white_noise import MOST_SAMPLES
from heft.identify.information.fit_data import FitData

__all__ = [
    "OutlierInterval",
    "UnmodelledResidual",
    "outlier_intervals",
    "torque_noise",
    "unmodelled_residuals",
]

LOUD = 1.5  # times the sensors' noise
ALIKE = 0.2  # autocorrelation beyond that of filtered white noise
CERTAIN = 5.0  # standard deviations of an autocorrelation by chance
SLOW = 0.1  # of a joint's top speed
SLOW_LOUD = 2.0  # times larger below it than above
WINDOW_S = 0.5
OUT = 4.0  # times the usual rms of a window
FEWEST = 6  # rows of a window


@dataclass(frozen=True)
class UnmodelledResidual:
    """A joint whose residual is not noise.

    loudness   rms of the residual over that of the sensor's noise through the filter
    alike      correlation of a residual with the next one, beyond what the filter makes of white noise
    slow       rms at low speed (below a tenth of the top speed) over rms at higher ones
    """

    joint: str
    loudness: float
    alike: float
    slow: float

    def __str__(self) -> str:
        text = f"{self.joint} (residual {self.loudness:.1f} times the sensor's noise, autocorrelation {self.alike:.2f}"
        return text + (f", {self.slow:.1f} times larger near standstill)" if self.slow > LOUD else ")")


@dataclass(frozen=True)
class OutlierInterval:
    """A time in which one joint's residual is far larger than usual: `ratio` times, from `start_s` to `end_s`."""

    joint: str
    start_s: float
    end_s: float
    ratio: float

    def __str__(self) -> str:
        return (
            f"{self.joint} from {self.start_s:.1f} to {self.end_s:.1f} s ({self.ratio:.0f} times the usual)"
        )


def torque_noise(fit_data: FitData) -> Array:
    """Standard deviation of white noise on torques and wrenches as they were measured [N m, N], shape (rows,)."""
    counts = [min(len(data), MOST_SAMPLES) for data in fit_data.datasets]
    squares = [row_noise(fit_data.robot, data) ** 2 for data in fit_data.datasets]
    return np.sqrt(np.average(squares, axis=0, weights=counts))


def unmodelled_residuals(fit_data: FitData, residuals: Residuals) -> tuple[UnmodelledResidual, ...]:
    """Joints whose residuals exceed their sensor's noise, and are autocorrelated or larger near standstill."""
    rate = 1 / fit_data.surveys[0].sampling.step_s
    taps, step = fit_data.processing.taps(rate), fit_data.processing.decimation(rate)
    whole = np.correlate(taps, taps, "full")
    middle = len(taps) - 1
    expected = float(whole[middle + step] / whole[middle]) if middle + step < len(whole) else 0.0
    floor = torque_noise(fit_data) * float(np.linalg.norm(taps))
    seen = []
    for j, joint in enumerate(fit_data.robot.rows):
        kept = residuals.kept[:, j]
        residual = residuals.residual[:, j]
        pairs = kept[1:] & kept[:-1]
        if pairs.sum() < 30:
            continue
        size = float((residual[kept] ** 2).mean())
        if size <= 0.0:
            continue
        alike = float((residual[1:] * residual[:-1])[pairs].mean()) / size - expected
        loud = float(np.sqrt(size) / floor[j]) if floor[j] > 0 else np.inf
        slow = _slow(residual[kept], residuals.velocity[kept, j])
        if loud > LOUD and (alike > max(ALIKE, CERTAIN / np.sqrt(pairs.sum())) or slow > SLOW_LOUD):
            seen.append(UnmodelledResidual(joint, loud, alike, slow))
    return tuple(seen)


def _slow(residual: Array, velocity: Array) -> float:
    if not np.isfinite(velocity).all():
        return 1.0
    slow = np.abs(velocity) < SLOW * np.abs(velocity).max()
    if slow.sum() < 10 or (~slow).sum() < 10:
        return 1.0
    return float(np.sqrt((residual[slow] ** 2).mean() / max(float((residual[~slow] ** 2).mean()), 1e-300)))


def outlier_intervals(joints: tuple[str, ...], residuals: Residuals) -> tuple[OutlierInterval, ...]:
    """Windows in which a joint's residual is far larger than in its others, joined where they touch."""
    seen = []
    number = ((residuals.time - residuals.time[0]) / WINDOW_S).astype(np.int64)
    edges = np.flatnonzero(np.diff(number, prepend=number[0] - 1))
    ends = np.append(edges[1:], len(number))
    for j, joint in enumerate(joints):
        weight = residuals.kept[:, j].astype(np.float64)
        count = np.add.reduceat(weight, edges)
        square = np.add.reduceat(weight * residuals.residual[:, j] ** 2, edges)
        rms = np.sqrt(np.divide(square, count, out=np.zeros_like(square), where=count >= FEWEST))
        usual = float(np.median(rms[rms > 0])) if (rms > 0).any() else 0.0
        out = rms > OUT * usual
        if usual > 0 and 0 < out.sum() <= 0.2 * len(out):
            seen += _joined(joint, out, rms / usual, residuals.time[edges], residuals.time[ends - 1])
    return tuple(seen)


def _joined(
    joint: str, out: NDArray[np.bool_], ratio: Array, starts: Array, ends: Array
) -> list[OutlierInterval]:
    turns = np.flatnonzero(np.diff(np.concatenate([[False], out, [False]]).astype(np.int8)))
    return [
        OutlierInterval(joint, float(starts[a]), float(ends[b - 1]), float(ratio[a:b].max()))
        for a, b in zip(turns[::2].tolist(), turns[1::2].tolist(), strict=True)
    ]
