"""Signals that were smoothed before they were recorded: their spectrum still falls where a sensor's noise is flat."""

from __future__ import annotations

import numpy as np
from scipy.signal import welch

from heft.identify.bodies.arrays import Array
from heft.identify.diagnosis.finding import Finding, Place, Severity
from heft.identify.diagnosis.log import QUANTITIES, Log, Table

__all__ = ["check_smoothing"]

MIDDLE, UPPER = (0.3, 0.45), (0.75, 0.95)  # bands, of half the sampling rate
FALLS, STEEP = 3.0, 100.0  # power in the one over that in the other: coloured, smoothed
SEGMENT = 512  # samples
LEAST_RATE = 60.0  # [Hz]: below, the bands are the motion's own
MEMORY = 0.15  # autocorrelation of fourth differences beyond four samples: white noise has none
FEWEST = 1000


def check_smoothing(log: Log) -> list[Finding]:
    """Torques, velocities and the wrench."""
    found = []
    for key in ("tau", "dq", "wrench"):
        table = log.get(key)
        if table is None:
            continue
        falls = np.array([_fall(table, j) for j in range(table.values.shape[1])])
        told = falls[np.isfinite(falls)]
        if not len(told) or float(np.median(told)) < FALLS:
            continue
        usual = float(np.median(told))
        severity: Severity = "serious" if usual > STEEP and key == "tau" else "note"
        j = int(np.nanargmax(falls))
        rate = 1 / table.step_s
        found.append(
            Finding(
                "smoothed_before_recording",
                severity,
                QUANTITIES[key],
                f"power falls by {10 * np.log10(usual):.0f} dB from "
                f"{MIDDLE[0] * rate / 2:.3g}-{MIDDLE[1] * rate / 2:.3g} Hz to "
                f"{UPPER[0] * rate / 2:.3g}-{UPPER[1] * rate / 2:.3g} Hz (median of {len(told)} columns); "
                "noise of a sensor is flat",
                "noise looks smaller than it is, and a filter that is not zero-phase delays the signal "
                "against the others",
                "record unfiltered; else do not believe noise estimates from differences, and let the "
                "delay be estimated",
                None,
                25 + np.log10(usual),
                Place(key, (j,)),
            )
        )
    return found


def _fall(table: Table, j: int) -> float:
    """Power in the middle band over that in the upper one; NaN where it cannot be told."""
    good = np.isfinite(table.values[:, j]) & np.isfinite(table.t)
    x, rate = table.values[good, j], 1 / table.step_s
    if len(x) < FEWEST or not rate > LEAST_RATE or not float(np.ptp(x)) > 0:
        return float("nan")
    if float((np.diff(x) == 0).mean()) > 0.3 or _quantised(x):
        return float("nan")  # steps of its own: their noise is what the upper band shows
    frequency, power = welch(x, 1.0, window="blackmanharris", nperseg=SEGMENT, detrend="linear")
    nyquist = 2 * frequency
    bands = [float(np.median(power[(nyquist >= a) & (nyquist <= b)])) for a, b in (MIDDLE, UPPER)]
    if not bands[1] > 0:
        return float("inf") if bands[0] > 0 else float("nan")
    ratio = bands[0] / bands[1]
    return max(ratio, STEEP / 2) if _memory(x) > MEMORY and ratio > 1.5 else ratio


def _memory(x: Array) -> float:
    """Largest autocorrelation of fourth differences at 5 to 60 samples."""
    d = np.diff(x, 4)
    d = d - d.mean()
    size = 1 << int(np.ceil(np.log2(2 * len(d))))
    spectrum = np.abs(np.fft.rfft(d, size)) ** 2
    correlation = np.fft.irfft(spectrum, size)[:64]
    return float(np.abs(correlation[5:61]).max() / max(correlation[0], 1e-300))


def _quantised(x: Array) -> bool:
    return len(np.unique(x)) < 0.05 * len(x)
