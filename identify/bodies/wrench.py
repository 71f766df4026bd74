"""The wrench of a rigid body as a linear function of its ten numbers (004, Eq. 8): w = A phi.

All in the frame of a sensor that carries the body, about its origin, as the sensor acts on the body:

    f = s m + ([w' x] + [w x][w x]) mc
    n = -s x mc + ([. w'] + [w x][. w]) I

with s = p'' - g the acceleration of the sensor's origin less gravity, w its angular velocity, mc the first moment
[kg m] and I the inertia about the origin [kg m2] in the order xx xy yy xz yz zz. The entries of A are those of
`screw_entries`, as in all rows of the regression.

Averaged over a window of length T the same equation needs no acceleration (004, Eq. 25 to 27): A is linear in s, w' and
the products of w, so that its mean is that of A without p'' and w', and what these are on average,

    mean p''    = (p'|end - p'|start + int w x p' dt) / T
    mean w'     = (w|end - w|start) / T
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.errors import DataError

__all__ = [
    "STANDARD_GRAVITY",
    "WrenchTerms",
    "integral_terms",
    "window_means",
    "wrench_regressor",
    "wrench_terms",
]

STANDARD_GRAVITY = 9.80665
"""[m/s2] where only the direction of gravity is asked for (004, Appendix I), and to speak of masses as forces."""


def wrench_regressor(
    proper_acceleration: Array,
    angular_velocity: Array | None = None,
    angular_acceleration: Array | None = None,
) -> Array:
    """A, shape (T, 6, 10), from s [m/s2], w [rad/s] and w' [rad/s2], each (T, 3) in the sensor's frame; None: zero."""
    from heft.identify.bodies.screw_entries import own_wrench  # compiled: not before it is asked for

    motion, rows = np.zeros((len(proper_acceleration), 9)), np.zeros((len(proper_acceleration), 6, 10))
    for first, part in zip(
        (0, 3, 6), (angular_velocity, angular_acceleration, proper_acceleration), strict=True
    ):
        if part is not None:
            motion[:, first : first + 3] = part
    own_wrench(motion, rows)
    return rows


@dataclass(frozen=True)
class WrenchTerms:
    """What the body's parameters are multiplied with, at T instants or averaged over T windows.

    weightless   A without gravity (T, 6, 10); `from_world` turns world into sensor coordinates (T, 3, 3)
    """

    weightless: Array
    from_world: Array

    def __len__(self) -> int:
        return len(self.weightless)

    def regressor(self, gravity: ArrayLike) -> Array:
        """A, shape (T, 6, 10), for gravity in the world frame [m/s2] (3,)."""
        return self.weightless + wrench_regressor(-(self.from_world @ np.asarray(gravity, dtype=np.float64)))

    def by_gravity(self) -> Array:
        """What a unit of gravity along each axis of the world adds to A, shape (T, 6, 10, 3)."""
        return np.stack([wrench_regressor(-self.from_world[:, :, axis]) for axis in range(3)], axis=3)


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
    moved = np.zeros((len(rotation), 3)) if linear_acceleration is None else linear_acceleration
    return WrenchTerms(
        wrench_regressor(moved, angular_velocity, angular_acceleration), np.swapaxes(rotation, 1, 2)
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
    turns = np.diff(angular_velocity[ends], axis=0) / spans
    steady = wrench_regressor(np.cross(angular_velocity, linear_velocity), angular_velocity)
    quickening = wrench_regressor(np.diff(linear_velocity[ends], axis=0) / spans, None, turns)
    return WrenchTerms(
        quickening + window_means(time, steady, window),
        window_means(time, np.swapaxes(rotation, 1, 2), window),
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
