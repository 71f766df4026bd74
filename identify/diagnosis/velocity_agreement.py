"""Measured velocities against positions: integrals of one over differences of the other, window by window.

Over windows of the log, y = integral of dq and x = change of q. Were both right, y = x. Units, rates and gears make
y = k x, exchanged columns make y of one joint like x of another, and a delay d of dq makes y = x - d (change of dq):
a regression of y on both tells k and d with their scatter, without any derivative of a noisy signal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.diagnosis.log import Log, Table

__all__ = ["VelocityAgreement"]

WINDOWS = 400  # at most
SHORTEST = 4  # samples of a window
LEAST_SHARE = 1e-4  # of the busiest joint's squared motion: less is not asked
PARTS = 8  # of the log, for the drift of a delay
ALIKE = 0.9  # correlation of y and x, from which a joint's k is told
SHIFT_S = 0.3  # largest delay that is looked for


@dataclass(frozen=True, eq=False)
class VelocityAgreement:
    """x (W, n), y (W, n), changes of velocity (W, n), and the middle of each window [s] (W,)."""

    x: Array
    y: Array
    bend: Array
    time: Array
    step_s: float

    @classmethod
    def of(cls, log: Log, shift_s: float = 0.0) -> VelocityAgreement | None:
        """None where no velocity was measured or too little of it can be used; `shift_s` dq is taken later by."""
        q, dq = log.get("q"), log.get("dq")
        if q is None or dq is None:
            return None
        t, position, velocity = _together(q, dq, shift_s)
        if len(t) < 10 * SHORTEST:
            return None
        size = max(SHORTEST, len(t) // WINDOWS)
        area = np.concatenate(
            [
                np.zeros((1, log.n)),
                np.cumsum(0.5 * (velocity[1:] + velocity[:-1]) * np.diff(t)[:, None], axis=0),
            ]
        )
        edges = np.arange(0, len(t) - 1, size)
        step = float(np.median(np.diff(t)))
        whole = np.diff(t[edges]) < 3 * size * step  # no long gap inside
        x, y, bend = (np.diff(values[edges], axis=0)[whole] for values in (position, area, velocity))
        return cls(x, y, bend, (0.5 * (t[edges][1:] + t[edges][:-1]))[whole], step)

    @cached_property
    def moving(self) -> NDArray[np.bool_]:
        """Joints that move enough to be asked, shape (n,)."""
        square = (self.x**2).mean(axis=0)
        told = square > LEAST_SHARE * square.max() if square.max() > 0 else np.zeros(len(square), dtype=bool)
        return np.asarray(told & ((self.y**2).mean(axis=0) > 0))

    @cached_property
    def correlations(self) -> Array:
        """Of y of joint i with x of joint j, shape (n, n); zero where either stands still."""
        x, y = self.x, self.y
        size = np.sqrt((x**2).sum(axis=0)), np.sqrt((y**2).sum(axis=0))
        both = np.outer(size[1], size[0])
        return np.divide(y.T @ x, both, out=np.zeros_like(both), where=both > 0)

    def ratios(self) -> tuple[Array, Array]:
        """k of every joint and its relative standard deviation, shape (n,) each; NaN where it is not told."""
        n = self.x.shape[1]
        k, std = np.full(n, np.nan), np.full(n, np.nan)
        for j in np.flatnonzero(self.moving & (np.abs(np.diag(self.correlations)) > ALIKE)).tolist():
            (k[j], _), spread = _regress(self.x[:, j], self.bend[:, j], self.y[:, j])
            std[j] = spread[0] / abs(k[j])
        return k, std

    def delays(self, part: slice = slice(None)) -> tuple[Array, Array]:
        """d of every joint [s] and its standard deviation, shape (n,) each; NaN where it is not told."""
        n = self.x.shape[1]
        d, std = np.full(n, np.nan), np.full(n, np.nan)
        for j in np.flatnonzero(self.moving & (np.abs(np.diag(self.correlations)) > ALIKE)).tolist():
            x, bend, y = self.x[part, j], self.bend[part, j], self.y[part, j]
            if len(x) < 8 or not (x.any() and bend.any()):
                continue
            (k, c), spread = _regress(x, bend, y)
            if k != 0:
                d[j], std[j] = -c, spread[1]  # bend is of dq as measured, in its own unit: c = -d
        return d, std


def _regress(x: Array, bend: Array, y: Array) -> tuple[Array, Array]:
    """Coefficients of y on x and bend, and their standard deviations, doubled for rows that resemble each other."""
    A = np.stack([x, bend], axis=1)
    G = A.T @ A
    G[np.diag_indices(2)] *= 1 + 1e-9
    c = np.linalg.solve(G, A.T @ y)
    rest = y - A @ c
    variance = float(rest @ rest) / max(len(y) - 2, 1)
    std: Array = 2 * np.sqrt(np.maximum(variance * np.diag(np.linalg.inv(G)), 0.0))
    return np.asarray(c, dtype=np.float64), std


def _together(q: Table, dq: Table, shift_s: float) -> tuple[Array, Array, Array]:
    """Increasing stamps, positions and velocities at them: rows with numbers only."""
    t, order = np.unique(q.t, return_index=True)
    position = q.values[order]
    if dq.t is q.t or np.array_equal(dq.t, q.t, equal_nan=True):
        velocity = dq.values[order]
        good = np.isfinite(t) & np.isfinite(position).all(axis=1) & np.isfinite(velocity).all(axis=1)
        t, position, velocity = t[good], position[good], velocity[good]
        if shift_s:
            velocity = np.stack([np.interp(t + shift_s, t, column) for column in velocity.T], axis=1)
        return t, position, velocity
    good = np.isfinite(t) & np.isfinite(position).all(axis=1)
    t, position = t[good], position[good]
    own, first = np.unique(dq.t, return_index=True)
    known = np.isfinite(own) & np.isfinite(dq.values[first]).all(axis=1)
    if known.sum() < 2:
        return t[:0], position[:0], position[:0]
    table = dq.values[first][known]
    velocity = np.stack([np.interp(t + shift_s, own[known], column) for column in table.T], axis=1)
    inside = (t >= own[known][0]) & (t <= own[known][-1])
    return t[inside], position[inside], velocity[inside]
