"""The wrench of a rigid body as a linear function of its ten numbers (004, Eq. 8): w = A phi.

All in the frame of a sensor that carries the body, about its origin, as the sensor acts on the body:

    f = s m + ([w' x] + [w x][w x]) mc
    n = -s x mc + ([. w'] + [w x][. w]) I

with s = p'' - g the acceleration of the sensor's origin less gravity, w its angular velocity, mc the first moment
[kg m] and I the inertia about the origin [kg m2] in the order xx xy yy xz yz zz.

Averaged over a window of length T the same equation needs no acceleration (004, Eq. 25 to 27), because

    mean p''    = (p'|end - p'|start + int w x p' dt) / T
    mean [w' x] = [(w|end - w|start) x] / T

All sixty entries of A are sums of twelve signals: the three numbers of s, the three of w' and the six of the square
w w', since [w x][w x] = w w' - |w|^2. A filter is linear, so the twelve go through it and the entries are put together
afterwards (`ENTRIES`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.bodies.pseudo_inertia import INERTIA_ELEMENTS, SPATIAL_BASIS, skew
from heft.identify.errors import DataError

__all__ = [
    "ENTRIES",
    "STANDARD_GRAVITY",
    "WrenchTerms",
    "integral_terms",
    "window_means",
    "wrench_signals",
    "wrench_terms",
]

STANDARD_GRAVITY = 9.80665
"""[m/s2] where only the direction of gravity is asked for (004, Appendix I), and to speak of masses as forces."""

_DOT = np.ascontiguousarray(np.moveaxis(SPATIAL_BASIS[4:, :3, :3], 0, 2))  # (. w) I: row, element of w, of I


@dataclass(frozen=True)
class WrenchTerms:
    """What the body's parameters are multiplied with, at T instants or averaged over T windows.

    `acceleration` p'' [m/s2] (T, 3); `from_world` turns world into sensor coordinates (T, 3, 3);
    `turning` [w' x] + [w x][w x] [1/s2] (T, 3, 3); `inertial` [. w'] + [w x][. w] [1/s2] (T, 3, 6).
    """

    acceleration: Array
    from_world: Array
    turning: Array
    inertial: Array

    def __len__(self) -> int:
        return len(self.acceleration)

    def regressor(self, gravity: ArrayLike) -> Array:
        """A, shape (T, 6, 10), for gravity in the world frame [m/s2] (3,)."""
        proper = self.acceleration - self.from_world @ np.asarray(gravity, dtype=np.float64)
        rows = np.zeros((len(self), 6, 10))
        rows[:, :3, 0] = proper
        rows[:, :3, 1:4] = self.turning
        rows[:, 3:, 1:4] = -skew(proper)
        rows[:, 3:, 4:] = self.inertial
        return rows


def wrench_terms(
    rotation: Array,
    angular_velocity: Array | None = None,
    angular_acceleration: Array | None = None,
    linear_acceleration: Array | None = None,
) -> WrenchTerms:
    """Terms at each instant; kinematics in the sensor's frame, what is None is zero.

    rotation sensor to world (T, 3, 3); [rad/s], [rad/s2] and, of the sensor's origin without gravity, [m/s2], each
    (T, 3).
    """
    zero = np.zeros((len(rotation), 3))
    rates = zero if angular_velocity is None else angular_velocity
    turns = zero if angular_acceleration is None else angular_acceleration
    cross = skew(rates)
    return WrenchTerms(
        zero if linear_acceleration is None else linear_acceleration,
        np.swapaxes(rotation, 1, 2),
        skew(turns) + cross @ cross,
        _dot(turns) + cross @ _dot(rates),
    )


def integral_terms(
    time: Array, rotation: Array, angular_velocity: Array, linear_velocity: Array, window: int
) -> WrenchTerms:
    """Terms averaged over windows of `window` sample intervals (004, Eq. 25 to 27): no acceleration enters.

    time [s] (T,), increasing; rotation and angular velocity as of `wrench_terms`; `linear_velocity` of the sensor's
    origin in the sensor's frame [m/s] (T, 3). Windows follow one another and share their end points; samples beyond
    the last whole window are left out.
    """
    ends = _window_ends(len(time), window)
    spans = np.diff(time[ends])[:, None]
    cross = skew(angular_velocity)
    turns = np.diff(angular_velocity[ends], axis=0) / spans
    carried = window_means(time, np.cross(angular_velocity, linear_velocity), window)
    return WrenchTerms(
        np.diff(linear_velocity[ends], axis=0) / spans + carried,
        window_means(time, np.swapaxes(rotation, 1, 2), window),
        skew(turns) + window_means(time, cross @ cross, window),
        _dot(turns) + window_means(time, cross @ _dot(angular_velocity), window),
    )


def window_means(time: Array, values: Array, window: int) -> Array:
    """Averages of `values` (T, ...) over the windows of `integral_terms`, by the trapezoidal rule (windows, ...)."""
    ends = _window_ends(len(time), window)
    steps = np.diff(time).reshape(-1, *(1,) * (values.ndim - 1))
    areas = np.zeros_like(values)
    np.cumsum((values[1:] + values[:-1]) / 2 * steps, axis=0, out=areas[1:])
    spans = np.diff(time[ends]).reshape(-1, *(1,) * (values.ndim - 1))
    return np.asarray(np.diff(areas[ends], axis=0) / spans)


def _window_ends(count: int, window: int) -> NDArray[np.intp]:
    """Places of the samples at which windows of `window` intervals begin and end."""
    if not 1 <= window < count:
        raise DataError(
            f"window: {window} sample intervals, must be between 1 and {count - 1} for {count} samples"
        )
    return np.arange(0, count, window)


def _dot(vectors: Array) -> Array:
    """[. w], with [. w] (xx xy yy xz yz zz) = I w, shape (..., 3, 6)."""
    return np.einsum("...j,ijn->...in", vectors, _DOT)


def wrench_signals(proper_acceleration: Array, angular_velocity: Array, angular_acceleration: Array) -> Array:
    """s [m/s2], w' [rad/s2] and w w' [rad2/s2] of motions (3, T) of a sensor in its own frame, shape (T, 12)."""
    w = angular_velocity
    square = np.stack([w[i] * w[j] for i, j in INERTIA_ELEMENTS])
    return np.concatenate([proper_acceleration, angular_acceleration, square]).T


def _entries() -> Array:
    entries = np.zeros((12, 6, 10))
    s, dw = np.arange(3), np.arange(3, 6)
    square = np.zeros((3, 3), dtype=np.int64)
    for n, (i, j) in enumerate(INERTIA_ELEMENTS):
        square[i, j] = square[j, i] = 6 + n
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        entries[s[i], i, 0] = 1.0
        # [v x] has v_i at (k, j) and -v_i at (j, k).
        entries[dw[i], k, 1 + j], entries[dw[i], j, 1 + k] = 1.0, -1.0
        entries[s[i], 3 + k, 1 + j], entries[s[i], 3 + j, 1 + k] = -1.0, 1.0
        for column in range(3):
            entries[square[i, column], i, 1 + column] += 1.0
            entries[square[column, column], i, 1 + i] -= 1.0
        for n, (p, r) in enumerate(INERTIA_ELEMENTS):
            for row, element in {(p, r), (r, p)}:  # I_pr w'_r is part of row p, and the other way round
                if row == i:
                    entries[dw[element], 3 + i, 4 + n] += 1.0
                # w x I w: row i has w_j (I w)_k - w_k (I w)_j
                if row == k:
                    entries[square[j, element], 3 + i, 4 + n] += 1.0
                if row == j:
                    entries[square[k, element], 3 + i, 4 + n] -= 1.0
    return frozen(entries.reshape(12, 60))


ENTRIES = _entries()
"""The entries of A (6, 10), row by row, from the twelve signals: A = signals @ ENTRIES, shape (12, 60)."""
