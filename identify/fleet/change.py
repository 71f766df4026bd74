"""Steps and trends in a series: a likelihood-ratio test that holds its false-alarm rate.

A series y_t, known to standard deviations s_t, with covariates x_t (temperature, load):

    y_t = a + b' x_t + (an event) + e_t,   var e_t = s_t^2 + tau^2,   e_t white, or with a wander (`noise`)

An event is a step d 1(t >= k) or a trend d (t - t_k)+ since session k. For every k the event's column is added to the
regression, and z = d / std(d) is its generalised likelihood ratio (Siegmund and Venkatraman 1995; Andrews 1993). The
largest |z| over k and both kinds is compared with a threshold that holds for all nights of a year and all quantities of
an arm together. With few sessions z is Student's, and is mapped to the normal deviate of the same probability.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr

from heft.identify.bodies.arrays import Array
from heft.identify.fleet.noise import Noise, Scatter

__all__ = [
    "FEWEST",
    "Change",
    "ChangeKind",
    "deviates",
    "event_column",
    "false_alarms",
    "find_changes",
    "normal_deviate",
    "smallest_told",
    "thresholds",
]

ChangeKind = Literal["step", "trend"]

#: Sessions before a first word: fewer know neither scatter nor covariates.
FEWEST = 20
#: Sessions that a step must have lasted, and a trend: one odd night is no change.
LASTED, TREND_LASTED = 2, 20
#: Sessions before a change: fewer are no base to change from.
BEFORE = 8
MOST_CHANGES = 8
#: How often all changes are looked for once more beside each other.
SWEEPS = 3
#: Degrees of freedom of a scatter from differences, over those of one from residuals.
EFFICIENCY = 0.67
#: How the number of false alarms of one series in a year of nightly looks falls with the threshold of each kind:
#: log(rate) = A - B h^2 / 2. Read from simulated years without events, of scatter with Student's distribution of 3
#: degrees of freedom, whose steps need more than normal ones (`benchmarks/fleet_drift.py --calibrate`).
FALSE_ALARMS: dict[ChangeKind, tuple[float, float]] = {"step": (5.4, 0.9), "trend": (2.9, 0.9)}


@dataclass(frozen=True)
class Change:
    """A step or a trend since session `first`.

    size       of a step; of a trend per day: in the series' own scale (log or unit); `std` of it
    z          size over its standard deviation, as a normal deviate
    """

    kind: ChangeKind
    first: int
    size: float
    std: float
    z: float


def thresholds(allowed: Mapping[ChangeKind, float]) -> dict[ChangeKind, float]:
    """|z| above which a change of one series is told: false alarms of each kind that it may give in a year of looks.

    Trends since neighbouring sessions resemble each other, and need less than steps.
    """
    return {
        kind: float(np.sqrt(max(2.0 * (a - np.log(allowed[kind])) / b, 1.0)))
        for kind, (a, b) in FALSE_ALARMS.items()
    }


def false_alarms(kind: ChangeKind, z: float) -> float:
    """Of one series in a year of looks, that are as sure as this one."""
    return float(np.exp(-_rarity(kind, z)))


def _rarity(kind: ChangeKind, z: float) -> float:
    """Logarithm of how many years of looks there are to one false alarm that is as sure."""
    a, b = FALSE_ALARMS[kind]
    return b * z**2 / 2 - a


def event_column(kind: ChangeKind, first: int, days: Array) -> Array:
    """The column of an event since a session, shape (T,)."""
    since = np.arange(len(days)) >= first
    return since.astype(np.float64) if kind == "step" else np.where(since, days - days[first], 0.0)


def deviates(
    y: Array, columns: Array, noise: Noise, days: Array
) -> dict[ChangeKind, tuple[NDArray[np.int64], Array, Array]]:
    """For both kinds of events: sessions k (K,), sizes (K,), and size over standard deviation, Student's (K,).

    The column of a step is that of ones from k on, and that of a trend a ramp less t_k times it. Whitened from the last
    session backwards they are so, too, so that products with all of them are sums from the end, and no column is built.
    """
    length = len(y)
    X, _ = noise.whitened(np.column_stack([np.ones(length), columns]))
    Q, _ = np.linalg.qr(X)
    target, _ = noise.whitened(y)
    R = np.column_stack([Q, target - Q @ (Q.T @ target)])
    k = days - days[-1]
    white, before = noise.whitened(np.column_stack([np.ones(length), k]))
    (level, ramp), (level_before, ramp_before) = white.T, _earlier(before).T
    tail, tail_square = noise.tails(R)
    enough = _degrees(length, X.shape[1]) >= 3
    found: dict[ChangeKind, tuple[NDArray[np.int64], Array, Array]] = {}

    def event(kind: ChangeKind, lasted: int, products: Array, square: Array) -> None:
        """`products` of the columns with R (T, c + 1), and their squared norms (T,)."""
        at = np.arange(BEFORE, length - lasted + 1, dtype=np.int64)
        square = square[at] - (products[at, :-1] ** 2).sum(axis=1)
        known = square > 1e-9 * length
        size = np.divide(products[at, -1], square, out=np.zeros(len(at)), where=known & enough)
        found[kind] = (at, size, size * np.sqrt(np.where(known, square, 0.0)))

    on_level = _from_there(level[:, None] * R)
    level_level = _from_there(level**2)
    event(
        "step",
        LASTED,
        on_level - level_before[:, None] * tail,
        level_level + level_before**2 * tail_square,
    )
    before_k = ramp_before - k * level_before
    on_ramp, ramp_ramp, ramp_level = (
        _from_there(ramp[:, None] * R),
        _from_there(ramp**2),
        _from_there(ramp * level),
    )
    event(
        "trend",
        TREND_LASTED,
        on_ramp - k[:, None] * on_level - before_k[:, None] * tail,
        ramp_ramp - 2.0 * k * ramp_level + k**2 * level_level + before_k**2 * tail_square,
    )
    return found


def _from_there(rows: Array) -> Array:
    """Sums over each session and all later ones, of the same shape."""
    return np.cumsum(rows[::-1], axis=0)[::-1]


def _earlier(predicted: Array) -> Array:
    """What sessions from k on predict of session k - 1, at k."""
    found = np.zeros_like(predicted)
    found[1:] = predicted[:-1]
    return found


def _degrees(length: int, columns: int) -> float:
    """Degrees of freedom of the scatter that a change is held against."""
    return EFFICIENCY * (length - columns - 1)


def normal_deviate(t: float, length: int, columns: int) -> float:
    """The normal deviate of the same probability as Student's, of so many sessions and columns."""
    degrees = max(_degrees(length, columns), 1.0)
    tail = float(stdtr(degrees, -abs(t)))
    return float(np.copysign(abs(t) if tail < 1e-300 else -ndtri(tail), t))


