"""Torques of a model beside the measured ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from identify.arrays import Array

__all__ = ["Prediction"]


@dataclass(frozen=True)
class Prediction:
    """Filtered torques at the instants of a dataset's rows.

    time                 [s], shape (K,)
    predicted, measured  [N m, N], shape (K, n)
    std                  of the predicted torque, from what is unsure of the parameters [N m, N], shape (K, n); infinite
                         where it depends on something that the data say nothing of
    moving               False where a joint stood still and friction can be anything, shape (K, n)
    """

    time: Array
    predicted: Array
    measured: Array
    std: Array
    moving: NDArray[np.bool_]

    @property
    def residual(self) -> Array:
        """measured - predicted [N m, N], shape (K, n)."""
        return np.asarray(self.measured - self.predicted)
