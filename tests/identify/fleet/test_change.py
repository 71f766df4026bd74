"""Steps and trends: found where they are, not found where there is none, with scatter told honestly."""

from __future__ import annotations

import numpy as np
import pytest

from heft.identify.bodies.arrays import Array
from heft.identify.fleet.change import (
    FEWEST,
    Change,
    deviates,
    event_column,
    false_alarms,
    find_changes,
    thresholds,
)
from heft.identify.fleet.noise import Noise, _without_jumps, scatter_of
from heft.identify.fleet.series import series_of

QUANTITIES = 40
LEAST = thresholds({"step": 0.25 / QUANTITIES, "trend": 0.25 / QUANTITIES})


def changes_of(y: Array, std: Array, columns: Array) -> list[Change]:
    return find_changes(scatter_of(y, std, columns), columns, LEAST)[0]


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
    change, *_ = changes_of(y[:155], np.full(155, 0.002), X[:155])
    assert (change.kind, change.first) == ("step", 150)
    assert change.size == pytest.approx(np.log(1.1), abs=4 * change.std)


@pytest.mark.parametrize("seed", range(3))
def test_a_trend_of_1_percent_a_month_is_told_within_60_sessions(seed: int) -> None:
    y, X = series(seed)
    y += np.log1p(0.01 * np.maximum(np.arange(200) - 140, 0) / 30)
    changes = changes_of(y, np.full(200, 0.002), X)
    assert changes
    assert changes[0].first > 100


@pytest.mark.parametrize("seed", [5, 33, 66])
def test_a_trend_is_no_step_that_is_hardly_surer(seed: int) -> None:
    """Years in which a step has the larger z, of which chance brings more: the trend counts."""
    y, X = series(seed)
    y += np.log1p(0.01 * np.maximum(np.arange(200) - 140, 0) / 30)
    scatter = scatter_of(y, np.full(200, 0.002), X)
    largest = {
        kind: np.abs(z).max()
        for kind, (_, _, z) in deviates(scatter.y, X, scatter.noise(), np.arange(200.0)).items()
    }
    assert largest["step"] > largest["trend"]
    assert [one.kind for one in changes_of(y, np.full(200, 0.002), X)] == ["trend"]


@pytest.mark.parametrize("seed", range(3))
def test_what_sessions_state_too_much_of_hides_no_trend(seed: int) -> None:
    """Intervals of 5 % that hold a gain that is off every night alike, and nights that differ by 1 %."""
    y, X = series(seed)
    y += np.log1p(0.02 * np.maximum(np.arange(200) - 140, 0) / 30)
    stated = np.full(200, 0.05)
    assert scatter_of(y[:140], stated[:140], X[:140]).noise().std == pytest.approx(0.01, rel=0.25)
    assert changes_of(y, stated, X)


def test_a_year_without_events_is_quiet() -> None:
    """120 series, looked at when they have 30, 100, 200 and 365 sessions; correlated ones among them."""
    told = 0
    for seed in range(120):
        y, X = series(100 + seed, 365, rho=0.4 if seed % 4 == 0 else 0.0)
        told += any(changes_of(y[:n], np.full(n, 0.002), X[:n]) for n in (30, 100, 200, 365))
    assert told <= 120 * 0.5 / QUANTITIES * 2.5


def test_temperature_is_no_change_and_scatter_is_estimated() -> None:
    y, X = series(5, 300)
    noise = scatter_of(y, np.full(300, 0.004), X).noise()
    assert noise.tau == pytest.approx(np.sqrt(0.01**2 - 0.004**2), rel=0.15)
    assert noise.rho < 0.2
    assert changes_of(y, np.full(300, 0.004), X) == []
    correlated, X = series(6, 300, rho=0.6)
    assert scatter_of(correlated, np.zeros(300), X).noise().rho == pytest.approx(0.6, abs=0.25)


def test_two_steps_that_undo_each_other_have_equal_sizes() -> None:
    y, X = series(7)
    y[100:110] += 0.3
    changes = changes_of(y, np.zeros(200), X)
    assert sorted((one.first, one.kind) for one in changes[:2]) == [(100, "step"), (110, "step")]
    assert changes[0].size == pytest.approx(-changes[1].size, abs=0.02)


