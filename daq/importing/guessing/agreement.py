"""Whether one signal is the derivative of another, and in which proportion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heft.daq.importing.table import ABSURD

__all__ = ["Agreement", "agreement", "integrates"]

#: Steps that increments are taken over: long enough to stand out of quantisation, short enough for a motion.
STEPS = 16
FEWEST = 32  # increments
GOOD = 0.9  # squared correlation of what belongs together
MOST_ROWS = 1 << 15


@dataclass(frozen=True)
class Agreement:
    """Of n joints: increments of the one = slope * integral of the other; squared correlation. NaN: nothing moved."""

    slope: NDArray[np.float64]
    squared: NDArray[np.float64]

    @property
    def share(self) -> float:
        """Of the joints that moved, those that agree, in sign too: a sine is minus its own second derivative."""
        moved = np.isfinite(self.squared)
        return float(np.mean((self.squared > GOOD)[moved] & (self.slope > 0)[moved])) if moved.any() else 0.0

    @property
    def ratio(self) -> float:
        """The usual slope of those that agree; NaN without any."""
        good = np.isfinite(self.squared) & (self.squared > GOOD)
        return float(np.median(self.slope[good])) if good.any() else float("nan")


def agreement(t: NDArray[np.float64], position: NDArray[np.float64], rate: NDArray[np.float64]) -> Agreement:
    """How `rate` (N, n), integrated over t (N,), compares with increments of `position` (N, n)."""
    t, position, rate = t[:MOST_ROWS], position[:MOST_ROWS], rate[:MOST_ROWS]
    n = position.shape[1]
    slope, squared = np.full(n, np.nan), np.full(n, np.nan)
    dt = np.diff(t)
    usual = float(np.median(dt)) if len(dt) else 0.0
    if not usual > 0:
        return Agreement(slope, squared)
    dt = np.where((dt > 0) & (dt < 10 * usual), dt, 0.0)
    for k in range(n):
        both = (np.abs(position[:, k]) < ABSURD) & (np.abs(rate[:, k]) < ABSURD)
        p, v = np.where(both, position[:, k], 0.0), np.where(both, rate[:, k], 0.0)
        integral = np.concatenate([[0.0], np.cumsum(0.5 * (v[1:] + v[:-1]) * dt)])
        a, b = p[STEPS:] - p[:-STEPS], integral[STEPS:] - integral[:-STEPS]
        if len(a) < FEWEST:
            continue
        aa, bb, ab = float(a @ a), float(b @ b), float(a @ b)
        if aa > 1e-18 and bb > 1e-18:
            slope[k], squared[k] = ab / aa, ab * ab / (aa * bb)
    return Agreement(slope, squared)


def integrates(found: Agreement) -> bool:
    """Whether most joints that moved agree."""
    return found.share > 0.5
