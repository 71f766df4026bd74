"""White noise of samples, from their fourth differences: what an arm does is slow against the sampling."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.compiled import compiled

__all__ = ["MOST_SAMPLES", "white_noise"]

MOST_SAMPLES = 50_000
UNEVEN = 0.2  # of a step: differences there show time, not noise


def white_noise(t: Array, values: NDArray[Any]) -> Array:
    """Standard deviation of white noise on the columns of `values` (T, k) at stamps t [s] (T,), shape (k,).

    Noise that is not white seems smaller. Of long data the beginning is looked at.
    """
    steps = np.diff(t[:MOST_SAMPLES])
    even = np.abs(steps / np.median(steps) - 1) <= UNEVEN
    beside = even[:-3] & even[1:-2] & even[2:-1] & even[3:]  # all four steps of a difference
    if not beside.any():
        beside[:] = True
    samples = np.ascontiguousarray(values[:MOST_SAMPLES], dtype=np.float64)
    squares = np.zeros(samples.shape[1])
    _fourth_differences(samples, beside, squares)
    std: Array = np.sqrt(squares / beside.sum() / 70.0)  # 70 = 1 + 16 + 36 + 16 + 1
    return std


@compiled()
def _fourth_differences(values: Array, used: NDArray[np.bool_], squares: Array) -> None:
    """Add the squares of the fourth differences of columns (T, k) to `squares` (k,), of those `used` (T - 4,)."""
    for i in range(len(used)):
        if used[i]:
            for j in range(values.shape[1]):
                outer = values[i, j] + values[i + 4, j]
                inner = values[i + 1, j] + values[i + 3, j]
                squares[j] += (outer - 4 * inner + 6 * values[i + 2, j]) ** 2
