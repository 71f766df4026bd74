"""Variance of sums of terms that resemble their neighbours."""

import numpy as np
import pytest

from heft.identify.information.long_run import autocorrelation, long_run_variance


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8])
def test_as_wide_as_sums_really_scatter(rho: float) -> None:
    rng = np.random.default_rng(0)
    terms = np.empty((4000, 60))
    terms[0] = rng.standard_normal(60) / np.sqrt(1 - rho**2)
    for k in range(1, len(terms)):
        terms[k] = rho * terms[k - 1] + rng.standard_normal(60)
    variance, lag = long_run_variance(terms)
    assert np.median(variance) == pytest.approx(len(terms) / (1 - rho) ** 2, rel=0.2)
    assert (lag == 0) == (rho == 0.0)


def test_negative_correlation_narrows_nothing() -> None:
    terms = np.tile([[1.0], [-1.0]], (100, 1))
    variance, _ = long_run_variance(terms)
    assert variance[0] >= 200.0
    assert autocorrelation(terms, 1)[0] < 0


def test_nothing() -> None:
    variance, _ = long_run_variance(np.zeros((50, 2)))
    assert variance.tolist() == [0.0, 0.0]
