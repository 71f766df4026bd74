"""Long-run variance: what autocorrelation leaves of a mean's certainty."""

from __future__ import annotations

import numpy as np
import pytest

from heft.identify.payload.estimation.prewhitening import covariance_of_sum, zero_frequency_variance


def coloured(rng: np.random.Generator, count: int, root: float) -> np.ndarray:
    """AR(1) noise with unit variance, two columns."""
    series = np.sqrt(1 - root**2) * rng.standard_normal((count, 2))
    for k in range(1, count):
        series[k] += root * series[k - 1]
    return series


@pytest.mark.parametrize("root", [-0.5, 0.0, 0.5, 0.9])
def test_of_first_order_noise(root: float) -> None:
    rng = np.random.default_rng(0)
    observed = np.mean([zero_frequency_variance(coloured(rng, 4000, root)) for _ in range(10)])
    assert observed == pytest.approx((1 + root) / (1 - root), rel=0.15)


def test_covariance_of_a_sum() -> None:
    rng = np.random.default_rng(1)
    mixing = np.array([[1.0, 0.0], [0.8, 0.6]])
    sums = np.array([(coloured(rng, 400, 0.6) @ mixing.T).sum(axis=0) for _ in range(600)])
    estimated = np.mean([covariance_of_sum(coloured(rng, 400, 0.6) @ mixing.T) for _ in range(60)], axis=0)
    np.testing.assert_allclose(estimated, np.cov(sums.T), rtol=0.25)


def test_few_samples_are_taken_as_they_are() -> None:
    scores = np.array([[1.0, 2.0], [3.0, -1.0]])
    np.testing.assert_allclose(covariance_of_sum(scores), scores.T @ scores)
    assert zero_frequency_variance(np.array([[1.0], [3.0]]))[0] == pytest.approx(2.0)
    assert zero_frequency_variance(np.zeros((50, 3))).tolist() == [0.0, 0.0, 0.0]
