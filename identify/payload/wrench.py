"""The wrench of a load as a linear function of its ten numbers (004, Eq. 8, 21 and 25 to 27).

All in the sensor's frame, about its origin, as the sensor acts on the load:

    f = (p'' - g) m + ([w' x] + [w x][w x]) mc
    n = (g - p'') x mc + ([. w'] + [w x][. w]) I

with p'' the acceleration of the sensor's origin, w its angular velocity, g gravity, mc the first moment [kg m]
and I the inertia about the origin [kg m2] in the order xx xy yy xz yz zz. The integral form has the same
coefficients averaged over a window, with every acceleration integrated by hand, so that only velocities enter:

    mean p''     = (p'|end - p'|start + int w x p' dt) / T
    mean [w' x]  = [(w|end - w|start) x] / T
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from identify.arrays import Array
from identify.errors import DataError
from identify.payload.inputs import gravity_vector, rotations, series, times

__all__ = [
    "WrenchTerms",
    "cross_matrices",
    "differential_terms",
    "integral_terms",
    "static_terms",
    "window_means",
]

_DOT = np.zeros((3, 3, 6))  # (. w) I: row, element of w, element of I
for _n, (_i, _j) in enumerate(((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))):
    _DOT[_i, _j, _n] = _DOT[_j, _i, _n] = 1.0


@dataclass(frozen=True)
class WrenchTerms:
    """What the load's parameters are multiplied with, at T instants or over T windows.

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
        """A of w = A phi (004, Eq. 8), shape (T, 6, 10), for gravity in the world frame [m/s2]."""
        proper = self.acceleration - self.from_world @ gravity_vector(gravity)
        rows = np.zeros((len(self), 6, 10))
        rows[:, :3, 0] = proper
        rows[:, :3, 1:4] = self.turning
        rows[:, 3:, 1:4] = -cross_matrices(proper)
        rows[:, 3:, 4:] = self.inertial
        return rows


def cross_matrices(vectors: Array) -> Array:
    """[a x], shape (..., 3, 3)."""
    matrices = np.zeros((*vectors.shape, 3))
    x, y, z = vectors[..., 0], vectors[..., 1], vectors[..., 2]
    matrices[..., 0, 1], matrices[..., 0, 2], matrices[..., 1, 2] = -z, y, -x
    matrices[..., 1, 0], matrices[..., 2, 0], matrices[..., 2, 1] = z, -y, x
    return matrices


def _dot_matrices(vectors: Array) -> Array:
    """[. w], with [. w] (xx xy yy xz yz zz) = I w, shape (..., 3, 6)."""
    return np.einsum("...j,ijn->...in", vectors, _DOT)


def differential_terms(
    rotation: ArrayLike,
    angular_velocity: ArrayLike | None = None,
    angular_acceleration: ArrayLike | None = None,
    linear_acceleration: ArrayLike | None = None,
) -> WrenchTerms:
    """Terms at each instant (004, Eq. 8); kinematics in the sensor's frame, what is None is zero.

    rotation sensor to world (T, 3, 3); [rad/s], [rad/s2] and, of the sensor's origin, [m/s2], each (T, 3).
    """
    to_world = rotations(rotation)
    rates, turns, shoves = (
        np.zeros((len(to_world), 3)) if values is None else series(name, values, len(to_world), 3)
        for name, values in (
            ("angular_velocity", angular_velocity),
            ("angular_acceleration", angular_acceleration),
            ("linear_acceleration", linear_acceleration),
        )
    )
    cross = cross_matrices(rates)
    return WrenchTerms(
        shoves,
        np.swapaxes(to_world, 1, 2),
        cross_matrices(turns) + cross @ cross,
        _dot_matrices(turns) + cross @ _dot_matrices(rates),
    )


def static_terms(rotation: ArrayLike) -> WrenchTerms:
    """Terms at rest (004, Eq. 21): gravity alone."""
    return differential_terms(rotation)


def integral_terms(
    time: ArrayLike,
    rotation: ArrayLike,
    angular_velocity: ArrayLike,
    linear_velocity: ArrayLike,
    window: int,
) -> WrenchTerms:
    """Terms averaged over windows of `window` sample intervals (004, Eq. 25 to 27): no acceleration enters.

    Windows follow one another and share their end points; samples beyond the last whole window are left out.
    `linear_velocity` is that of the sensor's origin in the sensor's frame [m/s], shape (T, 3).
    """
    to_world = rotations(rotation)
    stamps = times(time, len(to_world))
    rates = series("angular_velocity", angular_velocity, len(to_world), 3)
    speeds = series("linear_velocity", linear_velocity, len(to_world), 3)
    ends = _window_ends(len(stamps), window)
    spans = np.diff(stamps[ends])[:, None]
    cross = cross_matrices(rates)
    centripetal = window_means(stamps, cross @ cross, window)
    gyroscopic = window_means(stamps, cross @ _dot_matrices(rates), window)
    turns = np.diff(rates[ends], axis=0) / spans
    shoves = np.diff(speeds[ends], axis=0) / spans + window_means(stamps, np.cross(rates, speeds), window)
    return WrenchTerms(
        shoves,
        window_means(stamps, np.swapaxes(to_world, 1, 2), window),
        cross_matrices(turns) + centripetal,
        _dot_matrices(turns) + gyroscopic,
    )


def window_means(time: Array, values: Array, window: int) -> Array:
    """Averages of `values` (T, ...) over the windows, by the trapezoidal rule, shape (windows, ...)."""
    ends = _window_ends(len(time), window)
    steps = np.diff(time).reshape(-1, *(1,) * (values.ndim - 1))
    areas = np.zeros_like(values)
    np.cumsum((values[1:] + values[:-1]) / 2 * steps, axis=0, out=areas[1:])
    spans = np.diff(time[ends]).reshape(-1, *(1,) * (values.ndim - 1))
    return np.diff(areas[ends], axis=0) / spans


def _window_ends(count: int, window: int) -> NDArray[np.intp]:
    if not 1 <= window < count:
        raise DataError(
            f"window: {window} sample intervals, must be between 1 and {count - 1} for {count} samples"
        )
    return np.arange(0, count, window)
