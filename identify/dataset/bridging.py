"""Short gaps bridged, by a polynomial through what is around them; longer ones stay gaps.

A gap much shorter than the motion's own time is bridged well: the polynomial is fitted to many samples on both sides,
so that noise of the last ones does not swing it. Rows whose filter has its weight in a long bridge are left out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from identify.arrays import Array
from identify.dataset.dataset import Dataset

__all__ = ["bridged"]

MISSING = 3.5  # steps: shorter intervals are interpolated with the grid
DEGREE = 5
AROUND = (16, 60)  # samples on each side: at least, at most


def bridged(data: Dataset, longest_s: float) -> tuple[Dataset, tuple[tuple[float, float], ...]]:
    """The data with gaps up to `longest_s` filled, and where [s]; the same object if there is none."""
    steps = np.diff(data.t)
    step = float(np.median(steps))
    gaps = np.flatnonzero((steps > MISSING * step) & (steps <= longest_s))
    if not len(gaps):
        return data, ()
    names = [name for name in ("q", "tau", "dq", "wrench") if getattr(data, name) is not None]
    parts: dict[str, list[Array]] = {name: [] for name in ["t", *names]}
    places, spans = [], []
    for i in gaps.tolist():
        times = data.t[i] + step * np.arange(1, round(steps[i] / step))
        side = int(np.clip(2 * len(times), *AROUND))
        low, high = max(0, i + 1 - side), min(len(data.t), i + 1 + side)
        near = np.r_[low:high]
        near = near[np.abs(data.t[near] - data.t[i]) <= (2 * side + 1) * step + steps[i]]
        if len(near) < 2 * DEGREE:
            continue
        middle, width = data.t[i] + steps[i] / 2, max(float(np.ptp(data.t[near])) / 2, step)
        powers = np.vander((data.t[near] - middle) / width, DEGREE + 1)
        at = np.vander((times - middle) / width, DEGREE + 1)
        places.append(np.full(len(times), i + 1))
        spans.append((float(data.t[i]), float(data.t[i + 1])))
        parts["t"].append(times)
        for name in names:
            found, *_ = np.linalg.lstsq(
                powers, np.asarray(getattr(data, name)[near], dtype=np.float64), rcond=None
            )
            parts[name].append(at @ found)
    if not places:
        return data, ()
    where = np.concatenate(places)
    filled: dict[str, Any] = {
        name: np.insert(
            np.asarray(getattr(data, name), dtype=np.float64), where, np.concatenate(parts[name]), axis=0
        )
        for name in parts
    }
    return replace(data, **filled), tuple(spans)
