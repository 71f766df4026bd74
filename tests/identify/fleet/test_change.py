"""Steps and trends: found where they are, not found where there is none, with scatter told honestly."""

from __future__ import annotations

import numpy as np
import pytest

from heft.identify.fleet.change import FEWEST, find_changes, noise_of, thresholds

QUANTITIES = 40
LEAST = thresholds(QUANTITIES)


def series(
    seed: int, length: int = 200, scatter: float = 0.01, rho: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Logarithm of friction that temperature moves by 8 % and more, and the temperature, centred (T, 1)."""
    rng = np.random.default_rng(seed)
    warm = 8 * np.sin(2 * np.pi * np.arange(length) / 365 + rng.uniform(0, 6)) + rng.normal(0, 2, length)
    white = rng.normal(0, scatter, length)
    noise = white.copy()
    for t in range(1, length):
        noise[t] = rho * noise[t - 1] + np.sqrt(1 - rho**2) * white[t]
    return -0.008 * warm + noise, (warm - warm.mean())[:, None]


@pytest.mark.parametrize("seed", range(3))
def test_a_step_of_10_percent_is_told_within_5_sessions(seed: int) -> None:
    y, X = series(seed)
    y[150:] += np.log(1.1)
    (change, *_), _ = find_changes(y[:155], np.full(155, 0.002), X[:155], LEAST)
    assert (change.kind, change.first) == ("step", 150)
    assert change.size == pytest.approx(np.log(1.1), abs=4 * change.std)


@pytest.mark.parametrize("seed", range(3))
def test_a_trend_of_1_percent_a_month_is_told_within_60_sessions(seed: int) -> None:
    y, X = series(seed)
    y += np.log1p(0.01 * np.maximum(np.arange(200) - 140, 0) / 30)
    changes, _ = find_changes(y, np.full(200, 0.002), X, LEAST)
    assert changes
    assert changes[0].first > 100


def test_a_year_without_events_is_quiet() -> None:
    """120 series, looked at when they have 30, 100, 200 and 365 sessions; correlated ones among them."""
    told = 0
    for seed in range(120):
        y, X = series(100 + seed, 365, rho=0.4 if seed % 4 == 0 else 0.0)
        told += any(find_changes(y[:n], np.full(n, 0.002), X[:n], LEAST)[0] for n in (30, 100, 200, 365))
    assert told <= 120 * 0.5 / QUANTITIES * 2.5


def test_temperature_is_no_change_and_scatter_is_estimated() -> None:
    y, X = series(5, 300)
    noise = noise_of(y, np.full(300, 0.004), X)
    assert noise.tau == pytest.approx(np.sqrt(0.01**2 - 0.004**2), rel=0.15)
    assert noise.rho < 0.2
    assert find_changes(y, np.full(300, 0.004), X, LEAST)[0] == []
    correlated, X = series(6, 300, rho=0.6)
    assert noise_of(correlated, np.zeros(300), X).rho == pytest.approx(0.6, abs=0.25)


def test_two_steps_that_undo_each_other_have_equal_sizes() -> None:
    y, X = series(7)
    y[100:110] += 0.3
    changes, _ = find_changes(y, np.zeros(200), X, LEAST)
    assert sorted((one.first, one.kind) for one in changes[:2]) == [(100, "step"), (110, "step")]
    assert changes[0].size == pytest.approx(-changes[1].size, abs=0.02)


@pytest.mark.parametrize("y", [np.zeros(50), np.r_[np.zeros(49), 1.0], np.arange(50.0), np.full(50, 3.0)])
def test_series_without_scatter_do_no_harm(y: np.ndarray) -> None:
    changes, noise = find_changes(y, np.zeros(50), np.zeros((50, 0)), LEAST)
    assert np.isfinite(noise.std).all()
    assert all(np.isfinite([one.size, one.std, one.z]).all() for one in changes)
    assert find_changes(y[: FEWEST - 1], np.zeros(FEWEST - 1), np.zeros((FEWEST - 1, 0)), LEAST)[0] == []


def test_thresholds_rise_with_quantities_and_fall_with_the_rate() -> None:
    for kind in ("step", "trend"):
        assert thresholds(1)[kind] < thresholds(50)[kind] < thresholds(500)[kind]
        assert thresholds(50, 1.0)[kind] < thresholds(50, 0.1)[kind]
