"""Rows whose stamps do not increase: brought into order where they lie near their place, left out where not."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.errors import DataError

__all__ = ["rows_in_order"]

NEAR = 16  # steps that a row may be from its place
SHUFFLED = 0.5  # of the rows in order: with fewer there is no order that others could be out of
RESTART = 16  # rows in a row, in order among themselves, but not with the others: another recording


def rows_in_order(t: Array) -> tuple[NDArray[np.int64], dict[str, int]]:
    """Numbers of the rows to use, so that their stamps t [s] (N,) increase; and how many are left out, by reason.

    `DataError` where time starts anew: two recordings in one array would be mixed.
    """
    if np.all(np.diff(t) > 0):
        return np.arange(len(t)), {}
    main = _longest_increasing(t)
    inside = np.zeros(len(t), dtype=bool)
    inside[main] = True
    strays = np.flatnonzero(~inside)
    _check_restart(t, strays)
    near = np.ones(len(strays), dtype=bool)
    if len(main) > SHUFFLED * len(t):  # else rows in no order at all, each with its own stamp
        step = float(np.median(np.diff(t[main])))
        before = np.clip(np.searchsorted(main, strays) - 1, 0, len(main) - 1)
        near = np.abs(t[strays] - t[main[before]]) <= NEAR * step
    rows = np.sort(np.concatenate([main, strays[near]]))
    order = rows[np.argsort(t[rows], kind="stable")]
    first = np.concatenate([[True], np.diff(t[order]) > 0])
    return order[first], {"repeated": int((~first).sum()), "far out of order": int((~near).sum())}


def _longest_increasing(t: Array) -> NDArray[np.int64]:
    """Numbers of the longest sequence of rows whose stamps increase."""
    ends: list[float] = []
    at: list[int] = []
    previous = np.full(len(t), -1, dtype=np.int64)
    for i, stamp in enumerate(t.tolist()):
        place = bisect_left(ends, stamp)
        if place == len(ends):
            ends.append(stamp)
            at.append(i)
        else:
            ends[place], at[place] = stamp, i
        previous[i] = at[place - 1] if place else -1
    chain, i = [], at[-1]
    while i >= 0:
        chain.append(i)
        i = int(previous[i])
    return np.array(chain[::-1], dtype=np.int64)


def _check_restart(t: Array, strays: NDArray[np.int64]) -> None:
    """`DataError` where many rows in a row are in order among themselves, but not with the others."""
    follows = (np.diff(strays) == 1) & (np.diff(t[strays]) > 0)
    edges = np.flatnonzero(np.concatenate([[True], ~follows, [True]]))
    lengths = np.diff(edges)
    if not len(lengths) or lengths.max() < RESTART:
        return
    start = int(strays[edges[int(np.argmax(lengths))]])
    if start == 0:
        start = int(strays[edges[int(np.argmax(lengths)) + 1] - 1]) + 1
    raise DataError(
        f"time starts anew: t[{start}] = {float(t[start])!r} s follows {float(t[start - 1])!r} s, and {lengths.max()} "
        "rows go on from there; give each recording as a dataset of its own"
    )
