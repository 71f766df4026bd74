"""Drawn series: inside the limits with their blends, as far as they allow, and the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heft.daq.trajectory import FourierSeries, Limits, fourier, limit_checks, random_fourier, run_checks


def some_limits(seed: int, n: int = 4) -> Limits:
    rng = np.random.default_rng(seed)
    lower = rng.uniform(-3.0, 0.0, n)
    return Limits(
        axes=tuple(f"joint{k + 1}" for k in range(n)),
        lower=lower,
        upper=lower + rng.uniform(0.5, 5.0, n),
        velocity=rng.uniform(0.5, 3.0, n),
        acceleration=rng.uniform(0.5, 10.0, n),
    )


@settings(deadline=None, derandomize=True, max_examples=40)
@given(seed=st.integers(0, 2**31), harmonics=st.integers(1, 8), period_s=st.floats(5.0, 30.0))
def test_a_drawn_series_passes_the_checks_and_uses_the_room(
    seed: int, harmonics: int, period_s: float
) -> None:
    limits = some_limits(seed)
    series = random_fourier(limits, period_s=period_s, harmonics=harmonics, seed=seed, fraction=0.9)
    played = fourier(series, seconds=period_s, blend_s=2.0, rate_hz=200.0, axes=limits.axes)
    run_checks(played, limit_checks(limits))
    dense = series.at(np.linspace(0.0, period_s, 2000))
    use = np.max(
        [
            np.ptp(dense[0], axis=0) / (limits.upper - limits.lower),
            np.abs(dense[1]).max(axis=0) / limits.velocity,
            (np.abs(dense[2]).max(axis=0) + 15 / 16 * np.abs(dense[1]).max(axis=0)) / limits.acceleration,
        ],
        axis=0,
    )
    np.testing.assert_allclose(use, 0.9, rtol=2e-3)


def coefficients(series: FourierSeries) -> np.ndarray:
    return np.column_stack([series.a, series.b, series.q0])


def test_one_seed_one_series() -> None:
    limits = some_limits(1)
    first, again, other = (
        coefficients(random_fourier(limits, period_s=20.0, harmonics=5, seed=s)) for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert np.max(np.abs(first - other)) > 0.05
    with pytest.raises(ValueError, match=r"fraction is 1\.5"):
        random_fourier(limits, period_s=20.0, harmonics=5, seed=1, fraction=1.5)
