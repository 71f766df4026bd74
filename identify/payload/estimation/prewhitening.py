"""How much noise there really is: autocorrelated residuals carry less information than their number says.

The spectrum at frequency zero, where slow motion meets the noise, is estimated with Bartlett weights after an AR(1)
filter has taken the bulk of the correlation out (prewhitening; Andrews and Monahan 1992): a window alone, as in
`information.long_run`, underestimates it when the memory is long, and chunks of a load are few. The number of lags is
Newey and West's, 4 (T / 100)^(2/9).
"""

from __future__ import annotations

import numpy as np

from heft.identify.bodies.arrays import Array

__all__ = ["covariance_of_sum", "zero_frequency_variance"]

_LARGEST_ROOT = (
    0.97  # of the AR(1) filter, as in Andrews and Monahan: beyond it the recolouring would blow up
)


def _prewhitened(series: Array) -> tuple[Array, Array]:
    """AR(1) residuals (T - 1, k) of each column, and 1 - root (k,)."""
    before, after = series[:-1], series[1:]
    power = np.einsum("ti,ti->i", before, before)
    root = np.einsum("ti,ti->i", before, after) / np.where(power > 0, power, 1.0)
    root = np.clip(root, -_LARGEST_ROOT, _LARGEST_ROOT)
    return after - root * before, 1.0 - root


def _lags(count: int) -> int:
    return int(4 * (count / 100.0) ** (2.0 / 9.0))


def covariance_of_sum(scores: Array) -> Array:
    """Covariance of the sum of `scores` (T, k), a stationary series with mean zero; shape (k, k)."""
    count = len(scores)
    if count < 8:
        return scores.T @ scores
    white, recolour = _prewhitened(scores)
    total = white.T @ white
    lags = _lags(count)
    for lag in range(1, lags + 1):
        shifted = white[lag:].T @ white[:-lag]
        total += (1 - lag / (lags + 1)) * (shifted + shifted.T)
    return total * (count / (count - 1)) / np.outer(recolour, recolour)


def zero_frequency_variance(residuals: Array) -> Array:
    """Spectrum at frequency zero of each column of `residuals` (T, k), the mean removed; shape (k,).

    For white noise it is the variance; T times it is the variance of the sum.
    """
    count = len(residuals)
    centred = residuals - residuals.mean(axis=0)
    if count < 8:
        return np.einsum("ti,ti->i", centred, centred) / max(count - 1, 1)
    white, recolour = _prewhitened(centred)
    total = np.einsum("ti,ti->i", white, white)
    lags = _lags(count)
    for lag in range(1, lags + 1):
        total += 2 * (1 - lag / (lags + 1)) * np.einsum("ti,ti->i", white[lag:], white[:-lag])
    return np.maximum(total, 0.0) / (count - 1) / recolour**2
