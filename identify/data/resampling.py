"""A series at the instants of another one, without folding what is too fast for them."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline

from heft.identify.bodies.arrays import Array
from heft.identify.data.filters import low_pass

__all__ = ["at_instants"]

NEAR = 0.02  # of a step: stamps of two series this near are the same instants
MISSING = 4.0  # steps between two samples, beyond which nothing is known in between
FASTER = 1.33  # times as many samples as wanted: low-passed before they are thinned out
PASS, STOP = 0.3, 0.5  # of the wanted rate


def at_instants(t: Array, stamps: Array, values: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Values (M, k) taken at `stamps` (M,) at other instants t (N,): (N, k), and where they have neighbours in time."""
    step, wanted = float(np.median(np.diff(stamps))), float(np.median(np.diff(t)))
    place = np.clip(np.searchsorted(stamps, t), 1, len(stamps) - 1)
    before, after = t - stamps[place - 1], stamps[place] - t
    nearest = place - (before <= after)
    same = np.abs(stamps[nearest] - t) <= NEAR * step
    if same.mean() > 0.5:  # one device, one instant; what is missing is missing
        return values[nearest], same
    if wanted > FASTER * step:
        values = _smoothed(stamps, values, step, wanted)
    near = (before >= -NEAR * step) & (after >= -NEAR * step) & (before + after <= MISSING * step)
    interpolated: Array = make_interp_spline(stamps, values, k=3)(np.clip(t, stamps[0], stamps[-1]))
    return interpolated, near


def _smoothed(stamps: Array, values: Array, step: float, wanted: float) -> Array:
    """Low-passed to what a rate of 1 / `wanted` can carry; each stretch between gaps by itself."""
    taps = low_pass((PASS + STOP) / 2 / wanted, 1 / step, (STOP - PASS) / wanted, 60.0)
    smoothed = np.empty_like(values)
    edges = [0, *(np.flatnonzero(np.diff(stamps) > 1.5 * step) + 1).tolist(), len(stamps)]
    for low, high in itertools.pairwise(edges):
        weight = np.convolve(np.ones(high - low), taps)[len(taps) // 2 :][: high - low]
        for k in range(values.shape[1]):
            mean = values[low:high, k].mean()
            smooth = np.convolve(values[low:high, k] - mean, taps)[len(taps) // 2 :][: high - low]
            smoothed[low:high, k] = mean + smooth / weight
    return smoothed
