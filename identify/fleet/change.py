"""Steps and trends in a series: a likelihood-ratio test that holds its false-alarm rate.

A series y_t, known to standard deviations s_t, with covariates x_t (temperature, load):

    y_t = a + b' x_t + (an event) + e_t,   var e_t = s_t^2 + tau^2,   corr(e_t, e_t-1) = rho

An event is a step d 1(t >= k) or a trend d (t - k)+ since session k. For every k the event's column is added to the
regression, and z = d / std(d) is its generalised likelihood ratio (Siegmund and Venkatraman 1995; Andrews 1993). The
largest |z| over k and both kinds is compared with a threshold that holds for all nights of a year and all quantities of
an arm together. tau and rho, what sessions scatter beyond their intervals, are estimated from differences of
neighbours, which a step or a trend hardly moves (von Neumann 1941). With few sessions z is Student's, and is mapped to
the normal deviate of the same probability.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr

from heft.identify.bodies.arrays import Array

__all__ = [
    "FEWEST",
    "Change",
    "ChangeKind",
    "Noise",
    "deviates",
    "find_changes",
    "noise_of",
    "smallest_told",
    "sureness",
    "thresholds",
]

ChangeKind = Literal["step", "trend"]

#: Sessions before a first word: fewer know neither scatter nor covariates.
FEWEST = 20
#: Sessions that a step must have lasted, and a trend: one odd night is no change.
LASTED, TREND_LASTED = 2, 10
#: Sessions before a change: fewer are no base to change from.
BEFORE = 8
MOST_CHANGES = 8
LARGEST_RHO = 0.7
#: Differences of neighbours that are so many times their median are left out of the scatter.
ODD = 6.0
#: A correlation counts from so many of its standard deviations (about 1 / sqrt(T)) on.
SURE_RHO = 2.5
#: Degrees of freedom of a scatter from differences, over those of one from residuals.
EFFICIENCY = 0.67
#: How the number of false alarms of one series in a year of nightly looks falls with the threshold of each kind:
#: log(rate) = A - B h^2 / 2. Calibrated on simulated years without events (`benchmarks/fleet_drift.py --calibrate`).
FALSE_ALARMS: dict[ChangeKind, tuple[float, float]] = {"step": (3.8, 0.9), "trend": (2.9, 0.9)}


@dataclass(frozen=True)
class Noise:
    """Of one series: `tau` scatter of sessions beyond their intervals, `rho` correlation of neighbours, `std` (T,)."""

    tau: float
    rho: float
    std: Array


@dataclass(frozen=True)
class Change:
    """A step or a trend since session `first`.

    size       of a step; of a trend per session: in the series' own scale (log or unit); `std` of it
    z          size over its standard deviation, as a normal deviate
    """

    kind: ChangeKind
    first: int
    size: float
    std: float
    z: float


def thresholds(quantities: int, rate: float = 0.5) -> dict[ChangeKind, float]:
    """|z| above which a change is told: `rate` false alarms per arm and year, over so many quantities, are expected.

    Steps and trends share the rate evenly; trends since neighbouring sessions resemble each other, and need less.
    """
    wanted = np.log(rate / 2.0 / max(quantities, 1))
    return {kind: float(np.sqrt(max(2.0 * (a - wanted) / b, 1.0))) for kind, (a, b) in FALSE_ALARMS.items()}


def sureness(kind: ChangeKind, z: float, quantities: int) -> float:
    """Probability that no series of so many looks like this by chance in a year."""
    a, b = FALSE_ALARMS[kind]
    return float(np.exp(-quantities * np.exp(a - b * z**2 / 2)))


def noise_of(y: Array, std: Array, columns: Array) -> Noise:
    """Scatter and correlation from differences of neighbours, covariates taken off, odd ones left out."""
    dy, dx = np.diff(y), np.diff(columns, axis=0)
    used = np.ones(len(dy), dtype=np.bool_)
    left = dy - np.median(dy)
    if float(np.median(np.abs(left))) == 0.0:  # counts that are mostly one number: nothing stands out of them
        level = max(float(np.std(dy)) / np.sqrt(2.0), 1e-12 + 1e-9 * float(np.abs(y).max(initial=0.0)))
        return Noise(level, 0.0, np.hypot(std, level))
    for _ in range(3):  # steps and odd nights stand out of what the others scatter
        slope = np.linalg.lstsq(dx[used], dy[used], rcond=None)[0] if dx.shape[1] else np.zeros(0)
        left = dy - dx @ slope
        left = left - left[used].mean()
        used = np.abs(left) <= ODD * float(np.median(np.abs(left))) + 1e-300
    count = int(used.sum())
    square = float((left[used] ** 2).sum()) / max(count - 1 - dx.shape[1], 1) / 2.0  # of one session, rho = 0
    if count < 3 or square <= 0.0:
        level = 1e-12 + 1e-9 * float(np.abs(y).max(initial=0.0))
        return Noise(level, 0.0, np.hypot(std, level))
    pairs = used[1:] & used[:-1]
    r1 = float((left[1:] * left[:-1])[pairs].sum() / max(float((left[used] ** 2).sum()), 1e-300))
    # Differences of white noise have r1 = -1/2, those of an AR(1) process -(1 - rho) / 2.
    rho = float(np.clip(1.0 + 2.0 * r1, 0.0, LARGEST_RHO))
    rho = rho if rho > SURE_RHO / np.sqrt(len(dy)) else 0.0
    total = square / (1.0 - rho)
    tau = float(np.sqrt(max(total - float(np.median(std**2)), 0.0)))
    return Noise(tau, rho, np.sqrt(std**2 + tau**2) if tau > 0 else np.maximum(std, 1e-3 * np.sqrt(total)))


def _whitened(rows: Array, noise: Noise) -> Array:
    """Rows (T, ...) with unit, uncorrelated noise."""
    scaled = rows / noise.std.reshape(-1, *([1] * (rows.ndim - 1)))
    if noise.rho == 0.0:
        return scaled
    white = scaled.copy()
    white[1:] = (scaled[1:] - noise.rho * scaled[:-1]) / np.sqrt(1.0 - noise.rho**2)
    return white


def event_column(kind: ChangeKind, first: int, length: int) -> Array:
    """The column of an event, shape (T,)."""
    t = np.arange(length, dtype=np.float64)
    return (t >= first).astype(np.float64) if kind == "step" else np.maximum(t - first, 0.0)


def deviates(
    y: Array, columns: Array, noise: Noise
) -> dict[ChangeKind, tuple[NDArray[np.int64], Array, Array]]:
    """For both kinds of events: sessions k (K,), sizes (K,), and size over standard deviation, Student's (K,)."""
    length = len(y)
    X = _whitened(np.column_stack([np.ones(length), columns]), noise)
    Q, _ = np.linalg.qr(X)
    target = _whitened(y, noise)
    left = target - Q @ (Q.T @ target)
    degrees = _degrees(length, X.shape[1])
    found: dict[ChangeKind, tuple[NDArray[np.int64], Array, Array]] = {}
    t = np.arange(length, dtype=np.float64)
    lengths: tuple[tuple[ChangeKind, int], ...] = (("step", LASTED), ("trend", TREND_LASTED))
    for kind, lasted in lengths:
        at = np.arange(BEFORE, length - lasted + 1, dtype=np.int64)
        if not len(at) or degrees < 3:
            found[kind] = (at, np.zeros(len(at)), np.zeros(len(at)))
            continue
        D = (t[:, None] >= at).astype(np.float64) if kind == "step" else np.maximum(t[:, None] - at, 0.0)
        D = _whitened(D, noise)
        D -= Q @ (Q.T @ D)
        square = (D**2).sum(axis=0)
        known = square > 1e-9 * len(y)
        size = np.divide(left @ D, square, out=np.zeros(len(at)), where=known)
        z = size * np.sqrt(np.where(known, square, 0.0))
        found[kind] = (at, size, z)
    return found


