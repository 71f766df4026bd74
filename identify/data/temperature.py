"""Temperatures of the joints, which friction depends on: slow, and with stamps of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.errors import DataError

__all__ = ["Temperature"]


@dataclass(frozen=True, eq=False)
class Temperature:
    """Of n joints: `t` [s] on the dataset's own time, increasing, shape (M,), and `kelvin` [K], shape (M, n)."""

    t: Array
    kelvin: Array

    def __post_init__(self) -> None:
        t, kelvin = np.asarray(self.t, dtype=np.float64), np.asarray(self.kelvin, dtype=np.float64)
        if kelvin.ndim != 2 or t.shape != (len(kelvin),):
            raise DataError(
                f"temperature has shape {kelvin.shape}, with {len(t)} stamps it must be ({len(t)}, n)"
            )
        good = np.isfinite(t) & np.isfinite(kelvin).all(axis=1)
        if not good.any():
            raise DataError("no temperature is a finite number; leave them out, or give them in kelvin")
        t, first = np.unique(t[good], return_index=True)
        object.__setattr__(self, "t", frozen(t))
        object.__setattr__(self, "kelvin", frozen(kelvin[good][first]))

    def at(self, t: Array) -> Array:
        """[K] at instants t [s] (T,), shape (n, T); as at the ends beyond them."""
        return np.stack([np.interp(t, self.t, column) for column in self.kelvin.T])
