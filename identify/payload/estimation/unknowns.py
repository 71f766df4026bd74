"""What an estimation looks for: a load, and the delay and gravity's direction where they are not known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.mass_distribution import MassDistribution
from heft.identify.payload.estimation.object_prior import PriorScale

__all__ = ["DirectRows", "Lifted", "LiftedJacobian", "LinearInformation", "Point", "Unknowns"]


@dataclass(frozen=True)
class LiftedJacobian:
    """`values` s (p,) at a point, and its `jacobian` by the load's ten numbers, delay and gravity (3), (p, 14)."""

    values: Array
    jacobian: Array


class Lifted(Protocol):
    """Rows that are linear in s, and s as a function of load, delay and gravity."""

    @property
    def width(self) -> int:
        """Length p of s."""

    def lift(self, ten: Array, delay: float, gravity: Array) -> LiftedJacobian:
        """s at a point."""


@dataclass(frozen=True)
class DirectRows:
    """Rows that multiply the ten numbers themselves, as those of joint torques do: s = ten."""

    width: int = 10

    def lift(self, ten: Array, delay: float, gravity: Array) -> LiftedJacobian:
        """The ten numbers."""
        return LiftedJacobian(ten, np.eye(10, 14))


@dataclass(frozen=True)
class Point:
    """A load, the delay [s] and gravity [m/s2] in the world frame."""

    body: MassDistribution
    delay: float
    gravity: Array

    @cached_property
    def ten(self) -> Array:
        """The load's ten numbers."""
        return self.body.ten

    def lift(self, lifted: Lifted) -> LiftedJacobian:
        """s of some rows here."""
        return lifted.lift(self.ten, self.delay, self.gravity)

    @property
    def across_gravity(self) -> Array:
        """Two vectors across gravity, as long as it, shape (3, 2)."""
        return float(np.linalg.norm(self.gravity)) * np.linalg.svd(self.gravity[None, :])[2][1:].T


@dataclass(frozen=True)
class LinearInformation:
    """R s = z with noise of variance `noise`, and what s is made of.

    `doubt` (p,) is a standard deviation, common to all its elements, of R'(R s - z): an error that no number of
    samples averages out.
    """

    R: Array
    z: Array
    lifted: Lifted
    noise: float = 1.0
    doubt: Array | None = None

    def misfit(self, point: Point) -> float:
        """|R s - z|^2."""
        residual = self.R @ point.lift(self.lifted).values - self.z
        return float(residual @ residual)


@dataclass(frozen=True)
class Unknowns:
    """What is free beside the load (10): the delay (1) with a standard deviation beforehand [s], None: it is known;
    and gravity's direction (2).
    """

    delay_std: float | None = None
    free_gravity: bool = False

    def columns(self, point: Point, by_body: Array, delay_unit_s: float = 1.0) -> Array:
        """Derivative of (ten, delay, gravity) by what is free, shape (14, 10 to 13); `by_body` (10, 10) is that of the
        ten numbers by the coordinates of the load.
        """
        delayed = self.delay_std is not None
        columns = np.zeros((14, 10 + int(delayed) + 2 * int(self.free_gravity)))
        columns[:10, :10] = by_body
        if delayed:
            columns[10, 10] = delay_unit_s
        if self.free_gravity:
            columns[11:, -2:] = point.across_gravity
        return columns

    def prior_precision(self, scale: PriorScale) -> Array:
        """Information of the prior about y = (m, c, Sigma_c) and what else is free."""
        moment = 1 / scale.spread**2
        diagonal = [1 / scale.mass**2, *[1 / scale.com**2] * 3, *[moment] * 3, *[2 * moment] * 3]
        if self.delay_std is not None:
            diagonal.append(1 / self.delay_std**2)
        if self.free_gravity:
            diagonal += [np.pi**-2] * 2  # a direction of which nothing is known may be the opposite one
        return np.diag(diagonal)
