"""The ten inertial parameters of one rigid body, and the other forms they take.

A body's ten numbers are `m, mx, my, mz, xx, xy, yy, xz, yz, zz` (see `identify.parameters`), in its frame.
"""

from __future__ import annotations

from identify.inertia.log_cholesky import from_log_cholesky, to_log_cholesky
from identify.inertia.manifold import MassDistribution
from identify.inertia.mass_points import grid, mass_point_matrix
from identify.inertia.pseudo import (
    PSEUDO_BASIS,
    SPATIAL_BASIS,
    from_mass_com_inertia,
    from_pseudo_inertia,
    inertia_about_com,
    inertia_about_frame,
    pseudo_inertia,
    second_moment_about_com,
    spatial_inertia,
)
from identify.inertia.transform import transform, transform_matrix

__all__ = [
    "PSEUDO_BASIS",
    "SPATIAL_BASIS",
    "MassDistribution",
    "from_log_cholesky",
    "from_mass_com_inertia",
    "from_pseudo_inertia",
    "grid",
    "inertia_about_com",
    "inertia_about_frame",
    "mass_point_matrix",
    "pseudo_inertia",
    "second_moment_about_com",
    "spatial_inertia",
    "to_log_cholesky",
    "transform",
    "transform_matrix",
]
