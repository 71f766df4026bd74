"""Angles that start anew after a whole turn, as 0 to 360 degrees: which do, and the turns counted on. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["TurnCounter", "starts_anew"]

Array = NDArray[np.float64]
NEARLY = 0.9  # of a turn: a jump from one end to the other
MOST = 1.01  # turns that lie between the ends


def starts_anew(values: Array, turn: float | Array) -> NDArray[np.bool_]:
    """Which columns (N, n) never leave one `turn`, of which they jump nearly all at once; shape (n,)."""
    finite = np.isfinite(values)
    high = np.where(finite, values, -np.inf).max(axis=0, initial=-np.inf)
    low = np.where(finite, values, np.inf).min(axis=0, initial=np.inf)
    rows = np.where(finite, np.arange(len(values))[:, None], 0)
    held = np.take_along_axis(values, np.maximum.accumulate(rows, axis=0), axis=0)
    jumps = np.nan_to_num(np.abs(np.diff(held, axis=0))).max(axis=0, initial=0.0)
    return np.asarray((jumps > NEARLY * turn) & (high - low <= MOST * turn))


class TurnCounter:
    """Lets columns go on where they jump by more than half a turn, piece after piece.

    turns   one turn in the unit of each column (n,); 0: it stays as it is
    """

    def __init__(self, turns: Array) -> None:
        self._turns = turns
        self._last = np.full(len(turns), np.nan)

    def __call__(self, values: Array) -> Array:
        """The next rows (N, n), with whole turns added; what is missing stays so."""
        out = np.array(values, dtype=np.float64)
        for k in np.flatnonzero(self._turns):
            good = np.isfinite(out[:, k])
            seen = out[good, k]
            if len(seen):
                start = self._last[k] if np.isfinite(self._last[k]) else seen[0]
                counted = np.unwrap(np.append(start, seen), period=float(self._turns[k]))
                out[good, k], self._last[k] = counted[1:], counted[-1]
        return out
