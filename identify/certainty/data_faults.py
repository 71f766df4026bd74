"""Faults of torque data that no model explains: values that never change, or are clipped; samples that repeat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.compiled import compiled
from heft.identify.certainty.reason import CAUSE, Reason, Severity
from heft.identify.data import Survey
from heft.identify.data.rows import within
from heft.identify.information.fit_data import FitData

__all__ = ["data_faults"]

CHUNK = 65536  # samples at a time: data may be on disk
FEWEST, SHARE = 20, 0.002  # samples at the very largest value, and of all, before they are called clipped
STEEP = 4.0  # times as many at the largest value as just below it; the peak of a sine has 2.4 times
AT_END = 1e-9  # of that range: rounding
BAND = 0.02  # of a joint's range of torque: just below
MOST_CLIPPED = 0.1  # of the samples
REPEATED = 0.25  # of the samples equal to the one before


def data_faults(data: FitData) -> list[Reason]:
    """Constant, clipped and repeated torques of all datasets."""
    joints = data.robot.joints
    worst = np.zeros(len(joints))
    values = np.zeros(len(joints))
    repeated = 0.0
    top, bottom = np.full(len(joints), -np.inf), np.full(len(joints), np.inf)
    for one in data.surveys:
        look = _Look.of(one)
        top, bottom = np.maximum(top, look.top), np.minimum(bottom, look.bottom)
        share, at = look.clipped(one)
        values = np.where(share > worst, at, values)
        worst = np.maximum(worst, share)
        repeated = max(repeated, look.repeated)
    reasons = []
    measured = data.robot.measured_rows[: len(joints)]
    moves = measured & np.any([~one.still for one in data.surveys if one.data.has_torque], axis=0)
    worst *= measured
    dead = [joints[j] for j in np.flatnonzero((top == bottom) & moves).tolist()]
    if dead:
        text = (
            f"the torque of {', '.join(dead)} never changes while it moves: nothing measures it, or it is another "
            "column; give its torque, or leave it out (`unmeasured`)"
        )
        reasons.append(Reason("constant-torque", "unfit", text, 3 * CAUSE, where=tuple(dead)))
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


@dataclass(frozen=True)
class _Look:
    """A first look at torques in motion: each joint's largest, smallest, finest step (n,); repeated samples.

    Finest steps are those of all samples, at rest too.
    """

    top: Array
    bottom: Array
    quantum: Array
    repeated: float

    @classmethod
    def of(cls, one: Survey) -> _Look:
        n, same, moving = one.data.joints, 0, 0
        top, bottom, quantum = np.full(n, -np.inf), np.full(n, np.inf), np.full(n, np.inf)
        for tau, rest, q in _chunks(one):
            counts = _extremes(tau, rest, q, top, bottom, quantum)
            same, moving = same + counts[0], moving + counts[1]
        return cls(top, bottom, quantum, same / moving if moving else 0.0)

    def clipped(self, one: Survey) -> tuple[Array, Array]:
        """Share of the samples at each joint's largest or smallest torque, zero where it is not clipped; and it."""
        n, size = one.data.joints, self.top - self.bottom
        band = np.maximum(BAND * size, 1.5 * np.where(np.isfinite(self.quantum), self.quantum, 0.0))
        at_end, near = np.zeros((2, n)), np.zeros((2, n))
        for tau, rest, _ in _chunks(one):
            _count_ends(tau, rest, self.top, self.bottom, band, at_end, near)
        found = (at_end >= max(FEWEST, SHARE * len(one.data))) & (at_end > STEEP * (near - at_end))
        share = np.where(found, at_end / len(one.data), 0.0)
        return share.max(axis=0), np.where(share[0] >= share[1], self.top, self.bottom)


def _chunks(one: Survey) -> Iterator[tuple[Array, NDArray[np.bool_], Array]]:
    """Torques, where a joint rests, and positions, (B, n) each; each chunk begins with the last sample before."""
    data = one.data
    for start in range(0, len(data), CHUNK):
        part = slice(max(0, start - 1), start + CHUNK)
        resting = np.stack([within(data.t[part], rest, 0.0) for rest in one.rest], axis=1)
        yield (
            np.ascontiguousarray(data.tau[part], dtype=np.float64),
            resting,
            np.ascontiguousarray(data.q[part], dtype=np.float64),
        )


@compiled()
def _extremes(
    tau: Array, rest: NDArray[np.bool_], q: Array, top: Array, bottom: Array, quantum: Array
) -> tuple[int, int]:
    """Take a chunk into top, bottom and quantum (n,): samples in motion that repeat the one before, and all of them."""
    same, moving = 0, 0
    for i in range(tau.shape[0]):
        repeats, moves = i > 0, False
        for j in range(tau.shape[1]):
            if not rest[i, j]:
                moves = True
                top[j] = max(top[j], tau[i, j])
                bottom[j] = min(bottom[j], tau[i, j])
            if i > 0:
                step = abs(tau[i, j] - tau[i - 1, j])
                if step > 0:
                    quantum[j] = min(quantum[j], step)
                repeats = repeats and step == 0 and q[i, j] == q[i - 1, j]
        if i > 0 and moves:
            moving += 1
            same += repeats
    return same, moving


@compiled()
def _count_ends(
    tau: Array,
    rest: NDArray[np.bool_],
    top: Array,
    bottom: Array,
    band: Array,
    at_end: Array,
    near: Array,
) -> None:
    """Add to (2, n) how many samples in motion are at a joint's largest or smallest torque, and within `band` of it."""
    for i in range(tau.shape[0]):
        for j in range(tau.shape[1]):
            size = top[j] - bottom[j]
            if rest[i, j] or not 0 < size < np.inf:
                continue
            for k, gap in enumerate((top[j] - tau[i, j], tau[i, j] - bottom[j])):
                if gap <= band[j]:
                    near[k, j] += 1
                    at_end[k, j] += gap <= AT_END * size
