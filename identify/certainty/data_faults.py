"""Faults of torque data that no model explains: values that are clipped, samples that repeat."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.certainty.reason import Reason, Severity
from heft.identify.data import Survey
from heft.identify.data.rows import within
from heft.identify.information.fit_data import FitData

__all__ = ["data_faults"]

CHUNK = 65536  # samples at a time: data may be on disk
FEWEST, SHARE = 20, 0.002  # samples at the very largest value, and of all, before they are called clipped
STEEP = 4.0  # times as many at the largest value as just below it; the peak of a sine has 2.4 times
BAND = 0.02  # of a joint's range of torque: just below
MOST_CLIPPED = 0.1  # of the samples
REPEATED = 0.25  # of the samples equal to the one before


def data_faults(data: FitData) -> list[Reason]:
    """Clipped and repeated torques of all datasets."""
    joints = data.robot.joints
    worst = np.zeros(len(joints))
    values = np.zeros(len(joints))
    repeated = 0.0
    for one in data.surveys:
        share, at = _clipped(one)
        values = np.where(share > worst, at, values)
        worst = np.maximum(worst, share)
        repeated = max(repeated, _repeated(one))
    reasons = []
    if worst.any():
        j = int(np.argmax(worst))
        others = int((worst > 0).sum()) - 1
        more = f" (and {others} more joints)" if others else ""
        text = (
            f"the torque of {joints[j]} stands at its largest value, {values[j]:.4g}, in {100 * worst[j]:.2g} % of the "
            f"samples{more}, none should: clipped by the drive or the sensor's range; move slower or widen the range"
        )
        severity: Severity = "unfit" if worst[j] > MOST_CLIPPED else "care"
        reasons.append(Reason("clipped", severity, text, 350.0 + float(worst[j])))
    if repeated > REPEATED:
        text = (
            f"{100 * repeated:.0f} % of the samples repeat the one before in every column, at most "
            f"{100 * REPEATED:.0f} % are usual: values were held between slower measurements; give each once, with its "
            "own time"
        )
        reasons.append(Reason("repeated", "care", text, 100.0))
    return reasons


def _chunks(one: Survey) -> Iterator[tuple[Array, Array]]:
    """Torques (B, n), NaN where a joint rests, and positions (B, n); each chunk begins with the last sample before."""
    data = one.data
    for start in range(0, len(data), CHUNK):
        part = slice(max(0, start - 1), start + CHUNK)
        tau = np.array(data.tau[part], dtype=np.float64)
        resting = np.stack([within(data.t[part], rest, 0.0) for rest in one.rest], axis=1)
        yield np.where(resting, np.nan, tau), np.asarray(data.q[part], dtype=np.float64)


def _clipped(one: Survey) -> tuple[Array, Array]:
    """Share of the samples at the largest or smallest torque of each joint, zero where it is not clipped, and it."""
    n = one.data.joints
    top, bottom, quantum = np.full(n, -np.inf), np.full(n, np.inf), np.full(n, np.inf)
    for tau, _ in _chunks(one):
        top, bottom = np.fmax(top, np.fmax.reduce(tau)), np.fmin(bottom, np.fmin.reduce(tau))
        steps = np.abs(np.diff(tau, axis=0))
        quantum = np.fmin(quantum, np.fmin.reduce(np.where(steps > 0, steps, np.inf)))
    size = top - bottom
    share, at = np.zeros(n), np.zeros(n)
    moving = np.isfinite(size) & (size > 0)
    if not moving.any():
        return share, at
    band = np.maximum(BAND * size, 1.5 * np.where(np.isfinite(quantum), quantum, 0.0))
    count = np.zeros((2, n))
    near = np.zeros((2, n))
    for tau, _ in _chunks(one):
        for k, gap in enumerate((top - tau, tau - bottom)):
            count[k] += (gap <= 1e-9 * size).sum(axis=0)
            near[k] += ((gap > 1e-9 * size) & (gap <= band)).sum(axis=0)
    for k, end in enumerate((top, bottom)):
        found = moving & (count[k] >= max(FEWEST, SHARE * len(one.data))) & (count[k] > STEEP * near[k])
        more = found & (count[k] / len(one.data) > share)
        share, at = np.where(more, count[k] / len(one.data), share), np.where(more, end, at)
    return share, at


def _repeated(one: Survey) -> float:
    """Share of the samples in motion whose positions and torques are those of the sample before."""
    same = moving = 0
    for tau, q in _chunks(one):
        rows = np.isfinite(tau[1:]).any(axis=1)
        steps = np.nan_to_num(np.diff(tau, axis=0))
        same += int((rows & ~steps.any(axis=1) & ~np.diff(q, axis=0).any(axis=1)).sum())
        moving += int(rows.sum())
    return same / moving if moving else 0.0