def smallest_told(
    columns: Array,
    noise: Noise,
    kind: ChangeKind,
    sessions: int,
    least: Mapping[ChangeKind, float],
    days: Array | None = None,
) -> float:
    """The size of a change (a trend's per day) that began so many sessions ago, and that would mostly be told.

    Five times out of six: it is a standard deviation above the threshold. Infinite where the history is too short.
    """
    length = len(noise.std)
    if length < sessions + BEFORE:
        return float("inf")
    X, _ = noise.whitened(np.column_stack([np.ones(length), columns]))
    Q, _ = np.linalg.qr(X)
    event, _ = noise.whitened(event_column(kind, length - sessions, _days(length, days)))
    event = event - Q @ (Q.T @ event)
    return float((least[kind] + 1.0) / max(float(np.linalg.norm(event)), 1e-300))


def find_changes(
    scatter: Scatter,
    columns: Array,
    least: Mapping[ChangeKind, float],
    days: Array | None = None,
    others: Array | None = None,
) -> tuple[list[Change], Noise]:
    """Changes whose |z| is above that of their kind in `least`, the surest first, and the noise they were held against.

    Each that is found becomes a part of the model, and the rest is looked at again; then each is looked for once more
    beside all others, since the first ones were found where others still were in the rest.

    days     time of each session [days], shape (T,); None: one a day
    others   what series that are like it say of wander (`Scatter.noise`)
    """
    y, noise = scatter.y, scatter.noise(others)
    if len(y) < FEWEST:
        return [], noise
    days = _days(len(y), days)
    found: list[Change] = []

    def beside(known: Sequence[Change]) -> Change | None:
        events = [event_column(one.kind, one.first, days) for one in known]
        return _surest(y, np.column_stack([columns, *events]), noise, least, days)

    while len(found) < MOST_CHANGES and (one := beside(found)) is not None:
        found.append(one)
    for _ in range(SWEEPS if len(found) > 1 else 0):
        before = list(found)
        for one in before:
            rest = [other for other in found if other is not one]
            better = beside(rest)
            found = rest if better is None else [*rest, better]
        if {(one.kind, one.first) for one in found} == {(one.kind, one.first) for one in before}:
            break
    return _refitted(y, columns, found, noise, days), noise


def _days(length: int, days: Array | None) -> Array:
    return np.arange(length, dtype=np.float64) if days is None else days


def _surest(
    y: Array, known: Array, noise: Noise, least: Mapping[ChangeKind, float], days: Array
) -> Change | None:
    """The change beside the columns that are known that chance brings least often; None where none is sure enough.

    Steps are looked for at more places that differ than trends are, so that a step and a trend of one z are not as
    sure.
    """
    best, rarest = None, -np.inf
    for kind, (at, size, t) in deviates(y, known, noise, days).items():
        i = int(np.argmax(np.abs(t))) if len(at) else -1
        if i < 0 or t[i] == 0.0:
            continue
        z = normal_deviate(float(t[i]), len(y), known.shape[1] + 1)
        if abs(z) >= least[kind] and (rarity := _rarity(kind, z)) > rarest:
            rarest = rarity
            best = Change(kind, int(at[i]), float(size[i]), abs(float(size[i] / t[i])), z)
    return best


def _refitted(y: Array, columns: Array, changes: list[Change], noise: Noise, days: Array) -> list[Change]:
    """The changes with sizes that were found together, the surest first."""
    if not changes:
        return []
    events = [event_column(one.kind, one.first, days) for one in changes]
    X, _ = noise.whitened(np.column_stack([np.ones(len(y)), columns, *events]))
    target, _ = noise.whitened(y)
    found, *_ = np.linalg.lstsq(X, target, rcond=None)
    std = np.sqrt(np.maximum(np.diag(np.linalg.pinv(X.T @ X)), 1e-300))
    together = []
    for one, size, each in zip(changes, found[-len(changes) :], std[-len(changes) :], strict=True):
        z = normal_deviate(float(size / each), len(y), X.shape[1])
        together.append(replace(one, size=float(size), std=float(each), z=z))
    return sorted(together, key=lambda one: -abs(one.z))
