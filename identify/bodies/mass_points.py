"""A body as mass points in its bounding box (000, section III B)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.pseudo_inertia import from_mass_com_inertia

__all__ = ["grid", "mass_point_matrix"]


def grid(low: ArrayLike, high: ArrayLike, per_axis: int = 3) -> Array:
    """Equally spaced points in the box from corner `low` to corner `high` [m], shape (per_axis**3, 3)."""
    axes = np.linspace(np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64), per_axis)
    return np.stack(np.meshgrid(*axes.T, indexing="ij"), axis=-1).reshape(-1, 3)


def mass_point_matrix(points: ArrayLike) -> Array:
    """P, shape (10, k): ten = P masses, for point masses [kg] at `points` [m], shape (k, 3) (000, Eq. 9 to
    11).
    """
    return np.stack([from_mass_com_inertia(1.0, r, np.zeros((3, 3))) for r in np.asarray(points)], axis=1)
