"""Does what the model leaves unexplained look like noise?

Rows come at twice the cut-off, where white noise is white: residuals that follow each other are a sign of something
that the model lacks. Beyond +-1.96 / sqrt(N) a correlation is more than chance (at 5 % of the lags).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array

__all__ = ["Autocorrelation", "autocorrelation"]

LAGS = 40
STRONG = 0.25  # correlation of neighbours that is worth a word
OUTSIDE = 0.2  # share of the lags beyond the bound that is worth a word


@dataclass(frozen=True, eq=False)
class Autocorrelation:
    """Correlation of a residual with itself, lag 1 on, shape (L,); lags are `step_s` apart [s]."""

    step_s: float
    values: Array
    bound: float

    @property
    def outside(self) -> float:
        """Share of the lags beyond the bound."""
        return float(np.mean(np.abs(self.values) > self.bound)) if len(self.values) else 0.0

    @property
    def like_noise(self) -> bool:
        """No correlation that a reader should know of."""
        return len(self.values) == 0 or (abs(self.values[0]) < STRONG and self.outside < OUTSIDE)


def autocorrelation(
    time: Array, residual: Array, used: NDArray[np.bool_], lags: int = LAGS
) -> Autocorrelation:
    """Of one joint's residual (K,) where it is used; pairs across gaps in time do not count."""
    if len(time) < 3:
        return Autocorrelation(0.0, np.zeros(0), 1.0)
    step = float(np.median(np.diff(time)))
    place = np.round((time - time[0]) / step).astype(np.int64)
    count = int(min(lags, max(used.sum() // 4, 0)))
    line = np.full(place[-1] + 1, np.nan)
    line[place[used]] = residual[used] - (residual[used].mean() if used.any() else 0.0)
    power = np.nanmean(line**2) if used.any() else 0.0
    values = np.zeros(count)
    for lag in range(1, count + 1):
        products = line[lag:] * line[:-lag]
        known = np.isfinite(products)
        values[lag - 1] = products[known].sum() / known.sum() / power if power > 0 and known.any() else 0.0
    return Autocorrelation(step, values, 1.96 / np.sqrt(max(used.sum(), 1)))
