"""Long-run variance: of a sum whose terms are correlated with their neighbours.

    var(sum x_t) = sum over lags l of k(l / L) sum_t x_t x_(t+l),   k(u) = 1 - |u|

(Newey and West 1987), with the lag L by Andrews' rule for terms that follow each other with correlation rho (1991):
L = 1.1447 (4 rho^2 T / (1 - rho^2)^2)^(1/3). Negative correlation, which would narrow intervals, counts as none.
"""

from __future__ import annotations

import numpy as np

from heft.identify.bodies.arrays import Array

__all__ = ["autocorrelation", "long_run_variance"]

MOST_LAG = 0.2  # of the data


def long_run_variance(terms: Array) -> tuple[Array, int]:
    """Variances of the sums of the columns of `terms` (T, k), shape (k,), and the lag L that was used."""
    count = len(terms)
    squares = (terms**2).sum(axis=0)
    rho = np.clip(autocorrelation(terms, 1), 0.0, 0.97)
    # The estimate of rho itself has a standard deviation of 1 / sqrt(T).
    seen = np.sqrt(np.maximum(rho**2 - 1 / count, 0.0))
    typical = float(np.quantile(seen, 0.75)) if len(seen) else 0.0
    lag = int(min(1.1447 * (4 * typical**2 * count / (1 - typical**2) ** 2) ** (1 / 3), MOST_LAG * count))
    total = squares.copy()
    for k in range(1, lag + 1):
        total += 2 * (1 - k / (lag + 1)) * (terms[:-k] * terms[k:]).sum(axis=0)
    return np.maximum(total, squares) / (1 - lag / count), lag


def autocorrelation(terms: Array, lag: int) -> Array:
    """Correlation of each column of (T, k) with itself `lag` later, shape (k,); 0 for columns of zeros."""
    squares = (terms**2).sum(axis=0)
    together = (terms[:-lag] * terms[lag:]).sum(axis=0)
    return np.divide(together, squares, out=np.zeros_like(squares), where=squares > 0)
