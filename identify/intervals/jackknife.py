"""How far estimates move when a part of the data is left out: variance without a model of the residuals.

With M windows of the rows, A = sum of A_w and scores s_w at the optimum, leaving window w out moves least squares by

    theta_(-w) - theta = -(A - A_w)^-1 s_w,      variance = (M - 1)/M sum over w of the squares of these

exactly, leverage and all. Few windows make it rough, so it is asked only where residuals are known not to be noise.
"""

from __future__ import annotations

import numpy as np

from identify.arrays import Array
from identify.intervals.windows import Windows

__all__ = ["WINDOWS", "jackknife"]

WINDOWS = 10


def jackknife(windows: Windows) -> Array:
    """Variances of the base parameters and of the delay, shape (n_base + 1,)."""
    count = len(windows.scores)
    moved = np.array([windows.moved(1.0 - np.eye(count)[w]) for w in range(count)])
    return (count - 1) / count * (moved**2).sum(axis=0)
