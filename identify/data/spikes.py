"""Spikes: up to three samples in a row that leave the signal and come back, as corrupt words and lost bits do.

A sample is judged by the median of the seven around it, which follows slopes and steps (friction that turns over)
exactly, against what samples three before and after usually leave of the line between them: noise, and the signal's own
bend. It must jump there and back, each in a single step. Usual is the mean of the lower four fifths, of all data and of
some 250 samples around, whichever is larger.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array

__all__ = ["spikes"]

REACH = 3  # samples on each side
SPIKE = 18.0  # times the usual: 12 standard deviations of white noise
OWN = 0.3  # of what a sample is off the line is its own, not that of the line's ends
JUMP = 0.5  # of its height in one step, both ways, and less between before and after
MOST = 0.02  # of the samples: more are no spikes, but how this signal is
BLOCK = 256  # samples that have a level of their own
LOWER = 0.8  # of the samples, which spikes do not reach: each of them is in three differences
BESIDE = 1.5  # steps: across a gap, motion alone leaves the line
FEWEST = 32  # samples


def spikes(t: Array, values: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Samples at stamps t [s] (N,) with a spike in any column of `values` (N, k), shape (N,)."""
    found = np.zeros(len(t), dtype=bool)
    if len(t) < FEWEST:
        return found
    steps = np.diff(t)
    wide = np.concatenate([[0], np.cumsum(steps > BESIDE * np.median(steps))])
    together = wide[2 * REACH :] == wide[: -2 * REACH]  # no gap among the seven
    for column in np.asarray(values).T:
        x = np.ascontiguousarray(column, dtype=np.float64)
        off = np.abs(x[REACH:-REACH] - 0.5 * (x[: -2 * REACH] + x[2 * REACH :]))
        usual = np.maximum(_usual(off), _quantum(x))
        far = off > SPIKE * usual
        if not far.any():
            continue
        at = np.flatnonzero(far & together)
        around = x[at[:, None] + np.arange(2 * REACH + 1)]
        away = x[at + REACH] - np.median(around, axis=1)
        spiked = (np.abs(away) > np.maximum(SPIKE * usual[at], OWN * off[at])) & _abrupt(around, away)
        if spiked.sum() <= MOST * len(x):
            found[at[spiked] + REACH] = True
    return found


def _abrupt(around: Array, away: Array) -> NDArray[np.bool_]:
    """Where the middle of seven samples (M, 7) jumped `away` (M,) from the others and back, (M,).

    A signal's own peak bends, and what a drive does about a shock decays: neither jumps both ways.
    """
    height = around / np.where(away == 0, 1.0, away)[:, None]
    steps = np.diff(height, axis=1)
    jumped = np.zeros(len(around), dtype=bool)
    for first in range(1, REACH + 1):
        for last in range(REACH, REACH + first):  # three samples at most, the middle one of them
            back = np.abs(height[:, last + 1] - height[:, first - 1]) < JUMP
            jumped |= (steps[:, first - 1] > JUMP) & (steps[:, last] < -JUMP) & back
    return jumped


def _usual(off: Array) -> Array:
    """The usual deviation at each sample (M,): of its block and the two beside it, or of all, the larger, (M,)."""
    size = min(BLOCK, len(off))
    levels = _lower_mean(off[: len(off) // size * size].reshape(-1, size))
    padded = np.pad(levels, 1, mode="edge")
    local = np.maximum(np.maximum(padded[:-2], padded[2:]), levels)
    usual: Array = np.maximum(np.repeat(local, size), _lower_mean(off[None])[0])
    return np.pad(usual, (0, len(off) - len(usual)), mode="edge")


def _quantum(x: Array) -> float:
    """The least step of a signal (N,), 0 where it has none: toggling between two numbers is no spike."""
    steps = np.abs(np.diff(x))
    return float(np.min(steps, initial=np.inf, where=steps > 0)) if steps.any() else 0.0


def _lower_mean(values: Array) -> Array:
    """Mean of the lower four fifths of every row of (R, M), shape (R,)."""
    kept = max(1, int(LOWER * values.shape[1]))
    mean: Array = np.partition(values, kept - 1, axis=1)[:, :kept].mean(axis=1)
    return mean
