"""The lower envelope of a growing set of points, in bounded memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Envelope", "lower_hull"]

Floats = NDArray[np.float64]

#: Bounds on what is kept: corners of the hull, and stretches whose lowest point is remembered.
MAX_CORNERS = 512
MAX_STRETCHES = 64


class Envelope:
    """The line below all points (x [s], y [ns]) that is highest on average, |slope| <= max_slope [ns/s].

    To maximise the sum of a line's heights with no point below it is to maximise its height at the mean of x:
    the maximum is the edge of the lower convex hull there or, if that is too steep, the steepest line that
    is allowed. Points may come in any order of x.
    """

    def __init__(self, max_slope: float) -> None:
        self._max_slope = max_slope
        self._corners = np.zeros((2, 0))
        self._lowest = np.zeros((2, 0))  # one point per stretch of x
        self._stretch = 0.01  # [s]; doubles when there are too many
        self.n = 0
        self._sum = np.zeros(5)  # of x, y, xx, xy, yy
        self.first_x = np.inf
        self.last_x = -np.inf
        self.slope = 0.0
        self._height = 0.0  # of the line at mean_x

    @property
    def usable(self) -> bool:
        """Are there two points at different x?"""
        return self.last_x > self.first_x

    @property
    def span_s(self) -> float:
        """From the first point to the last [s]; negative when empty."""
        return self.last_x - self.first_x

    @property
    def mean_x(self) -> float:
        """Mean of x [s]."""
        return float(self._sum[0] / self.n)

    @property
    def residual_mean_ns(self) -> float:
        """Mean height of the points above the line [ns]."""
        return float(self._sum[1] / self.n - self._height)

    @property
    def residual_rms_ns(self) -> float:
        """Standard deviation of that height [ns]."""
        mean_x, mean_y, xx, xy, yy = self._sum / self.n
        s = self.slope
        variance = (yy - mean_y**2) - 2.0 * s * (xy - mean_x * mean_y) + s**2 * (xx - mean_x**2)
        return float(np.sqrt(max(0.0, variance)))

    @property
    def bend_ns(self) -> float:
        """Highest of the stretches' lowest points above the line [ns]; those at the ends may hold too few."""
        x, y = self._lowest[:, 1:-1]
        return float(np.max(y - self.line(x), initial=0.0))

    def line(self, x: Floats) -> Floats:
        """Height of the line [ns] at x [s]."""
        return self._height + self.slope * (x - self.mean_x)

    def add(self, x: Floats, y: Floats) -> None:
        """More points, both (N,)."""
        self.n += len(x)
        self._sum += [x.sum(), y.sum(), x @ x, x @ y, y @ y]
        self._take(np.array([x, y]), np.array([x, y]))

    def merged(self, other: Envelope) -> Envelope:
        """The envelope of both sets of points."""
        both = Envelope(self._max_slope)
        both.n = self.n + other.n
        both._sum = self._sum + other._sum
        both._stretch = max(self._stretch, other._stretch)
        both._take(np.hstack([self._corners, other._corners]), np.hstack([self._lowest, other._lowest]))
        return both

    def _take(self, corners: Floats, lowest: Floats) -> None:
        self.first_x = min(self.first_x, float(corners[0].min()))
        self.last_x = max(self.last_x, float(corners[0].max()))
        self._corners = _thinned(lower_hull(*np.hstack([self._corners, corners])))
        self._support()
        self._lowest = self._lowest_of(np.hstack([self._lowest, lowest]))

    def _support(self) -> None:
        """Slope and height of the line, from the hull."""
        x, y = self._corners
        if len(x) > 1:
            i = int(np.clip(np.searchsorted(x, self.mean_x, side="right"), 1, len(x) - 1))
            slope = (y[i] - y[i - 1]) / (x[i] - x[i - 1])
            self.slope = float(np.clip(slope, -self._max_slope, self._max_slope))
        self._height = float(np.min(y - self.slope * (x - self.mean_x)))

    def _lowest_of(self, points: Floats) -> Floats:
        """The lowest point of each stretch, by height above the line."""
        while True:
            stretch = np.floor(points[0] / self._stretch)
            order = np.lexsort((points[1] - self.slope * points[0], stretch))
            points = points[:, order[np.diff(stretch[order], prepend=-np.inf) > 0.0]]
            if points.shape[1] <= MAX_STRETCHES:
                return points
            self._stretch *= 2.0


def lower_hull(x: Floats, y: Floats) -> Floats:
    """Corners of the lower convex hull of points (N,), sorted by x, shape (2, M).

    Whole passes first: a point on or above the line between its neighbours is no corner, and dropping all
    such points at once leaves few for the exact walk.
    """
    if np.any(np.diff(x) <= 0.0):
        order = np.lexsort((y, x))
        x, y = x[order], y[order]
        keep = np.diff(x, prepend=-np.inf) > 0.0
        x, y = x[keep], y[keep]
    while len(x) > 16:
        keep = np.ones(len(x), dtype=bool)
        keep[1:-1] = np.diff(np.diff(y) / np.diff(x)) > 0.0
        if np.count_nonzero(keep) > 0.9 * len(x):
            break
        x, y = x[keep], y[keep]
    hull: list[tuple[float, float]] = []
    for px, py in zip(x.tolist(), y.tolist(), strict=True):
        while len(hull) > 1:
            (ax, ay), (bx, by) = hull[-2:]
            if (by - ay) * (px - bx) < (py - by) * (bx - ax):
                break
            hull.pop()
        hull.append((px, py))
    return np.array(hull).T.reshape(2, -1)


def _thinned(corners: Floats) -> Floats:
    """At most MAX_CORNERS corners: those go that bend the least (a clock that bends steadily makes many)."""
    excess = corners.shape[1] - MAX_CORNERS
    if excess <= 0:
        return corners
    x, y = corners
    depth = np.full(len(x), np.inf)
    chord = y[:-2] + (y[2:] - y[:-2]) * (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    depth[1:-1] = chord - y[1:-1]
    return corners[:, np.sort(np.argsort(depth, kind="stable")[excess:])]
