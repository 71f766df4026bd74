"""Samples that repeat the one before: a signal that is read more often than it is measured (zero-order hold).

Between two measurements such a signal stands still and then jumps. Its derivatives are needles, and its spectrum has
images of the motion at every multiple of the true rate. What was measured are the samples at which it changes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["fresh_samples", "stale_rows"]

REGULAR = 0.8  # of the changes come within a sample of their median interval
PAUSE = 4  # times it: longer without a change is rest
ONE_QUANTUM = 0.9  # of the changes are one step of the encoder: coarse, not held
STALE = 4  # repeats in a row; more are rest
FEWEST = 16  # changes, without which nothing is said


def fresh_samples(values: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Which samples of a table (N, k) were measured, shape (N,); all of them where it is not held.

    Held is what changes, all columns together, every second sample or more seldom, and regularly while it changes.
    """
    everything = np.ones(len(values), dtype=bool)
    table = np.asarray(values)
    changed = np.concatenate([[True], (table[1:] != table[:-1]).any(axis=1)])
    places = np.flatnonzero(changed)
    if len(places) < FEWEST or len(places) > 0.6 * len(table):
        return everything
    intervals = np.diff(places)
    intervals = intervals[intervals <= PAUSE * np.median(intervals)]
    usual = float(np.median(intervals))
    if usual < 2 or np.mean(np.abs(intervals - usual) <= 1) < REGULAR:
        return everything
    jumps = np.abs(np.diff(table[places].astype(np.float64), axis=0))
    quanta = np.min(np.where(jumps > 0, jumps, np.inf), axis=0)
    if np.mean((jumps < 1.5 * quanta)[jumps > 0]) > ONE_QUANTUM:
        return everything
    resting = np.diff(np.append(places, len(table)))
    for place, length in zip(places[resting > PAUSE * usual], resting[resting > PAUSE * usual], strict=True):
        changed[place : place + length : max(1, round(usual))] = True  # at rest it is measured as often
    return changed


def stale_rows(tables: list[NDArray[np.floating]]) -> NDArray[np.bool_]:
    """Rows that repeat the one before in every column of every table, in between of change, shape (N,).

    A few in a row: a packet that did not come. Many are an arm at rest behind coarse sensors.
    """
    same = np.ones(len(tables[0]) - 1, dtype=bool)
    for table in tables:
        same &= (np.asarray(table)[1:] == np.asarray(table)[:-1]).all(axis=1)
    stale = np.concatenate([[False], same])
    if not stale.any() or stale.mean() > 0.5:
        return np.zeros_like(stale)
    edges = np.flatnonzero(np.diff(np.concatenate([stale, [False]]).astype(np.int8)))
    for start, end in zip(edges[::2] + 1, edges[1::2] + 1, strict=True):
        if end - start > STALE:
            stale[start:end] = False
    return stale
