"""Mass, centre, principal axes, second moments: the manifold of bodies that can exist (001, section III B).

    theta = (m, c, Q, L) in R+ x R3 x SO(3) x R+^3,   Sigma_c = Q diag(L) Q'

An optimiser moves on it through a chart about the current point (001, Eq. 26). Here that is

    J' = A (1 + X) A',   A = [[Q diag(sqrt(L)), sqrt(m) c], [0, sqrt(m)]],   J = A A'

with the symmetric 4x4 matrix X free as long as 1 + X > 0. It has full rank everywhere, also where two of L
are equal and the angle about the third axis has no effect; it is linear in the ten numbers, so that residuals
are, too; and the distance to the border in every direction is 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from identify.arrays import Array, frozen
from identify.inertia.pseudo import from_pseudo_inertia, second_moment_about_com

__all__ = ["CENTRE", "MassDistribution", "symmetric"]

_COLUMNS, _ROWS = np.tril_indices(4)
_UNIT = np.where(_ROWS == _COLUMNS, 1.0, np.sqrt(0.5))
_BASIS = np.zeros((10, 4, 4))
_BASIS[np.arange(10), _ROWS, _COLUMNS] = _UNIT
_BASIS[np.arange(10), _COLUMNS, _ROWS] = _UNIT

CENTRE = frozen(np.where(_ROWS == _COLUMNS, 1.0, 0.0))
"""Coordinates of X = 1, shape (10,): log det (1 + X) grows by CENTRE' x at first."""


def symmetric(x: ArrayLike) -> Array:
    """X of its ten coordinates, an orthonormal basis: |X| = |x|."""
    return np.tensordot(np.asarray(x, dtype=np.float64), _BASIS, axes=1)


@dataclass(frozen=True)
class MassDistribution:
    """One point of the manifold.

    `mass` [kg], `com` [m] (3,), `axes` Q (3, 3) with the principal axes as columns in the body's frame,
    `moments` L [kg m2] (3,), the second moments of mass about the centre along them.
    """

    mass: float
    com: Array
    axes: Array
    moments: Array

    @classmethod
    def from_ten(cls, ten: ArrayLike, least_moment: float = 0.0) -> Self:
        """The point of ten numbers with positive mass; moments below `least_moment` are raised to it."""
        numbers = np.asarray(ten, dtype=np.float64)
        moments, axes = np.linalg.eigh(second_moment_about_com(numbers))
        return cls(
            float(numbers[0]),
            frozen(numbers[1:4] / numbers[0]),
            frozen(axes * np.sign(np.linalg.det(axes))),
            frozen(np.maximum(moments, least_moment)),
        )

    @property
    def root(self) -> Array:
        """A, shape (4, 4)."""
        A = np.zeros((4, 4))
        A[:3, :3] = self.axes * np.sqrt(self.moments)
        A[:3, 3] = np.sqrt(self.mass) * self.com
        A[3, 3] = np.sqrt(self.mass)
        return A

    @property
    def ten(self) -> Array:
        """The ten numbers (001, section III B)."""
        return from_pseudo_inertia(self.root @ self.root.T)

    def derivative(self) -> Array:
        """Ten numbers per coordinate of the chart, shape (10, 10)."""
        return np.stack([from_pseudo_inertia(self.root @ X @ self.root.T) for X in _BASIS], axis=1)

    def moved(self, x: ArrayLike) -> MassDistribution:
        """The point that the chart reaches with coordinates x, shape (10,), 1 + X being positive definite."""
        values, vectors = np.linalg.eigh(symmetric(x))
        root = self.root @ (vectors * np.sqrt(1 + values))
        # A 4x4 root of J' with one column for the centre: turn the last row onto the last axis.
        mass = float(root[3] @ root[3])
        com = root[:3] @ root[3] / mass
        axes, roots, _ = np.linalg.svd(root[:3] - np.outer(com, root[3]))
        return MassDistribution(
            mass, frozen(com), frozen(axes * np.sign(np.linalg.det(axes))), frozen(roots**2)
        )
