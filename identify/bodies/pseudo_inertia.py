"""The two matrices that are linear in a body's ten numbers, and positive definite for a body that can exist.

Pseudo-inertia, 4x4, the second moment of the mass distribution in homogeneous coordinates:

    J = [[Sigma, h], [h', m]],   Sigma = int x x' dm = tr(L)/2 1 - L,   h = m c

with m the mass [kg], h the first moment [kg m], L the inertia about the frame's origin [kg m2]. J > 0 says
all that can be said without a shape: mass, positive definite inertia about the centre of mass, triangle
inequality.

Spatial inertia, 6x6 (003, Eq. 17), says the same but for the triangle inequality:

    D = [[L, S(h)], [S(h)', m 1]]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.errors import ParameterError

__all__ = [
    "INERTIA_ELEMENTS",
    "PSEUDO_BASIS",
    "SPATIAL_BASIS",
    "from_mass_com_inertia",
    "from_pseudo_inertia",
    "inertia_about_com",
    "inertia_about_frame",
    "pseudo_inertia",
    "second_moment_about_com",
    "skew",
    "spatial_inertia",
    "transform",
    "transform_matrix",
]

INERTIA_ELEMENTS = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
"""Row and column of the last six of the ten numbers: xx xy yy xz yz zz."""


def skew(vector: ArrayLike) -> Array:
    """S(a), with S(a) b = a x b (003, Eq. 6), of vectors (..., 3): shape (..., 3, 3)."""
    vectors = np.asarray(vector, dtype=np.float64)
    matrices = np.zeros((*vectors.shape, 3))
    x, y, z = vectors[..., 0], vectors[..., 1], vectors[..., 2]
    matrices[..., 0, 1], matrices[..., 0, 2], matrices[..., 1, 2] = -z, y, -x
    matrices[..., 1, 0], matrices[..., 2, 0], matrices[..., 2, 1] = z, -y, x
    return matrices


def _bases() -> tuple[Array, Array]:
    """Derivatives of J and D with respect to each of the ten numbers."""
    pseudo, spatial = np.zeros((10, 4, 4)), np.zeros((10, 6, 6))
    pseudo[0, 3, 3] = 1.0
    spatial[0, 3:, 3:] = np.eye(3)
    for axis in range(3):
        pseudo[1 + axis, axis, 3] = pseudo[1 + axis, 3, axis] = 1.0
        spatial[1 + axis, :3, 3:] = skew(np.eye(3)[axis])
        spatial[1 + axis, 3:, :3] = spatial[1 + axis, :3, 3:].T
    for number, (i, j) in enumerate(INERTIA_ELEMENTS, start=4):
        inertia = np.zeros((3, 3))
        inertia[i, j] = inertia[j, i] = 1.0
        pseudo[number, :3, :3] = np.trace(inertia) / 2 * np.eye(3) - inertia
        spatial[number, :3, :3] = inertia
    return pseudo, spatial


PSEUDO_BASIS, SPATIAL_BASIS = (frozen(basis) for basis in _bases())
"""J = sum_i ten_i PSEUDO_BASIS[i], shape (10, 4, 4); D = sum_i ten_i SPATIAL_BASIS[i], shape (10, 6, 6)."""


def _ten(ten: ArrayLike) -> Array:
    numbers = np.asarray(ten, dtype=np.float64)
    if numbers.shape != (10,):
        raise ParameterError(f"shape {numbers.shape} instead of ten numbers: m, mx my mz, xx xy yy xz yz zz")
    return numbers


def pseudo_inertia(ten: ArrayLike) -> Array:
    """J, shape (4, 4)."""
    return np.tensordot(_ten(ten), PSEUDO_BASIS, axes=1)


def spatial_inertia(ten: ArrayLike) -> Array:
    """D, shape (6, 6); moments first (003, Eq. 17)."""
    return np.tensordot(_ten(ten), SPATIAL_BASIS, axes=1)


def from_pseudo_inertia(matrix: ArrayLike) -> Array:
    """The ten numbers of J."""
    (a, b, c, x), (_, d, e, y), (_, _, f, z), (_, _, _, m) = np.asarray(matrix, dtype=np.float64).tolist()
    trace = a + d + f
    return np.array([m, x, y, z, trace - a, -b, trace - d, -c, -e, trace - f])


def from_mass_com_inertia(mass: float, com: ArrayLike, inertia_com: ArrayLike) -> Array:
    """The ten numbers from mass [kg], centre of mass [m] and inertia about it [kg m2] (003, Eq. 5)."""
    inertia = np.asarray(inertia_com, dtype=np.float64) + mass * (skew(com).T @ skew(com))
    first = mass * np.asarray(com, dtype=np.float64)
    return np.concatenate([[mass], first, [inertia[i, j] for i, j in INERTIA_ELEMENTS]])


def inertia_about_frame(ten: ArrayLike) -> Array:
    """L, shape (3, 3) [kg m2]."""
    return spatial_inertia(ten)[:3, :3]


def inertia_about_com(ten: ArrayLike) -> Array:
    """I, shape (3, 3) [kg m2] (003, Eq. 10); NaN for a body without mass."""
    numbers = _ten(ten)
    if numbers[0] == 0.0:
        return np.full((3, 3), np.nan)
    arm = skew(numbers[1:4])
    return inertia_about_frame(numbers) - arm.T @ arm / numbers[0]


def second_moment_about_com(ten: ArrayLike) -> Array:
    """Sigma about the centre of mass, shape (3, 3) [kg m2]; its eigenvalues are L of 001, Eq. 16."""
    inertia = inertia_about_com(ten)
    return np.trace(inertia) / 2 * np.eye(3) - inertia


def transform_matrix(rotation_old_to_new: ArrayLike, position_old_in_new: ArrayLike) -> Array:
    """B, shape (10, 10), with ten_new = B ten_old, for x_new = R x_old + p (J_new = T J_old T', T = [R p; 0 1]).

    R [-] turns coordinates of the old frame into those of the new one, p [m] is the old origin in the new
    frame.
    """
    T = np.eye(4)
    T[:3, :3] = rotation_old_to_new
    T[:3, 3] = position_old_in_new
    return np.stack([from_pseudo_inertia(T @ basis @ T.T) for basis in PSEUDO_BASIS], axis=1)


def transform(ten: ArrayLike, rotation_old_to_new: ArrayLike, position_old_in_new: ArrayLike) -> Array:
    """The ten numbers in the new frame; see `transform_matrix`."""
    return transform_matrix(rotation_old_to_new, position_old_in_new) @ np.asarray(ten, dtype=np.float64)