@pytest.mark.parametrize("y", [np.zeros(50), np.r_[np.zeros(49), 1.0], np.arange(50.0), np.full(50, 3.0)])
def test_series_without_scatter_do_no_harm(y: np.ndarray) -> None:
    none = np.zeros((50, 0))
    changes, noise = find_changes(scatter_of(y, np.zeros(50), none), none, LEAST)
    assert np.isfinite(noise.std).all()
    assert all(np.isfinite([one.size, one.std, one.z]).all() for one in changes)
    assert changes_of(y[: FEWEST - 1], np.zeros(FEWEST - 1), np.zeros((FEWEST - 1, 0))) == []


def test_thresholds_fall_with_the_false_alarms_that_are_allowed() -> None:
    for kind in ("step", "trend"):
        found = [thresholds({"step": alarms, "trend": alarms})[kind] for alarms in (0.001, 0.01, 0.1)]
        assert found == sorted(found, reverse=True)
        for alarms, z in zip((0.001, 0.01, 0.1), found, strict=True):
            assert false_alarms(kind, z) == pytest.approx(alarms)


@pytest.mark.parametrize(("phi", "share"), [(0.0, 0.0), (0.4, 1.0), (0.95, 0.2), (0.7, 0.5)])
def test_deviates_are_those_of_generalised_least_squares(phi: float, share: float) -> None:
    """Every event's z by the sums, against the regression with its column and the whole covariance."""
    rng, n = np.random.default_rng(1), 45
    std, y, columns = rng.uniform(0.5, 2.0, n), rng.normal(size=n), rng.normal(size=(n, 2))
    days = np.cumsum(rng.uniform(0.5, 3.0, n))
    lag = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    same = (1.0 - share) * np.eye(n) + share * (phi**lag if share else np.eye(n))
    inverse = np.linalg.inv(np.outer(std, std) * same)
    for kind, (at, sizes, z) in deviates(y, columns, Noise(1.0, std, phi, share), days).items():
        for k, size, one in zip(at, sizes, z, strict=True):
            A = np.column_stack([np.ones(n), columns, event_column(kind, int(k), days)])
            covariance = np.linalg.inv(A.T @ inverse @ A)
            expected = (covariance @ A.T @ inverse @ y)[-1]
            assert size == pytest.approx(expected, abs=1e-9)
            assert one == pytest.approx(expected / np.sqrt(covariance[-1, -1]), abs=1e-9)


def test_wander_is_told_by_series_that_are_like_it() -> None:
    """Sixty sessions of one series hardly tell a wander; thirty such series do, and take its changes for wander."""
    found = []
    for seed in range(30):
        rng = np.random.default_rng([3, seed])
        white, y = rng.normal(size=60), rng.normal(size=60)
        for t in range(1, 60):
            white[t] = 0.95 * white[t - 1] + np.sqrt(1.0 - 0.95**2) * white[t]
        found.append(scatter_of(y + white, np.zeros(60), np.zeros((60, 0))))
    alone = [one.noise().share > 0 for one in found]
    others = np.sum([one.misfit for one in found], axis=0) / 3.0
    together = [one.noise(others) for one in found]
    assert np.mean(alone) < 0.5
    assert all(0.2 <= one.share <= 0.9 and one.phi >= 0.85 for one in together)


def test_odd_sessions_are_no_change() -> None:
    """A tenth of the sessions is eight standard deviations off, never three of five neighbours alike."""
    rng = np.random.default_rng(9)
    y = rng.normal(0.0, 0.01, 240)
    y[5::10] += rng.choice([-0.08, 0.08], 24)
    assert changes_of(y, np.zeros(240), np.zeros((240, 0))) == []
    y[200:] += np.log(1.1)
    assert [(one.kind, one.first) for one in changes_of(y, np.zeros(240), np.zeros((240, 0)))] == [
        ("step", 200)
    ]


def test_a_series_that_stands_still_has_no_jumps_to_take_out() -> None:
    still = np.full(20, 3.0)
    np.testing.assert_array_equal(_without_jumps(still, 0.0), still)


def test_two_models_with_one_name_of_an_arm_are_two_series() -> None:
    count = 4
    table = {
        "time": np.arange(1, 2 * count + 1) * 86_400_000_000,
        "value": np.ones(2 * count),
        "verdict": ["good"] * 2 * count,
        "prior_dominated": [False] * 2 * count,
        "parameter": ["torque_error"] * 2 * count,
        "arm": ["bench"] * 2 * count,
        "robot": ["one"] * count + ["other"] * count,
        "unit": [""] * 2 * count,
        "session": [str(k) for k in range(2 * count)],
        **{name: np.full(2 * count, np.nan) for name in ("std", "temperature", "load")},
    }
    found = [(one.robot, one.arm, len(one)) for one in series_of(table)]
    assert found == [("one", "bench", count), ("other", "bench", count)]