def _degrees(length: int, columns: int) -> float:
    """Degrees of freedom of the scatter that a change is held against."""
    return EFFICIENCY * (length - columns - 1)


def _normal(t: float, degrees: float) -> float:
    """The normal deviate of the same probability as Student's."""
    tail = float(stdtr(degrees, -abs(t)))
    return float(np.copysign(abs(t) if tail < 1e-300 else -ndtri(tail), t))


def smallest_told(
    columns: Array, noise: Noise, kind: ChangeKind, sessions: int, least: Mapping[ChangeKind, float]
) -> float:
    """The size of a change (a trend's per session) that began so many sessions ago, and that would mostly be told.

    Five times out of six: it is a standard deviation above the threshold. Infinite where the history is too short.
    """
    length = len(noise.std)
    if length < sessions + BEFORE:
        return float("inf")
    Q, _ = np.linalg.qr(_whitened(np.column_stack([np.ones(length), columns]), noise))
    event = _whitened(event_column(kind, length - sessions, length), noise)
    event = event - Q @ (Q.T @ event)
    return float((least[kind] + 1.0) / max(float(np.linalg.norm(event)), 1e-300))


def find_changes(
    y: Array, std: Array, columns: Array, least: Mapping[ChangeKind, float]
) -> tuple[list[Change], Noise]:
    """Changes whose |z| is above that of their kind in `least`, the surest first, and the noise they were held against.

    Each that is found becomes a part of the model, and the rest is looked at again.
    """
    noise = noise_of(y, std, columns)
    changes: list[Change] = []
    if len(y) < FEWEST:
        return changes, noise
    known = columns
    for _ in range(MOST_CHANGES):
        best, largest = None, 0.0
        for kind, (at, size, t) in deviates(y, known, noise).items():
            i = int(np.argmax(np.abs(t))) if len(at) else -1
            if i >= 0 and abs(t[i]) > largest:
                z = _normal(float(t[i]), _degrees(len(y), known.shape[1] + 1))
                if abs(z) >= least[kind]:
                    largest = abs(float(t[i]))
                    best = Change(kind, int(at[i]), float(size[i]), abs(float(size[i] / t[i])), z)
        if best is None:
            break
        changes.append(best)
        known = np.column_stack([known, event_column(best.kind, best.first, len(y))])
    return _refitted(y, known, changes, noise), noise


def _refitted(y: Array, columns: Array, changes: list[Change], noise: Noise) -> list[Change]:
    """The changes with sizes that were found together, the surest first; `columns` have theirs as the last."""
    if not changes:
        return []
    X = _whitened(np.column_stack([np.ones(len(y)), columns]), noise)
    found, *_ = np.linalg.lstsq(X, _whitened(y, noise), rcond=None)
    std = np.sqrt(np.maximum(np.diag(np.linalg.pinv(X.T @ X)), 1e-300))
    degrees = _degrees(len(y), X.shape[1])
    together = []
    for one, size, each in zip(changes, found[-len(changes) :], std[-len(changes) :], strict=True):
        z = _normal(float(size / each), max(degrees, 1.0))
        together.append(replace(one, size=float(size), std=float(each), z=z))
    return sorted(together, key=lambda one: -abs(one.z))
