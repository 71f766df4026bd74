"""What sessions scatter: how much, how odd single ones are, and how those of neighbouring nights resemble each other.

The scatter of a series is that of single sessions (white), and of what wanders slowly below them:

    corr(e_t, e_u) = 1 for t = u, else s phi^|t - u|

White noise has s = 0, an AR(1) process s = 1. Both are read from second differences of means over 1, 2, 4, ...
sessions, as the Allan variance of clocks is: a step moves them in few places, a straight trend nowhere, and a wander
those of the long means alone. One series of a few weeks hardly tells a wander; all series of such a quantity do,
together. Single odd sessions are drawn in before: scatter with heavy tails has no other normal threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from heft.identify.bodies.arrays import Array

__all__ = ["Noise", "Scatter", "explained", "running_median", "scatter_of"]

#: Differences of neighbours that are so many times their median tell nothing of what covariates do.
ODD = 6.0
#: Sessions whose median says what is odd (more than half of them are a change), how many standard deviations from it a
#: session may be, and from how many on it is odd. Where more than one in 150 is, three of five come together by chance.
AROUND, OUTLYING, ODDLY = 5, 2.5, 3.5
WIDER, OFTEN = 9, 1.0 / 150.0
#: Sessions that means are taken over, where a series has so many times as many second differences of them.
MEANS, ENOUGH = (1, 2, 4, 8, 16), 3
#: The part of the second differences that counts, the smallest; and its mean square, of a normal distribution's.
COUNTED, COUNTED_SQUARE = 0.75, 0.36856
#: Information of such a mean square, over that of all second differences.
EFFICIENT = 0.72
#: Wander that is tried: its correlation from session to session, and its share of the variance.
PHIS, SHARES = (0.3, 0.5, 0.7, 0.85, 0.95), tuple(float(share) for share in np.linspace(0.05, 1.0, 20))
#: Wander counts where it fits the means so much better than none (chi-square; a white series seems so once in 20 to
#: 100 times).
BETTER = 4.5
#: A step from four sessions to the next four of so many standard deviations is no wander.
JUMP, BESIDE = 5.0, 4


@dataclass(frozen=True)
class Noise:
    """Of one series.

    tau    scatter of sessions beyond their intervals
    std    of each session (T,); less than it states where sessions scatter less: a prior or a drive's gain is off in
           all of them alike
    phi    correlation of the wander from session to session, and `share` of the variance that wanders
    """

    tau: float
    std: Array
    phi: float = 0.0
    share: float = 0.0

    @property
    def rho(self) -> float:
        """Correlation of neighbouring sessions."""
        return self.share * self.phi

    def whitened(self, rows: Array) -> tuple[Array, Array]:
        """Rows (T, ...) with unit, uncorrelated noise, and what the later sessions predict of each.

        A Kalman filter from the last session to the first: white are the errors of its predictions, over their
        standard deviations. Where the rows are zero before a session, they are whitened as if they were not, from
        there on; before it stands what is predicted, falling as `Noise.tails` has it.
        """
        scaled = rows / self.std.reshape(-1, *([1] * (rows.ndim - 1)))
        predicted = np.zeros_like(scaled)
        if self.rho == 0.0:
            return scaled, predicted
        gains, errors = _filter(self.phi, self.share, len(rows))
        white, state = np.empty_like(scaled), np.zeros(rows.shape[1:])
        for t in range(len(rows) - 1, -1, -1):
            predicted[t] = state
            error = scaled[t] - state
            white[t] = error / errors[t]
            state = self.phi * (state + gains[t] * error)
        return white, predicted

    def tails(self, rows: Array) -> tuple[Array, Array]:
        """What a prediction of 1 for session t - 1 adds up to before t: in products with whitened rows, and squared.

        Entry t is for columns that are zero before session t; (T, c) and (T,).
        """
        products, square = np.zeros_like(rows), np.zeros(len(rows))
        if self.rho == 0.0:
            return products, square
        gains, errors = _filter(self.phi, self.share, len(rows))
        falls = self.phi * (1.0 - gains)
        for t in range(1, len(rows)):
            products[t] = rows[t - 1] / errors[t - 1] + falls[t - 1] * products[t - 1]
            square[t] = 1.0 / errors[t - 1] ** 2 + falls[t - 1] ** 2 * square[t - 1]
        return products, square


@lru_cache(maxsize=256)
def _filter(phi: float, share: float, length: int) -> tuple[Array, Array]:
    """Gains of the filter and standard deviations of its predictions, from the last session to the first, (T,)."""
    gains, errors, variance = np.empty(length), np.empty(length), share
    for t in range(length - 1, -1, -1):
        total = variance + 1.0 - share
        gains[t], errors[t] = variance / total, np.sqrt(total)
        variance = phi**2 * variance * (1.0 - gains[t]) + (1.0 - phi**2) * share
    return gains, errors


@dataclass(frozen=True)
class Scatter:
    """Of one series, before it is said whether it wanders.

    y        the series with its odd sessions drawn in (T,); `std` of the sessions' own estimates
    square   variance of a session that fits the means best with each of the models of wander (m,)
    misfit   chi-square of the means with each of them (m,); the first model is none
    """

    y: Array
    std: Array
    square: Array
    misfit: Array

    def noise(self, others: Array | None = None) -> Noise:
        """What the series scatters; `others` is the chi-square of series that are like it (m,)."""
        misfit = self.misfit if others is None else self.misfit + others
        best = int(np.argmin(misfit))
        if misfit[0] - misfit[best] < BETTER:
            best = 0
        square, stated = float(self.square[best]), float(np.median(self.std**2))
        tau = float(np.sqrt(max(square - stated, 0.0)))
        if tau > 0:
            each = np.sqrt(self.std**2 + tau**2)
        else:  # what sessions state holds what they have in common, which no difference of them shows
            each = np.maximum(self.std * np.sqrt(square / max(stated, 1e-300)), 1e-3 * np.sqrt(square))
        phis, shares, _ = _models(MEANS)
        return Noise(tau, each, float(phis[best]), float(shares[best]))


def scatter_of(y: Array, std: Array, columns: Array) -> Scatter:
    """The scatter of a series (T,) that is known to `std` (T,); covariates (T, c) taken off."""
    known = explained(y, columns)
    left, models = y - known, len(_models(MEANS)[0])
    rough = _counted_square(_second(left, 1)) / 6.0 if len(left) > 3 else 0.0
    if rough <= 0.0 or float(np.median(np.abs(np.diff(left)))) == 0.0:  # counts that are mostly one number
        floor = 1e-12 + 1e-9 * float(np.abs(y).max(initial=0.0))
        level = max(float(np.std(np.diff(left))) / np.sqrt(2.0) if len(left) > 1 else 0.0, floor)
        return Scatter(y, std, np.full(models, level**2 + float(np.median(std**2))), np.zeros(models))
    drawn = _drawn_in(left, np.sqrt(rough))
    square, misfit = _misfit(drawn)
    return Scatter(known + drawn, std, square, misfit)


def explained(y: Array, columns: Array) -> Array:
    """What covariates explain (T,), by differences of neighbours, which changes hardly move."""
    if not columns.shape[1] or len(y) < 2:
        return np.zeros(len(y))
    dy, dx = np.diff(y), np.diff(columns, axis=0)
    used = np.ones(len(dy), dtype=np.bool_)
    slope: Array = np.zeros(columns.shape[1])
    for _ in range(3):
        slope = np.linalg.lstsq(dx[used], dy[used], rcond=None)[0].astype(np.float64)
        left = np.abs(dy - dx @ slope)
        used = left <= ODD * float(np.median(left)) + 1e-300
    return np.asarray(columns @ slope)


def running_median(left: Array, width: int) -> Array:
    """Median of each session and those around it, `width` in all (odd); at both ends that of the end."""
    if len(left) < width:
        return np.full(len(left), np.median(left))
    middle = np.median(np.lib.stride_tricks.sliding_window_view(left, width), axis=1)
    return np.asarray(np.pad(middle, width // 2, mode="edge"))


def _drawn_in(left: Array, std: float) -> Array:
    """The series with each session no further than `OUTLYING` from the median around it."""
    middle = running_median(left, AROUND)
    if np.mean(np.abs(left - middle) > ODDLY * std) > OFTEN:
        middle = running_median(left, WIDER)
    return np.asarray(middle + np.clip(left - middle, -OUTLYING * std, OUTLYING * std))


def _second(left: Array, width: int) -> Array:
    """Second differences of neighbouring means over so many sessions, at every session."""
    sums = np.concatenate([[0.0], np.cumsum(left)])
    means = (sums[width:] - sums[:-width]) / width
    return np.asarray(means[2 * width :] - 2.0 * means[width:-width] + means[: -2 * width])


def _counted_square(values: Array) -> float:
    """Mean square, from the smallest three quarters: large ones are of steps."""
    count = max(1, round(COUNTED * len(values)))
    return float((np.partition(np.abs(values), count - 1)[:count] ** 2).mean() / COUNTED_SQUARE)


def _misfit(left: Array) -> tuple[Array, Array]:
    """Variance of a session that fits the means over 1, 2, 4, ... best with each model, and the chi-square, (m,)."""
    models = _models(MEANS)[2]
    level = _without_jumps(left, float(np.sqrt(_counted_square(_second(left, 1)) / 6.0)))
    widths = [width for width in MEANS if len(left) - 3 * width + 1 >= ENOUGH * width]
    found = np.array([_counted_square(_second(level, width)) for width in widths])
    if not len(found) or found.min() <= 0.0:
        square = max(float(np.var(level)), 1e-300)
        return np.full(len(models), square), np.zeros(len(models))
    numbers = np.array([(len(left) - 3 * width + 1) / _overlap(width) for width in widths])
    weight = EFFICIENT * numbers / 2.0
    apart = np.log(found) - np.log(models[:, : len(widths)])
    scale = (apart @ weight) / weight.sum()
    return np.exp(scale), ((apart - scale[:, None]) ** 2) @ weight


def _without_jumps(left: Array, std: float) -> Array:
    """A series that scatters by `std` [one number] with its large steps taken out."""
    if len(left) <= 2 * BESIDE:
        return left
    windows = np.median(np.lib.stride_tricks.sliding_window_view(left, BESIDE), axis=1)
    step = np.zeros(len(left))
    step[BESIDE : len(left) - BESIDE + 1] = windows[BESIDE:] - windows[:-BESIDE]
    jumps = np.zeros(len(left))
    while True:
        at = int(np.argmax(np.abs(step)))
        if not abs(step[at]) > JUMP * std:
            return left - np.cumsum(jumps)
        jumps[at] = step[at]
        step[max(0, at - BESIDE) : at + BESIDE + 1] = 0.0


def _weights(width: int) -> Array:
    return np.repeat([1.0, -2.0, 1.0], width) / width


@lru_cache(maxsize=32)
def _overlap(width: int) -> float:
    """How many second differences tell as much as one that is independent of all others."""
    own = np.correlate(_weights(width), _weights(width), "full")
    return float(((own / own.max()) ** 2).sum())


@lru_cache(maxsize=32)
def _models(widths: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """phi, share, and the mean squares (m, w) of second differences for a variance of 1; the first is white noise."""
    phis, shares, rows = [0.0], [0.0], [[6.0 / width for width in widths]]
    for phi in PHIS:
        wander = [_wandering(width, phi) for width in widths]
        for share in SHARES:
            phis.append(phi)
            shares.append(share)
            rows.append(
                [(1 - share) * 6.0 / width + share * one for width, one in zip(widths, wander, strict=True)]
            )
    return np.array(phis), np.array(shares), np.array(rows)


def _wandering(width: int, phi: float) -> float:
    """Mean square of second differences of an AR(1) process of variance 1."""
    weights = _weights(width)
    lag = np.abs(np.subtract.outer(np.arange(len(weights)), np.arange(len(weights))))
    return float(weights @ phi**lag @ weights)
