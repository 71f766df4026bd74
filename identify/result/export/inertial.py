"""A body's inertia as model files write it: mass, centre of mass, inertia about it; and numbers as text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from heft.identify.bodies import inertia_about_com, inertia_about_frame
from heft.identify.bodies.arrays import Array

__all__ = ["Inertial", "number", "numbers"]


@dataclass(frozen=True, eq=False)
class Inertial:
    """mass [kg], com [m] (3,), inertia about it in the axes of the body's frame [kg m2] (3, 3)."""

    mass: float
    com: Array
    inertia: Array

    @classmethod
    def of(cls, ten: Array) -> Inertial:
        """From the ten numbers; without mass the centre is the frame's origin."""
        mass = float(ten[0])
        if mass == 0.0:
            return cls(0.0, np.zeros(3), inertia_about_frame(ten))
        return cls(mass, ten[1:4] / mass, inertia_about_com(ten))

    def entries(self, *pairs: str) -> list[float]:
        """Entries of the inertia by name: `xx`, `xy`, ..."""
        return [float(self.inertia["xyz".index(pair[0]), "xyz".index(pair[1])]) for pair in pairs]


def number(value: float) -> str:
    """The shortest text that reads back as the same double."""
    return repr(float(value) + 0.0)  # no negative zero


def numbers(values: ArrayLike) -> str:
    """Several, with blanks between."""
    return " ".join(number(value) for value in np.asarray(values, dtype=np.float64).ravel())
