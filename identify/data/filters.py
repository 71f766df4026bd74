"""Finite symmetric filters: low-pass, and low-pass with derivatives. All have zero phase.

A filter is its taps, shape (2 L + 1,), applied as out[i] = sum_m taps[m] in[i + m - L].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import factorial

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.signal import butter, savgol_coeffs
from scipy.signal.windows import kaiser

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.bodies.compiled import compiled

__all__ = ["Differentiator", "butterworth", "central", "low_pass", "savitzky_golay"]

KEPT = 64  # filters that are not designed anew: a fit asks for each of its few many times


@lru_cache(KEPT)
def low_pass(cutoff_hz: float, rate_hz: float, transition_hz: float, attenuation_db: float) -> Array:
    """A windowed sinc (Kaiser): half amplitude at the cut-off, gain 1 at rest.

    It passes up to cutoff - transition/2 and stops from cutoff + transition/2 on, by `attenuation_db`.
    """
    beta = 0.1102 * (attenuation_db - 8.7)
    half = int(np.ceil((attenuation_db - 7.95) / (2.285 * 2 * np.pi * transition_hz / rate_hz) / 2))
    n = np.arange(-half, half + 1)
    taps = np.sinc(2 * cutoff_hz / rate_hz * n) * kaiser(2 * half + 1, beta)
    return frozen(taps / taps.sum())


@lru_cache(KEPT)
def butterworth(cutoff_hz: float, rate_hz: float, order: int = 4) -> Array:
    """A Butterworth filter run forwards and backwards, as taps: gain 1 / (1 + (f / f_c)^(2 order)).

    Cut where the slowest part of its impulse response has fallen to 1e-6.
    """
    sos = butter(order, cutoff_hz, fs=rate_hz, output="sos")
    slowest = np.sin(np.pi / (2 * order)) * 2 * np.pi * cutoff_hz  # decay [1/s] of the slowest pole
    half = int(np.ceil(np.log(1e6) / slowest * rate_hz))
    size = next_fast_len(16 * half, real=True)
    z = np.exp(-2j * np.pi * np.arange(size // 2 + 1) / size)
    gain = np.ones_like(z)
    for b0, b1, b2, _, a1, a2 in sos:
        gain *= (b0 + b1 * z + b2 * z * z) / (1 + a1 * z + a2 * z * z)
    response = irfft(np.abs(gain) ** 2, size)
    taps = np.concatenate([response[-half:], response[: half + 1]])
    return frozen(taps / taps.sum())


@dataclass(frozen=True, eq=False)
class Differentiator:
    """Three filters of one length: the smoothed signal, its first and its second derivative."""

    value: Array
    first: Array
    second: Array

    @property
    def half(self) -> int:
        """L: samples needed before and after."""
        return len(self.value) // 2

    def apply(self, signal: Array) -> tuple[Array, Array, Array]:
        """Value and derivatives of signals (n, T), where the filters fit: each (n, T - 2 L)."""
        size = next_fast_len(signal.shape[1], real=True)
        spectrum = rfft(signal, size, axis=1)
        count = signal.shape[1] - 2 * self.half
        value, first, second = (
            irfft(spectrum * gain, size, axis=1)[:, :count] for gain in _responses(self, size)
        )
        return value, first, second

    def rates(self, signal: Array, decimation: int) -> Array:
        """Both derivatives of signals (n, T) at every `decimation`-th sample where the filters fit: (K, n, 2)."""
        rows = range(0, signal.shape[1] - len(self.value) + 1, decimation)
        out = np.empty((len(rows), len(signal), 2))
        _slopes(np.ascontiguousarray(signal), self.first, self.second, decimation, out)
        return out


@lru_cache(4)
def _responses(filters: Differentiator, size: int) -> NDArray[np.complex128]:
    """Of the three filters, at the frequencies of `size` samples: shape (3, size // 2 + 1)."""
    return np.conj(rfft(np.stack([filters.value, filters.first, filters.second]), size, axis=1))


@compiled(fastmath={"contract", "reassoc", "nsz"})
def _slopes(signal: Array, first: Array, second: Array, step: int, out: Array) -> None:
    """out[k, j] = sums of first[i] and second[i] times signal[j, k step + i]: shape (K, n, 2)."""
    for j in range(signal.shape[0]):
        for k in range(out.shape[0]):
            part = signal[j, k * step : k * step + len(first)]
            slope, bend = 0.0, 0.0
            for i in range(len(first)):
                slope += first[i] * part[i]
                bend += second[i] * part[i]
            out[k, j, 0] = slope
            out[k, j, 1] = bend


def central(smoothing: Array, step_s: float, order: int = 8) -> Differentiator:
    """Central differences of the low-passed signal, exact for polynomials of degree `order` (003: 2)."""
    m = order // 2
    first, second = np.zeros(2 * m + 1), np.zeros(2 * m + 1)
    for k in range(1, m + 1):
        weight = (-1) ** (k + 1) * factorial(m) ** 2 / (factorial(m - k) * factorial(m + k))
        first[m + k], first[m - k] = weight / k, -weight / k
        second[m + k] = second[m - k] = 2 * weight / k**2
    second[m] = -second.sum()
    padded = np.pad(smoothing, m)
    return Differentiator(
        frozen(padded),
        frozen(np.convolve(smoothing, first) / step_s),
        frozen(np.convolve(smoothing, second) / step_s**2),
    )


def savitzky_golay(cutoff_hz: float, rate_hz: float, order: int = 4) -> Differentiator:
    """Local polynomials of degree `order` (001), over as many samples as give -3 dB at the cut-off.

    Window length: Schafer, What is a Savitzky-Golay filter?, 2011: f_c = (order + 1) / (3.2 L - 4.6) rate / 2.
    """
    half = max(order, round(((order + 1) * rate_hz / (2 * cutoff_hz) + 4.6) / 3.2))
    size = 2 * half + 1

    def taps(derivative: int) -> Array:
        return frozen(savgol_coeffs(size, order, derivative, 1 / rate_hz, use="dot"))

    return Differentiator(taps(0), taps(1), taps(2))
