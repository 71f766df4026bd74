"""Arrays that come from outside, looked at before anything is computed from them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from heft.identify.bodies.arrays import Array
from heft.identify.errors import DataError

__all__ = ["gravity_vector", "rotations", "series", "ten_numbers", "times"]

_NOT_A_ROTATION = 1e-4  # |R'R - 1|: beyond rounding and a float32 on the way, below any angle that matters


def series(name: str, values: ArrayLike, *shape: int | None) -> Array:
    """`values` as finite doubles of a shape; None stands for any length above zero."""
    array = np.asarray(values, dtype=np.float64)
    wanted = "(" + ", ".join("T" if n is None else str(n) for n in shape) + ")"
    if array.ndim != len(shape) or any(
        n is not None and n != m for n, m in zip(shape, array.shape, strict=True)
    ):
        raise DataError(f"{name}: shape {array.shape}, must be {wanted}")
    if array.size == 0:
        raise DataError(f"{name}: no samples; give at least one")
    bad = ~np.isfinite(array)
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        raise DataError(
            f"{name}: {int(bad.sum())} values are not finite, the first at {first}; leave invalid samples out"
        )
    return array


def rotations(values: ArrayLike) -> Array:
    """Rotation matrices sensor to world, shape (T, 3, 3)."""
    array = series("rotation", values, None, 3, 3)
    defect = np.abs(np.swapaxes(array, 1, 2) @ array - np.eye(3)).max(axis=(1, 2))
    defect = np.where(np.linalg.det(array) < 0, np.inf, defect)
    worst = int(np.argmax(defect))
    if defect[worst] > _NOT_A_ROTATION:
        raise DataError(
            f"rotation[{worst}]: |R'R - 1| is {defect[worst]:.2g} (inf: a mirror image), must be below "
            f"{_NOT_A_ROTATION:g}; give right-handed rotation matrices, sensor to world"
        )
    return array


def times(values: ArrayLike, count: int) -> Array:
    """Time stamps [s], strictly increasing, shape (count,)."""
    array = series("time", values, count)
    steps = np.diff(array)
    if steps.size and steps.min() <= 0:
        at = int(np.argmin(steps))
        raise DataError(
            f"time[{at + 1}]: {steps[at]:.3g} s after the one before, must increase; sort the samples"
        )
    return array


def gravity_vector(values: ArrayLike) -> Array:
    """Gravity in the world frame [m/s2], shape (3,): the acceleration of free fall, so it points down."""
    array = series("gravity", values, 3)
    size = float(np.linalg.norm(array))
    if not 0.1 < size < 100.0:
        raise DataError(
            f"gravity: {size:.3g} m/s2, must be between 0.1 and 100; give (0, 0, -9.81), or None to estimate"
        )
    return array


def ten_numbers(name: str, values: ArrayLike | None) -> Array | None:
    """A body's ten numbers in the sensor frame, or None for no body."""
    return None if values is None else series(name, values, 10)
