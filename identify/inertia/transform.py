"""A body's ten numbers in another frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from identify.arrays import Array
from identify.inertia.pseudo import PSEUDO_BASIS, from_pseudo_inertia

__all__ = ["transform", "transform_matrix"]


def transform_matrix(rotation_old_to_new: ArrayLike, position_old_in_new: ArrayLike) -> Array:
    """B, shape (10, 10), with ten_new = B ten_old, for x_new = R x_old + p (J_new = T J_old T', T = [R p; 0
    1]).

    R [-] turns coordinates of the old frame into those of the new one, p [m] is the old origin in the new
    frame.
    """
    T = np.eye(4)
    T[:3, :3] = rotation_old_to_new
    T[:3, 3] = position_old_in_new
    return np.stack([from_pseudo_inertia(T @ basis @ T.T) for basis in PSEUDO_BASIS], axis=1)


def transform(ten: ArrayLike, rotation_old_to_new: ArrayLike, position_old_in_new: ArrayLike) -> Array:
    """The ten numbers in the new frame; see `transform_matrix`."""
    return transform_matrix(rotation_old_to_new, position_old_in_new) @ np.asarray(ten, dtype=np.float64)
