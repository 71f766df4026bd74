"""Mass, centre, principal axes, second moments: the manifold of bodies that can exist (001, section III B).

    theta = (m, c, Q, L) in R+ x R3 x SO(3) x R+^3,   Sigma_c = Q diag(L) Q'

An optimiser moves on it through a chart about the current point (001, Eq. 26). There are two, and both have full rank
everywhere, also where two of L are equal and the angle about the third axis has no effect:

    linear   J' = A (1 + X) A',   A = [[Q diag(sqrt(L)), sqrt(m) c], [0, sqrt(m)]],   J = A A'
    log      m' = m exp(a),   c' = c + LOG_STEP_SIZE b,   Sigma_c' = B exp(Xi) B',   B = Q diag(sqrt(L))

The linear chart is linear in the ten numbers, so that residuals are, too; the symmetric 4x4 matrix X is free as long
as 1 + X > 0, so that the distance to the border is 1 in every direction. In the log chart all ten coordinates (a, b,
and the symmetric 3x3 matrix Xi) are free, and mass, place and shape stay apart. Covariances are stated for

    y = (m, c, Sigma_c)

with the elements of symmetric 3x3 matrices in the order of `ELEMENTS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.bodies.pseudo_inertia import from_pseudo_inertia, second_moment_about_com

__all__ = ["CENTRE", "ELEMENTS", "LOG_STEP_SIZE", "UNITS", "MassDistribution", "symmetric"]

LOG_STEP_SIZE = 0.1
"""[m]: a step of 1 in b."""

ELEMENTS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
"""xx yy zz xy xz yz."""


def _units() -> Array:
    units = np.zeros((6, 3, 3))
    for n, (i, j) in enumerate(ELEMENTS):
        units[n, i, j] = units[n, j, i] = 1.0
    return units


UNITS = frozen(_units())
"""Symmetric matrices with a single element, shape (6, 3, 3)."""

_TO_TEN = np.stack(
    [from_pseudo_inertia(np.eye(4)[:, [i]] @ np.eye(4)[[j]]) for i in range(4) for j in range(4)], axis=1
)  # the ten numbers of J, listed row by row; a symmetric J sets both halves

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

    def thickened(self, least_moment: float) -> MassDistribution:
        """With second moments of at least `least_moment` [kg m2]."""
        return MassDistribution(self.mass, self.com, self.axes, np.maximum(self.moments, least_moment))

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

    def derivative_by_moments(self) -> Array:
        """Derivative of the ten numbers by y, shape (10, 10)."""
        point = np.append(self.com, 1.0)
        columns = np.zeros((10, 4, 4))
        columns[0] = np.outer(point, point)
        for axis in range(3):
            columns[1 + axis, axis] += self.mass * point
            columns[1 + axis, :, axis] += self.mass * point
        columns[4:, :3, :3] = UNITS
        return _TO_TEN @ columns.reshape(10, 16).T

    def derivative_by_linear_step(self) -> Array:
        """Derivative of the ten numbers by the coordinates x of X, shape (10, 10)."""
        return np.asarray(_TO_TEN @ (self.root @ _BASIS @ self.root.T).reshape(10, 16).T)

    def linear_step(self, x: ArrayLike) -> MassDistribution:
        """The point at coordinates x (10,) of the linear chart, 1 + X being positive definite."""
        values, vectors = np.linalg.eigh(symmetric(x))
        root = self.root @ (vectors * np.sqrt(1 + values))
        # A 4x4 root of J' with one column for the centre: turn the last row onto the last axis.
        mass = float(root[3] @ root[3])
        com = root[:3] @ root[3] / mass
        axes, roots, _ = np.linalg.svd(root[:3] - np.outer(com, root[3]))
        return MassDistribution(
            mass, frozen(com), frozen(axes * np.sign(np.linalg.det(axes))), frozen(roots**2)
        )

    def derivative_by_log_step(self) -> Array:
        """Derivative of the ten numbers by the coordinates (a, b, Xi) of the log chart, shape (10, 10)."""
        by_y = self.derivative_by_moments()
        root = self.axes * np.sqrt(self.moments)
        stretched = root @ UNITS @ root.T
        columns = np.empty((10, 10))
        columns[:, 0] = self.mass * by_y[:, 0]
        columns[:, 1:4] = LOG_STEP_SIZE * by_y[:, 1:4]
        columns[:, 4:] = by_y[:, 4:] @ np.stack([stretched[:, i, j] for i, j in ELEMENTS])
        return columns

    def log_step(self, step: Array) -> MassDistribution:
        """The point at coordinates (a, b, Xi) of the log chart, shape (10,)."""
        values, vectors = np.linalg.eigh(np.tensordot(step[4:10], UNITS, axes=1))
        # Singular values of B exp(Xi / 2) keep small moments accurate; eigenvalues of the product would not.
        root = (self.axes * np.sqrt(self.moments)) @ (vectors * np.exp(values / 2))
        axes, roots, _ = np.linalg.svd(root)
        return MassDistribution(
            float(self.mass * np.exp(step[0])),
            frozen(self.com + LOG_STEP_SIZE * step[1:4]),
            frozen(axes * np.sign(np.linalg.det(axes))),
            frozen(roots**2),
        )
