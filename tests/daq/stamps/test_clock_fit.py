"""The lower-envelope fit: how well it knows a clock, what it makes of jumps, drift and lateness."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from heft.daq.stamps.clock_fit import ClockFit, ClockFitter
from heft.daq.stamps.envelope import Envelope, lower_hull

Int64s = NDArray[np.int64]
TICK_HZ = 1e6
HOST_NS = 1_700_000_000_000_000_000  # as large as UTC: nothing may be lost to floating point


def device(
    seconds: float, ppm: float, rate_hz: float = 1000.0, tick0: int = 123_456_789
) -> tuple[Int64s, Int64s]:
    """Ticks, and the host time at which each sample was taken [ns]."""
    ticks = tick0 + np.rint(np.arange(seconds * rate_hz) * (TICK_HZ / rate_hz)).astype(np.int64)
    return ticks, HOST_NS + np.rint((ticks - tick0) * (1e9 / TICK_HZ) * (1 + ppm * 1e-6)).astype(np.int64)


def fit_clock(ticks: Int64s, host_ns: Int64s, tick_hz: float, restarts: tuple[int, ...] = ()) -> ClockFit:
    fitter = ClockFitter(tick_hz)
    fitter.add(ticks, host_ns, restarts)
    fit = fitter.fit()
    assert fit is not None
    return fit


def latency(kind: str, seed: int, n: int) -> Int64s:
    """One-sided jitter of 0.2 ms [ns]."""
    rng = np.random.default_rng(seed)
    draw = {
        "exponential": lambda: rng.exponential(2e5, n),
        "uniform": lambda: rng.uniform(0.0, 2e5, n),
        "half normal": lambda: np.abs(rng.normal(0.0, 2e5, n)),
    }[kind]
    return np.rint(draw()).astype(np.int64)


@pytest.mark.parametrize("kind", ["exponential", "uniform", "half normal"])
def test_twenty_seconds_with_a_fifth_of_a_millisecond_of_jitter(kind: str) -> None:
    """Skew to 0.03 ppm, time to 0.2 us in the middle and 0.4 us anywhere: three orders below the jitter."""
    skews, middles, worsts = [], [], []
    for seed in range(40):
        ppm = -50.0 + 100.0 * seed / 39
        ticks, taken_ns = device(20.0, ppm)
        fit = fit_clock(ticks, taken_ns + latency(kind, seed, len(ticks)), TICK_HZ)
        error_ns = fit.to_host(ticks) - taken_ns
        assert len(fit.pieces) == 1
        skews.append(fit.skew_ppm - ppm)
        middles.append(error_ns[len(ticks) // 2])
        worsts.append(np.abs(error_ns).max())
        assert fit.n == len(ticks)
        assert fit.span_s == pytest.approx(19.999)
        assert fit.main.bend_ns < 10e3
    assert np.sqrt(np.mean(np.square(skews))) < 0.008
    assert np.max(np.abs(skews)) < 0.03
    assert np.min(middles) >= -1  # late, but for rounding to whole nanoseconds
    assert np.mean(middles) < 30
    assert np.max(middles) < 200
    assert np.max(worsts) < 400


def test_residuals_are_latency_above_the_least() -> None:
    ticks, taken_ns = device(20.0, 12.0)
    late = latency("exponential", 1, len(ticks))
    fit = fit_clock(ticks, taken_ns + 500_000 + late, TICK_HZ)
    assert fit.residual_ns == pytest.approx(late.mean(), rel=1e-3)
    assert fit.main.residual_rms_ns == pytest.approx(late.std(), rel=1e-3)
    residual = taken_ns + 500_000 + late - fit.to_host(ticks)
    assert residual.min() >= -1
    assert residual.mean() == pytest.approx(fit.residual_ns, abs=1.0)
    assert (
        np.abs(fit.to_host(ticks) - (taken_ns + 500_000)).max() < 300
    )  # the least latency stays in the offset
    assert (
        abs(fit.offset_ns - (taken_ns[0] + 500_000 - 123_456_789_000 * (1 + 12e-6))) < 10_000
    )  # extrapolated 123 s


def test_blocks_that_arrive_together_are_dated_by_their_last_sample() -> None:
    """Twenty samples in one packet share an arrival; only the last one is nearly undelayed."""
    ticks, taken_ns = device(20.0, 30.0)
    arrival = np.repeat(taken_ns.reshape(-1, 20)[:, -1], 20) + np.repeat(latency("exponential", 4, 1000), 20)
    fit = fit_clock(ticks, arrival, TICK_HZ)
    assert len(fit.pieces) == 1
    assert fit.skew_ppm == pytest.approx(30.0, abs=0.3)
    assert np.abs(fit.to_host(ticks) - taken_ns).max() < 6_000


def test_online_is_offline_whatever_the_cut() -> None:
    ticks, taken_ns = device(10.0, -41.0)
    host_ns = taken_ns + latency("exponential", 2, len(ticks))
    whole = fit_clock(ticks, host_ns, TICK_HZ)
    for size in (1, 7, 100, 3000):
        fitter = ClockFitter(TICK_HZ)
        for i in range(0, len(ticks), size):
            fitter.add(ticks[i : i + size], host_ns[i : i + size])
            if i == 500 * size:
                fitter.fit()  # looking changes nothing
        fit = fitter.fit()
        assert fit is not None
        assert (fit.skew, fit.main.anchor_ns, fit.n) == (whole.skew, whole.main.anchor_ns, whole.n)
        assert fit.residual_ns == pytest.approx(whole.residual_ns)


def test_memory_stays_bounded() -> None:
    """Also for a clock that bends so that every sample is a corner of the hull."""
    envelope = Envelope(1e6)
    x = np.arange(100_000) * 1e-3
    for part in np.split(x, 200):
        envelope.add(part, part**2)
    assert envelope._corners.shape[1] <= 512
    assert envelope._lowest.shape[1] <= 64
    assert envelope.slope == pytest.approx(100.0, rel=0.01)  # tangent to x^2 at the mean of x, 50 s


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.integers(0, 2**31), st.integers(2, 300))
def test_the_envelope_is_the_highest_line_below_all_points(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(0.0, 10.0, n), rng.exponential(100.0, n)
    envelope = Envelope(1e6)
    for part in np.array_split(np.arange(n), 3):
        if len(part):
            envelope.add(x[part], y[part])
    assert np.all(y - envelope.line(x) > -1e-9)
    assert np.count_nonzero(y - envelope.line(x) < 1e-9) >= 2
    assert envelope.residual_mean_ns == pytest.approx(np.mean(y - envelope.line(x)), abs=1e-9)
    for slope in envelope.slope + np.array(
        [-3.0, -0.1, 0.1, 3.0]
    ):  # no other slope lets it be higher on average
        assert np.min(y - slope * (x - x.mean())) <= envelope.line(np.array([x.mean()]))[0] + 1e-9


def test_hull_of_few_and_of_equal_points() -> None:
    np.testing.assert_array_equal(lower_hull(np.array([1.0]), np.array([2.0])), [[1.0], [2.0]])
    np.testing.assert_array_equal(
        lower_hull(np.array([1.0, 1.0, 0.0]), np.array([2.0, 1.0, 5.0])), [[0.0, 1.0], [5.0, 1.0]]
    )


def test_a_wild_start_does_not_tilt_the_line() -> None:
    """Two samples 1 ms apart, the second 0.9 ms less late, would be a skew of -90 %: it stays within max_skew."""
    fit = fit_clock(np.array([0, 1000]), np.array([HOST_NS + 900_000, HOST_NS + 1_000_000]), TICK_HZ)
    assert fit.skew == pytest.approx(1.0 - 1e-3)
    fitter = ClockFitter(TICK_HZ)
    assert fitter.fit() is None
    fitter.add(np.array([5]), np.array([HOST_NS]))
    assert fitter.fit() is None  # one sample is no line
    with pytest.raises(ValueError, match="tick_hz is 0"):
        ClockFitter(0.0)


@pytest.mark.parametrize("jump_ns", [-300_000_000, -3_000_000, 3_000_000, 5_000_000_000])
@pytest.mark.parametrize("size", [20, 100_000])
def test_a_jump_makes_a_new_piece(jump_ns: int, size: int) -> None:
    ticks, taken_ns = device(20.0, 25.0)
    taken_ns[8000:] += jump_ns
    host_ns = taken_ns + latency("exponential", 3, len(ticks))
    fitter = ClockFitter(TICK_HZ)
    for i in range(0, len(ticks), size):
        fitter.add(ticks[i : i + size], host_ns[i : i + size])
    fit = fitter.fit()
    assert fit is not None
    assert len(fit.pieces) == 2
    assert abs(fit.jumps_ns[0] - jump_ns) < 2_000
    assert abs(fit.pieces[1].first_ticks - ticks[8000]) < 20_000  # within 20 samples of where it was
    away = np.ones(len(ticks), dtype=bool)
    away[7980:8020] = False
    assert np.abs(fit.to_host(ticks) - taken_ns)[away].max() < 2_000
    assert fit.main is fit.pieces[1]


def test_lateness_is_not_a_jump() -> None:
    """The host stalls for one second: everything then comes late, but nothing has happened to the clock."""
    ticks, taken_ns = device(20.0, 25.0)
    host_ns = taken_ns + latency("exponential", 5, len(ticks))
    stalled = (taken_ns > taken_ns[9000]) & (taken_ns < taken_ns[10_000])
    host_ns[stalled] = taken_ns[10_000]
    fit = fit_clock(ticks, host_ns, TICK_HZ)
    assert len(fit.pieces) == 1
    assert fit.n == len(ticks)
    assert fit.skew_ppm == pytest.approx(25.0, abs=0.03)


def test_a_known_restart_makes_a_new_piece() -> None:
    ticks, taken_ns = device(4.0, 0.0)
    taken_ns[2000:] += 100_000  # too little to be seen from outside
    fit = fit_clock(ticks, taken_ns, TICK_HZ, restarts=(2000,))
    assert fit.jumps_ns == (100_000,)
    np.testing.assert_allclose(fit.to_host(ticks), taken_ns, atol=2)


def test_a_clock_that_is_no_line_says_so() -> None:
    """10 ppm of change over 20 s bend it by 25 us, either way; a step too small for a jump shows too."""
    ticks, taken_ns = device(20.0, 0.0)
    t = (ticks - ticks[0]) / TICK_HZ
    late = latency("exponential", 6, len(ticks))
    for sign in (-1, 1):
        curve_ns = np.rint(sign * 0.5 * (1e4 / 20.0) * t**2).astype(np.int64)  # 10 ppm = 10 us/s, at the end
        fit = fit_clock(ticks, taken_ns + curve_ns + late, TICK_HZ)
        assert 20e3 < fit.main.bend_ns < 40e3
    step = np.where(t > 10.0, 400_000, 0)
    assert fit_clock(ticks, taken_ns + step + late, TICK_HZ).main.bend_ns > 100e3


def test_round_trip_through_json() -> None:
    ticks, taken_ns = device(8.0, 5.0)
    taken_ns[4000:] -= 50_000_000
    fit = fit_clock(ticks, taken_ns, TICK_HZ)
    again = ClockFit.from_dict(json.loads(json.dumps(fit.to_dict())))
    assert again == fit
    np.testing.assert_array_equal(again.to_host(ticks), fit.to_host(ticks))
