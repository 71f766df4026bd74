"""Coordinates of a load: y = (m, c, Sigma_c), in which uncertainty and prior are stated, and steps that stay inside.

    m' = m exp(a),   c' = c + SIZE b,   Sigma_c' = A exp(Xi) A',   A = Q diag(sqrt(L))

is the chart that the optimum is sought through (001, Eq. 26): a, b (3) and the symmetric Xi (6) are free, no step
leaves the manifold, and mass, place and shape stay apart, as they are in the prior. Sigma_c [kg m2] is the second
moment about the centre of mass; symmetric matrices are listed xx yy zz xy xz yz.
"""

from __future__ import annotations

import numpy as np

from identify.arrays import Array, frozen
from identify.inertia.manifold import MassDistribution
from identify.inertia.pseudo import from_pseudo_inertia

__all__ = ["ELEMENTS", "SIZE", "UNITS", "derivative_by_moments", "derivative_by_step", "moved"]

SIZE = 0.1  # [m]: one unit of a step of the centre of mass

ELEMENTS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


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


def derivative_by_moments(body: MassDistribution) -> Array:
    """Derivative of the ten numbers by y, shape (10, 10); it has full rank for every body with mass."""
    point = np.append(body.com, 1.0)
    columns = np.zeros((10, 4, 4))
    columns[0] = np.outer(point, point)
    for axis in range(3):
        columns[1 + axis, axis] += body.mass * point
        columns[1 + axis, :, axis] += body.mass * point
    columns[4:, :3, :3] = UNITS
    return _TO_TEN @ columns.reshape(10, 16).T


def derivative_by_step(body: MassDistribution) -> Array:
    """Derivative of the ten numbers by a step (a, b, Xi), shape (10, 10)."""
    by_y = derivative_by_moments(body)
    root = body.axes * np.sqrt(body.moments)
    stretched = root @ UNITS @ root.T
    columns = np.empty((10, 10))
    columns[:, 0] = body.mass * by_y[:, 0]
    columns[:, 1:4] = SIZE * by_y[:, 1:4]
    columns[:, 4:] = by_y[:, 4:] @ np.stack([stretched[:, i, j] for i, j in ELEMENTS])
    return columns


def moved(body: MassDistribution, step: Array) -> MassDistribution:
    """The body that a step (10,) leads to."""
    values, vectors = np.linalg.eigh(np.tensordot(step[4:10], UNITS, axes=1))
    # Singular values of A exp(Xi / 2) keep small moments accurate; eigenvalues of the product would not.
    root = (body.axes * np.sqrt(body.moments)) @ (vectors * np.exp(values / 2))
    axes, roots, _ = np.linalg.svd(root)
    return MassDistribution(
        float(body.mass * np.exp(step[0])),
        frozen(body.com + SIZE * step[1:4]),
        frozen(axes * np.sign(np.linalg.det(axes))),
        frozen(roots**2),
    )
