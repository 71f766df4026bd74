"""Filters: gain, zero phase, derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import butter, sosfiltfilt

from heft.identify.data import Processing
from heft.identify.data.filters import butterworth, central, low_pass, savitzky_golay
from heft.identify.errors import DataError


def gain(taps: np.ndarray, frequency_hz: float, rate_hz: float) -> float:
    n = np.arange(len(taps)) - len(taps) // 2
    return float(taps @ np.cos(2 * np.pi * frequency_hz / rate_hz * n))


def test_low_pass_gain() -> None:
    taps = low_pass(10.0, 1000.0, 10.0, 60.0)
    assert np.allclose(taps, taps[::-1])
    assert taps.sum() == pytest.approx(1.0)
    assert gain(taps, 10.0, 1000.0) == pytest.approx(0.5, abs=2e-3)
    assert all(abs(gain(taps, f, 1000.0) - 1) < 2e-3 for f in (0.5, 2.0, 5.0))
    assert all(abs(gain(taps, f, 1000.0)) < 2e-3 for f in (15.0, 40.0, 333.0))


def test_butterworth_is_forwards_and_backwards() -> None:
    signal = np.random.default_rng(0).standard_normal(6000)
    taps = butterworth(10.0, 1000.0)
    half = len(taps) // 2
    expected = sosfiltfilt(butter(4, 10.0, fs=1000.0, output="sos"), signal)[half:-half]
    assert np.allclose(np.convolve(signal, taps, "valid"), expected, atol=1e-6)


@pytest.mark.parametrize("order", [2, 4, 8])
def test_central_differences_are_exact_for_polynomials(order: int) -> None:
    smooth = low_pass(20.0, 1000.0, 20.0, 130.0)
    motion = central(smooth, 1e-3, order)
    t = np.arange(2000) * 1e-3
    inner = t[motion.half : -motion.half]
    value, first, second = motion.apply(np.stack([t, t**2]))
    assert np.allclose(value[0], inner, atol=1e-9)
    assert np.allclose(first, [np.ones_like(inner), 2 * inner], atol=1e-7)
    assert np.allclose(second, [np.zeros_like(inner), 2 * np.ones_like(inner)], atol=1e-4)


def test_derivatives_of_a_slow_sine() -> None:
    t = np.arange(20000) * 1e-3
    w = 2 * np.pi * 0.7
    for processing, tolerance in (
        (Processing(7.0), 2e-6),
        (Processing(7.0, order=2), 2e-6 + (w * 1e-3) ** 2),
        (Processing(7.0, derivative="savitzky_golay"), 2e-3),
        (Processing(7.0, window="butterworth"), 2e-6),
    ):
        motion = processing.differentiator(1000.0)
        inner = t[motion.half : -motion.half]
        value, first, second = motion.apply(np.sin(w * t)[None])
        assert np.abs(value[0] - np.sin(w * inner)).max() < tolerance
        assert np.abs(first[0] / w - np.cos(w * inner)).max() < tolerance
        assert np.abs(second[0] / w**2 + np.sin(w * inner)).max() < tolerance


def test_savitzky_golay_is_exact_for_its_polynomials() -> None:
    motion = savitzky_golay(20.0, 1000.0, order=4)
    t = np.arange(500) * 1e-3
    inner = t[motion.half : -motion.half]
    value, first, second = motion.apply((t**3)[None])
    assert np.allclose(value[0], inner**3, atol=1e-12)
    assert np.allclose(first[0], 3 * inner**2, atol=1e-9)
    assert np.allclose(second[0], 6 * inner, atol=1e-6)


def test_rows_come_at_twice_the_cutoff() -> None:
    assert Processing(10.0).decimation(1000.0) == 50
    assert Processing(10.0, window="butterworth").decimation(1000.0) == 25
    assert Processing(300.0).decimation(1000.0) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cutoff_hz": 0.0}, "must be above 0"),
        ({"cutoff_hz": 5.0, "window": "hann"}, "choose kaiser or butterworth"),
        ({"cutoff_hz": 5.0, "derivative": "spline"}, "choose central"),
        ({"cutoff_hz": 5.0, "derivative": "fourier"}, "needs period_s"),
        ({"cutoff_hz": 5.0, "order": 3}, "choose 2, 4, 6"),
        ({"cutoff_hz": 5.0, "trim_s": (-1.0, 0.0)}, "0 s or more"),
    ],
)
def test_mistakes(options: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Processing(**options)  # type: ignore[arg-type]


def test_as_json_and_back() -> None:
    processing = Processing(12.5, window="butterworth", trim_s=(0.5, 1.0))
    assert Processing.from_dict(processing.to_dict()) == processing


@pytest.mark.parametrize("rate_hz", [100.0, 250.0, 1000.0])
@pytest.mark.parametrize(
    ("options", "quarter", "half"),
    [
        ({}, 1e-6, 1e-6),
        ({"order": 2}, 2e-3, 6e-3),
        ({"derivative": "savitzky_golay"}, 6e-4, 9e-3),
        ({"window": "butterworth"}, 3e-5, 5e-3),
        ({"derivative": "fourier", "period_s": 5.0}, 0.0, 0.0),
    ],
)
def test_the_bias_of_each_differentiator_is_bounded(
    rate_hz: float, options: dict[str, object], quarter: float, half: float
) -> None:
    """Of accelerations of motion at a quarter and at half of the cut-off, which is a twelfth of the rate at most."""
    processing = Processing(8.0, **options)  # type: ignore[arg-type]
    found = np.abs(processing.bias(np.array([2.0, 4.0]), rate_hz))
    assert found[0] <= quarter
    assert found[1] <= half


@pytest.mark.parametrize("options", [{}, {"derivative": "savitzky_golay"}, {"window": "butterworth"}])
def test_gain_and_bias_are_what_filters_do_to_a_sine(options: dict[str, object]) -> None:
    processing, t = Processing(10.0, **options), np.arange(4000) * 1e-3  # type: ignore[arg-type]
    frequency = np.array([3.0, 7.0, 11.0])
    for f, gain, bias in zip(
        frequency, processing.gain(frequency, 1e3), processing.bias(frequency, 1e3), strict=True
    ):
        sine = np.sin(2 * np.pi * f * t)
        middle = slice(1500, 2500)
        smooth = np.convolve(sine, processing.taps(1e3), "same")[middle]
        np.testing.assert_allclose(smooth, gain * sine[middle], atol=1e-9)
        differentiator = processing.differentiator(1e3)
        second = differentiator.apply(sine[None])[2][0]
        expected = -((2 * np.pi * f) ** 2) * (1 + bias) * sine[differentiator.half : -differentiator.half]
        np.testing.assert_allclose(second, expected, atol=1e-6 * (2 * np.pi * f) ** 2)


def test_stamps_that_are_no_seconds_are_refused_before_memory_is_asked_for() -> None:
    with pytest.raises(DataError, match="is t in seconds"):
        Processing(cutoff_hz=20.0).taps(1e11)
