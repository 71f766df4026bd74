"""The ten inertial parameters of one rigid body, and the other forms they take.

A body's ten numbers are `m, mx, my, mz, xx, xy, yy, xz, yz, zz` (see `heft.identify.bodies.parameters`), in its frame.
"""

from __future__ import annotations

from heft.identify.bodies.mass_distribution import MassDistribution
from heft.identify.bodies.mass_points import grid, mass_point_matrix
from heft.identify.bodies.pseudo_inertia import (
    PSEUDO_BASIS,
    SPATIAL_BASIS,
    from_mass_com_inertia,
    from_pseudo_inertia,
    inertia_about_com,
    inertia_about_frame,
    pseudo_inertia,
    second_moment_about_com,
    spatial_inertia,
    transform,
    transform_matrix,
)

__all__ = [
    "PSEUDO_BASIS",
    "SPATIAL_BASIS",
    "MassDistribution",
    "from_mass_com_inertia",
    "from_pseudo_inertia",
    "grid",
    "inertia_about_com",
    "inertia_about_frame",
    "mass_point_matrix",
    "pseudo_inertia",
    "second_moment_about_com",
    "spatial_inertia",
    "transform",
    "transform_matrix",
]
