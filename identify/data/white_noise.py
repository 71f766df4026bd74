"""White noise of samples, from their fourth differences: what an arm does is slow against the sampling."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array

__all__ = ["MOST_SAMPLES", "white_noise"]

MOST_SAMPLES = 50_000
UNEVEN = 0.2  # of a step: differences there show time, not noise


def white_noise(t: Array, values: NDArray[Any]) -> Array:
    """Standard deviation of white noise on the columns of `values` (T, k) at stamps t [s] (T,), shape (k,).

    Noise that is not white seems smaller. Of long data the beginning is looked at.
    """
    steps = np.diff(t[:MOST_SAMPLES])
    uneven = np.abs(steps / np.median(steps) - 1) > UNEVEN
    differences = np.diff(np.asarray(values[:MOST_SAMPLES], dtype=np.float64), 4, axis=0)
    if uneven.any():
        even = np.convolve(uneven, np.ones(4))[3:-3] == 0
        differences = differences[even] if even.any() else differences
    std: Array = np.sqrt((differences**2).mean(axis=0) / 70.0)  # 70 = 1 + 16 + 36 + 16 + 1
    return std
