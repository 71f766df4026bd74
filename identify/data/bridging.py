"""Short gaps bridged, by a polynomial through what is around them; longer ones stay gaps.

A gap much shorter than the motion's own time is bridged well: the polynomial is fitted to many samples on both sides,
so that noise of the last ones does not swing it. Rows whose filter has its weight in a long bridge are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array

__all__ = ["MISSING", "Interval", "bridge_gaps"]

Interval = tuple[float, float]

MISSING = 3.5  # steps: shorter intervals are interpolated with the grid
DEGREE = 5
AROUND = (16, 60)  # samples on each side: at least, at most


def bridge_gaps(
    t: Array, tables: Mapping[str, NDArray[Any]], longest_s: float
) -> tuple[Array, dict[str, Array], tuple[Interval, ...]]:
    """Fill the gaps up to `longest_s` in samples at t [s] (T,): stamps, tables (T', k) by name, and where [s].

    With no such gap the stamps are `t` itself, and there are no tables.
    """
    steps = np.diff(t)
    step = float(np.median(steps))
    gaps = np.flatnonzero((steps > MISSING * step) & (steps <= longest_s))
    times: list[Array] = []
    filled: dict[str, list[Array]] = {name: [] for name in tables}
    places, spans = [], []
    for i in gaps.tolist():
        missing = t[i] + step * np.arange(1, round(steps[i] / step))
        side = int(np.clip(2 * len(missing), *AROUND))
        low, high = max(0, i + 1 - side), min(len(t), i + 1 + side)
        near = np.r_[low:high]
        near = near[np.abs(t[near] - t[i]) <= (2 * side + 1) * step + steps[i]]
        if len(near) < 2 * DEGREE:
            continue
        middle, width = t[i] + steps[i] / 2, max(float(np.ptp(t[near])) / 2, step)
        powers = np.vander((t[near] - middle) / width, DEGREE + 1)
        at = np.vander((missing - middle) / width, DEGREE + 1)
        places.append(np.full(len(missing), i + 1))
        spans.append((float(t[i]), float(t[i + 1])))
        times.append(missing)
        for name, table in tables.items():
            coefficients, *_ = np.linalg.lstsq(powers, np.asarray(table[near], dtype=np.float64), rcond=None)
            filled[name].append(at @ coefficients)
    if not places:
        return t, {}, ()
    where = np.concatenate(places)
    whole = {
        name: np.insert(np.asarray(table, dtype=np.float64), where, np.concatenate(filled[name]), axis=0)
        for name, table in tables.items()
    }
    return np.insert(np.asarray(t, dtype=np.float64), where, np.concatenate(times)), whole, tuple(spans)
