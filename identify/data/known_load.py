"""A load of known mass on the flange while data were recorded: weighed, or from its drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from heft.identify.bodies import from_mass_com_inertia, transform
from heft.identify.bodies.arrays import Array, frozen
from heft.identify.bodies.parameters import Layout
from heft.identify.errors import DataError

if TYPE_CHECKING:
    from heft.identify.robot import Robot

__all__ = ["KnownLoad"]

NUMBERS = "mass,cx,cy,cz[,ixx,ixy,iyy,ixz,iyz,izz]"


@dataclass(frozen=True, eq=False)
class KnownLoad:
    """A rigid body on the flange.

    mass      [kg]
    com       centre of mass in the flange's frame [m], shape (3,); the last link's frame for a robot without a flange
    inertia   about its centre of mass, in the flange's axes [kg m2], shape (3, 3); None: a point
    """

    mass: float
    com: Array
    inertia: Array

    @classmethod
    def of(cls, mass: float, com: ArrayLike, inertia: ArrayLike | None = None) -> Self:
        """Checked: `DataError` where such a body cannot exist."""
        centre = np.asarray(com, dtype=np.float64)
        about = np.zeros((3, 3)) if inertia is None else np.asarray(inertia, dtype=np.float64)
        if centre.shape != (3,) or about.shape != (3, 3):
            raise DataError(
                f"a load with com of shape {centre.shape} and inertia of {about.shape}: give (3,) and (3, 3)"
            )
        if not (np.isfinite(mass) and mass >= 0 and np.isfinite(centre).all() and np.isfinite(about).all()):
            raise DataError(
                f"a load of {mass} kg at {centre.tolist()} m: give a mass of 0 kg or more and finite numbers"
            )
        moments = np.linalg.eigvalsh(about)
        if np.abs(about - about.T).max() > 1e-9 * max(moments[-1], 1e-300) or moments[0] < 0:
            raise DataError(
                f"a load with principal moments {moments.tolist()} kg m2: none may be below 0; check signs"
            )
        if moments[2] > (moments[0] + moments[1]) * (1 + 1e-6):
            raise DataError(
                f"a load with principal moments {moments.tolist()} kg m2: the largest is above the sum of the others, "
                "which no body's is; are they about the centre of mass, in kg m2?"
            )
        return cls(float(mass), frozen(centre), frozen(about))

    @classmethod
    def from_numbers(cls, numbers: Sequence[float]) -> Self:
        """From mass, centre, and where they are known six moments: xx, xy, yy, xz, yz, zz."""
        if len(numbers) not in (4, 10):
            raise DataError(f"a load of {len(numbers)} numbers: give four or ten, {NUMBERS}")
        if len(numbers) == 4:
            return cls.of(numbers[0], numbers[1:4])
        xx, xy, yy, xz, yz, zz = numbers[4:]
        return cls.of(numbers[0], numbers[1:4], [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    @property
    def numbers(self) -> tuple[float, ...]:
        """Inverse of `from_numbers`: ten numbers."""
        moments = [self.inertia[i, j] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))]
        return (self.mass, *self.com.tolist(), *map(float, moments))

    def parameters(self, robot: Robot) -> Array:
        """The robot's parameters with the load on its last link and nothing else, shape (p,)."""
        link, pose = robot.links[len(robot.joints) - 1], np.eye(4)
        if robot.flange is not None:
            link, pose = robot.frames[robot.flange]
        layout = Layout(robot.parameter_names)
        parameters = np.zeros(len(layout))
        ten = from_mass_com_inertia(self.mass, self.com, self.inertia)
        parameters[layout.link(link)] = transform(ten, pose[:3, :3], pose[:3, 3])
        return parameters

    def __str__(self) -> str:
        x, y, z = self.com
        return f"{self.mass:.4g} kg at ({x:.3g}, {y:.3g}, {z:.3g}) m"
