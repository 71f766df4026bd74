"""What is known of an object before it is weighed, and how much that counts.

The shape enters through the gyration tensor G = Sigma_c / m [m2] (the second moment about the centre of mass per
kilogram) by its entropic distance to the expected one G0,

    nu / 2 (tr(G0^-1 G) - log det(G0^-1 G) - 3),    nu = 2 / spread^2

which is also the barrier that keeps every iterate a body that can exist. Mass enters by its logarithm and the
centre of mass by a normal distribution.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.errors import ProblemError

__all__ = ["PLAUSIBLE", "ObjectPrior", "PlausibleObject", "PriorScale"]


@dataclass(frozen=True)
class PlausibleObject:
    """An object of which nothing is told: what grippers pick up. Chosen from such things, not tuned.

    reach        [m]: standard deviation of its centre of mass from the gripper's sensor
    density      [kg/m3]: between packed goods (300) and metal parts (8000), nearer to the lighter
    log_mass     standard deviation of the logarithm of its mass: 1 kg, a factor of 150 either way
    log_shape    the same of its second moments; nu = 0.1: gives way to any data
    dense_shape  the same by density alone: a ball is the least, a rod ten times as long as thick has 27 times it
    gyration     [m]: a rod of 0.35 m, or a shell of 0.25 m: as far out as most things' mass is
    least_mass   [kg]: what is lighter is hardly told from nothing; a mass is measured if it is known to a fraction of
                 this or of itself
    """

    reach: float = 0.3
    density: float = 1000.0
    log_mass: float = 5.0
    log_shape: float = 4.5
    dense_shape: float = 1.5
    gyration: float = 0.1
    least_mass: float = 0.1


PLAUSIBLE = PlausibleObject()

_BEATEN = {"given": 1 / 3, "mass": 1 / 10, "com": 1 / 10, "inertia": 1 / 40}
"""A standard deviation below this part of the prior's is a measurement: where the prior was given, else of what is
merely plausible; moments to about 5 %."""


@dataclass(frozen=True)
class PriorScale:
    """Standard deviations that data must beat: mass [kg], centre of mass [m], second moments [kg m2].

    `spread` [kg m2]: how far second moments may be from those of the estimate where data do not tell them.
    `given`: whether they are knowledge, or only the scale of what is plausible.
    """

    mass: float
    com: float
    moment: float
    spread: float
    given: tuple[str, ...] = ()

    def measured(self, quantity: str, variance: ArrayLike, prior: ArrayLike) -> NDArray[np.bool_]:
        """Whether data have brought a variance so far below the prior's that they, not it, decide the value."""
        part = _BEATEN["given" if quantity in self.given else quantity]
        return np.asarray(np.asarray(variance) < part**2 * np.asarray(prior))


@dataclass(frozen=True)
class ObjectPrior:
    """What may be known of an object; everything may be left out.

    `dimensions` [m] (3,) of its box along the axes of `rotation` (object to sensor frame; None: any orientation);
    `density` [kg/m3]; `com` [m] (3,) in the sensor frame with `com_std` [m]. Mass is known if both dimensions and
    density are, to a factor exp(`mass_spread`); the shape is known by dimensions, to a factor exp(`shape_spread`) in
    each second moment. A density alone says how much room there is, not of what shape.
    """

    dimensions: ArrayLike | None = None
    density: float | None = None
    com: ArrayLike | None = None
    com_std: float | None = None
    rotation: ArrayLike | None = None
    mass_spread: float = 0.5
    shape_spread: float = 0.4

    def __post_init__(self) -> None:
        for name, shape in (("dimensions", (3,)), ("com", (3,)), ("rotation", (3, 3))):
            value = getattr(self, name)
            if value is None:
                continue
            array = frozen(value)
            if array.shape != shape or not np.all(np.isfinite(array)):
                raise ProblemError(
                    f"prior: {name} {np.asarray(value).tolist()}, must be finite, shape {shape}"
                )
            object.__setattr__(self, name, array)
        sizes = {
            "dimensions": None if self.dimensions is None else float(np.min(self.dimensions)),
            "density": self.density,
            "com_std": self.com_std,
            "mass_spread": self.mass_spread,
            "shape_spread": self.shape_spread,
        }
        for name, size in sizes.items():
            if size is not None and not 0 < size < np.inf:
                raise ProblemError(
                    f"prior: {name} {size:g}, must be above zero and finite; leave it out if unknown"
                )
        if (self.com is None) != (self.com_std is None):
            raise ProblemError("prior: com and com_std come together; give both or none")

    @property
    def log_mass(self) -> tuple[float, float]:
        """Mean and standard deviation of the logarithm of the mass [kg]."""
        if self.dimensions is None or self.density is None:
            return 0.0, PLAUSIBLE.log_mass
        return float(np.log(self.density * np.prod(np.asarray(self.dimensions)))), self.mass_spread

    @property
    def centre(self) -> tuple[Array, float]:
        """Mean and standard deviation of the centre of mass [m]."""
        if self.com is None or self.com_std is None:
            return np.zeros(3), PLAUSIBLE.reach
        return np.asarray(self.com), self.com_std

    @property
    def weight(self) -> float:
        """nu: how much the shape counts."""
        if self.dimensions is not None:
            return 2.0 / self.shape_spread**2
        return 2.0 / (PLAUSIBLE.log_shape if self.density is None else PLAUSIBLE.dense_shape) ** 2

    @property
    def mass_exponent(self) -> float:
        """p of G0 ~ m^p: 0 for a box, 2/3 for a ball of given density."""
        return 0.0 if self.dimensions is not None else 2.0 / 3.0

    @property
    def without_shape(self) -> ObjectPrior:
        """The same, of an object of any shape."""
        return replace(self, dimensions=None, density=None, rotation=None)

    def gyration(self, mass: float) -> Array:
        """G0 [m2], shape (3, 3): of an even box, or of a ball with that mass."""
        if self.dimensions is not None:
            squares = np.asarray(self.dimensions) ** 2 / 12.0
            if self.rotation is None:
                return np.eye(3) * squares.mean()
            R = np.asarray(self.rotation)
            return (R * squares) @ R.T
        volume = mass / (self.density or PLAUSIBLE.density)
        return np.eye(3) * (3.0 * volume / (4.0 * np.pi)) ** (2.0 / 3.0) / 5.0

    def scale(self, mass: float, largest_moment: float) -> PriorScale:
        """What data must beat to count as a measurement, at an estimate of mass and largest second moment."""
        given = []
        mass_scale, com_scale = max(mass, PLAUSIBLE.least_mass), self.centre[1]
        expected = mass * float(np.linalg.eigvalsh(self.gyration(mass))[-1])
        moment_scale = 2.0 * max(expected, largest_moment)
        spread = max(moment_scale, mass * PLAUSIBLE.gyration**2)
        if self.dimensions is not None and self.density is not None:
            mass_scale = self.mass_spread * float(np.exp(self.log_mass[0]))
            given.append("mass")
        if self.com is not None:
            given.append("com")
        if self.dimensions is not None:
            moment_scale = spread = self.shape_spread * expected
            given.append("inertia")
        return PriorScale(mass_scale, com_scale, moment_scale, spread, tuple(given))
