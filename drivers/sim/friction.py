"""The friction law of the plant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Friction"]


@dataclass(frozen=True, slots=True, eq=False)
class Friction:
    """viscous v + (coulomb + stribeck exp(-(v / stribeck_velocity)^2)) tanh(v / smoothing_velocity) + offset.

    All per joint, shape (n,): viscous [N m s/rad], coulomb, stribeck, offset [N m], velocities [rad/s]. `stribeck` None
    leaves the law of the identification model.
    """

    viscous: NDArray[np.float64]
    coulomb: NDArray[np.float64]
    offset: NDArray[np.float64]
    smoothing_velocity: NDArray[np.float64]
    stribeck: NDArray[np.float64] | None = None
    stribeck_velocity: float = 0.1

    def torque(self, v: NDArray[np.float64]) -> NDArray[np.float64]:
        """Torque that has to be overcome at velocity v [N m], shape (..., n)."""
        coulomb = self.coulomb
        if self.stribeck is not None:
            coulomb = coulomb + self.stribeck * np.exp(-np.square(v / self.stribeck_velocity))
        return self.viscous * v + coulomb * np.tanh(v / self.smoothing_velocity) + self.offset
