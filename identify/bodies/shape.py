"""Can a body's mass lie inside a box? The exact condition (level `shape`).

In the box's own coordinates (-1..1 on each axis) the box is cut into five tetrahedra with vertices V_i (4, 4,
homogeneous columns). Mass lies inside if and only if

    J = sum_i V_i X_i V_i',   X_i positive semidefinite and X_i >= 0 element by element

for mass in a tetrahedron has a completely positive second moment in barycentric coordinates, and up to 4x4
that is the same as positive semidefinite with no negative element. How far inside is said by the `share`:
the largest part of the mass that can be spread evenly over the whole box with the rest still inside it; 1
for an even body, negative for an impossible one.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.bodies.cone import ConeProgram, svec
from heft.identify.bodies.pseudo_inertia import PSEUDO_BASIS, pseudo_inertia

__all__ = ["EVEN", "PARTS", "add_parts", "box_frame", "box_rows", "share_inside", "tetrahedra"]

EVEN = frozen(np.diag([1 / 3, 1 / 3, 1 / 3, 1.0]))
"""J of one kilogram spread evenly over the box, in its coordinates."""

PARTS = 5 * 10
"""Numbers that describe the parts of a body: ten for X_i of each tetrahedron."""


def tetrahedra() -> list[Array]:
    """A cube cut into five: the corners with an even number of -1, and one at each of the other four
    corners.
    """
    corners = [np.array(corner, dtype=float) for corner in product((-1, 1), repeat=3)]
    even = [corner for corner in corners if np.prod(corner) > 0]
    cells = [even]
    for odd in (corner for corner in corners if np.prod(corner) < 0):
        cells.append([odd, *(corner for corner in even if np.abs(corner - odd).sum() == 2)])
    return [np.vstack([np.transpose(cell), np.ones(4)]) for cell in cells]


def _part_rows() -> tuple[Array, Array]:
    """svec of sum_i V_i X_i V_i' as rows over svec of the X_i, shape (10, 50); and the off-diagonal
    elements.
    """
    unit = np.eye(10) / svec(np.ones((4, 4)))  # svec of the symmetric unit matrices is the unit vectors
    columns, rows = np.tril_indices(4)
    units = np.zeros((10, 4, 4))
    units[:, rows, columns] = unit
    units[:, columns, rows] = unit
    blocks = [svec(V @ units @ V.T).T for V in tetrahedra()]
    off = np.flatnonzero(rows != columns)
    return np.hstack(blocks), np.concatenate([10 * i + off for i in range(5)])


_SUM, _OFF_DIAGONAL = _part_rows()


def box_frame(low: ArrayLike, high: ArrayLike) -> Array:
    """N, shape (4, 4): J in the coordinates of the box is N J N'."""
    low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    N = np.eye(4)
    N[:3, :3] = np.diag(2 / (high - low))
    N[:3, 3] = -(high + low) / (high - low)
    return N


def box_rows(low: ArrayLike, high: ArrayLike) -> Array:
    """svec of J in the box's coordinates as rows over the ten numbers, shape (10, 10)."""
    N = box_frame(low, high)
    return svec(N @ PSEUDO_BASIS @ N.T).T


def add_parts(program: ConeProgram, rows: ArrayLike, constant: ArrayLike) -> None:
    """Demand that svec J = E x + e (box's coordinates) is mass inside the box, by `PARTS` new variables."""
    parts = program.extend(PARTS)
    E = np.asarray(rows, dtype=np.float64)
    gap = np.zeros((10, parts.start - E.shape[1]))
    program.zero(np.hstack([E, gap, -_SUM]), constant)
    for i in range(5):
        select = np.zeros((10, program.variables))
        select[:, parts.start + 10 * i : parts.start + 10 * (i + 1)] = np.eye(10)
        program.semidefinite(select, np.zeros(10))
    pick = np.zeros((len(_OFF_DIAGONAL), program.variables))
    pick[np.arange(len(_OFF_DIAGONAL)), parts.start + _OFF_DIAGONAL] = 1.0
    program.non_negative(pick, np.zeros(len(_OFF_DIAGONAL)))


def share_inside(ten: ArrayLike, low: ArrayLike, high: ArrayLike) -> float:
    """The share of a body's mass that can be spread evenly over the box; not positive: not realisable
    inside.
    """
    N = box_frame(low, high)
    J = pseudo_inertia(ten)
    if J[3, 3] <= 0:
        return float("-inf")
    program = ConeProgram(1)
    program.linear([-1.0], slice(0, 1))
    add_parts(program, -svec(EVEN)[:, None], svec(N @ J @ N.T) / J[3, 3])
    return float(program.solve().x[0])
