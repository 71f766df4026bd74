"""When samples were taken: evenly, with jitter, with gaps; and the even grid they are brought to."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.compiled import compiled
from heft.identify.errors import DataError

__all__ = ["Piece", "Sampling", "interpolate"]

EVEN = 0.02  # of a step: stamps this near to an even grid are that grid
SHORTEST = 8  # samples of a piece


@dataclass(frozen=True)
class Piece:
    """A stretch without a gap: samples first .. last - 1, and its grid of `count` samples from `start_s` on."""

    first: int
    last: int
    start_s: float
    count: int
    even: bool


@dataclass(frozen=True)
class Sampling:
    """Pieces between gaps, on grids of one step.

    step_s     of the grid: the median interval [s]
    jitter_s   rms deviation of the intervals from it, gaps aside [s]
    longest_s  longest interval within a piece [s]
    lost_s     time in the gaps between pieces [s]
    """

    step_s: float
    pieces: tuple[Piece, ...]
    jitter_s: float
    longest_s: float
    lost_s: float

    @property
    def even(self) -> bool:
        """True when no sample is interpolated."""
        return all(piece.even for piece in self.pieces)

    @classmethod
    def of(cls, t: Array, gap_s: float) -> Sampling:
        """From increasing stamps [s]; intervals longer than `gap_s`, and than four steps, are gaps."""
        intervals = np.diff(t)
        step = float(np.median(intervals))
        gap = max(gap_s, 4 * step)
        breaks = np.flatnonzero(intervals > gap)
        lost = float(intervals[breaks].sum())
        edges = [0, *(breaks + 1).tolist(), len(t)]
        ranges = [(a, b) for a, b in itertools.pairwise(edges) if b - a >= SHORTEST]
        if not ranges:
            raise DataError(
                f"{len(breaks)} gaps in {len(t)} samples leave no {SHORTEST} samples together (intervals of "
                f"{step:.3g} s, gaps above {gap:.3g} s); record without losses, or correct the stamps"
            )
        longest = max(ranges, key=lambda ends: ends[1] - ends[0])
        if _even(t[slice(*longest)], step):
            step = float((t[longest[1] - 1] - t[longest[0]]) / (longest[1] - longest[0] - 1))
        pieces = []
        for a, b in ranges:
            even = _even(t[a:b], step)
            count = b - a if even else int((t[b - 1] - t[a]) / step + 1e-6) + 1
            pieces.append(Piece(a, b, float(t[a]), count, even))
        if len(breaks):
            intervals = intervals[intervals <= gap]
        spread = float(np.sqrt(np.mean((intervals - step) ** 2)))
        return cls(step, tuple(pieces), spread, float(intervals.max()), lost)


def _even(t: Array, step: float) -> bool:
    """Are these stamps an even grid of that step?"""
    return bool(np.abs(t - (t[0] + step * np.arange(len(t)))).max() <= EVEN * step)


@compiled()
def interpolate(t: Array, values: Array, start: float, step: float, out: Array) -> None:
    """Values (M, n) at stamps t (M,) on the grid start + step k: out (n, K). Cubic, through the nearest four."""
    last, i = len(t) - 4, 0
    for k in range(out.shape[1]):
        x = start + step * k
        while i < last and t[i + 2] <= x:
            i += 1
        a, b, c, d = x - t[i], x - t[i + 1], x - t[i + 2], x - t[i + 3]
        ab, ac, ad = t[i] - t[i + 1], t[i] - t[i + 2], t[i] - t[i + 3]
        bc, bd, cd = t[i + 1] - t[i + 2], t[i + 1] - t[i + 3], t[i + 2] - t[i + 3]
        w0, w1 = b * c * d / (ab * ac * ad), -a * c * d / (ab * bc * bd)
        w2, w3 = a * b * d / (ac * bc * cd), -a * b * c / (ad * bd * cd)
        for j in range(out.shape[0]):
            out[j, k] = (
                w0 * values[i, j] + w1 * values[i + 1, j] + w2 * values[i + 2, j] + w3 * values[i + 3, j]
            )


def read_late(read: Callable[[int, int], Array], piece: Piece, start: int, stop: int, late: float) -> Array:
    """What `read` has of samples start .. stop - 1 of a piece's grid, `late` samples later: (k, stop - start).

    Between samples by the cubic through four; what is not known is zero, and beyond its ends it stays as it is there.
    """
    whole = int(np.floor(late))
    share = late - whole
    low, high = max(start + whole - 1, 0), min(stop + whole + 2, piece.count)
    around = np.nan_to_num(read(low, high), nan=0.0)
    around = np.pad(around, ((0, 0), (low - (start + whole - 1), stop + whole + 2 - high)), mode="edge")
    if share == 0.0:
        return around[:, 1:-2]
    f = share
    weights = (
        -f * (f - 1) * (f - 2) / 6,
        (f + 1) * (f - 1) * (f - 2) / 2,
        -(f + 1) * f * (f - 2) / 2,
        (f + 1) * f * (f - 1) / 6,
    )
    count = stop - start
    return np.asarray(sum(w * around[:, k : k + count] for k, w in enumerate(weights)))
