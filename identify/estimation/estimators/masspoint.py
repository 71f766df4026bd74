"""Links made of mass points in their boxes: consistency by linear constraints, the prior in the null space (000).

    minimise  |R P rho - z|^2 / v + |W^1/2 N (P rho - d0)|^2 + l |rho - rho0|^2   subject to   rho > 0     (Eq. 29)

with P the parameters of unit masses at the points (Eq. 10 to 14), N = 1 - Z^+ Z the projector on what no torque
depends on (Eq. 25), W by how far a link's parameters can be from the prior inside its box (Eq. 17 to 28), and rho0 =
P^+ d0 (Eq. 23). Joint terms are further unknowns beside rho.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import scipy.sparse as sp
from scipy import linalg

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.cone import ConeProgram
from heft.identify.bodies.consistency import Box
from heft.identify.bodies.mass_points import grid, mass_point_matrix
from heft.identify.bodies.pseudo_inertia import transform_matrix
from heft.identify.errors import ProblemError
from heft.identify.estimation.constrained.feasible_set import FeasibleSet
from heft.identify.estimation.constrained.solve import solve
from heft.identify.estimation.constrained.target import Target
from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.least_squares import weights_of
from heft.identify.estimation.problem import Problem

__all__ = ["box_deviations", "masspoint"]

EVENNESS = 1e-6  # l of Eq. 29, in squared masses of the link: makes the masses of the points unique
LEAST_POINT = 1e-6  # of the link's mass, in each point: Eq. 15 is strict
MASS_ERROR = 0.5  # of a link's mass, and at most MOST_MASS_ERROR [kg]: the humanoid's of 000, section V
MOST_MASS_ERROR = 2.0


def masspoint(
    problem: Problem, *, per_axis: int = 3, null_space: Literal["data", "structure"] = "data"
) -> Estimate:
    """d = P rho, rho > 0, for `per_axis`^3 equally spaced points in each link's box.

    The cone is narrower than the consistent set (a body that needs mass between the points is out of reach), and every
    answer lies inside its box, centre of mass too. Boxes are the links' extents.

    null_space   what counts as not determined: parameters on which no torque depends (Z: the base parameters of the
                 robot's structure), or also what these data know less well than the prior (numeric, from the data: in
                 units of W, because a projector on what is not exactly determined depends on the units it is taken in)
    """
    missing = [link for link in problem.layout.links if link not in _boxes(problem)]
    if missing:
        raise ProblemError(
            f"masspoint puts points into bounding boxes and {', '.join(missing)} has none; "
            "write `box` under `links` in the robot's file, or use sdp"
        )
    if per_axis < 3:
        raise ProblemError(f"masspoint: per_axis {per_axis} must be at least 3: fewer miss some inertias")
    if null_space not in ("data", "structure"):
        raise ProblemError(f"masspoint: no null_space {null_space!r}; there are data and structure")
    weights = weights_of(problem)
    P = _points(problem, per_axis)
    even = np.asarray(
        np.linalg.lstsq(P, problem.known[problem.layout.link_indices], rcond=None)[0], dtype=np.float64
    )
    bounds = FeasibleSet(replace(problem, level="mass"))
    links = problem.layout.link_indices
    scales = problem.scales[links]

    def build(target: Target, unit: float) -> ConeProgram:
        # Variables (x, rho) with d* + T x = P rho for the links, in units of the parameters' scales.
        p, points = len(target.best), P.shape[1]
        program = ConeProgram(p + points)
        weight = EVENNESS / unit**2
        program.quadratic(2 * sp.diags(np.r_[np.ones(p), np.full(points, weight)]))
        program.linear(-2 * weight * even, slice(p, p + points))
        program.zero(np.hstack([target.spread[links], -P]) / scales[:, None], target.best[links] / scales)
        program.non_negative(np.eye(points, p + points, p), np.full(points, -LEAST_POINT))
        bounds.demand(program, target.spread, target.best, unit)
        return program

    parameters, facts = solve(problem, _target(problem, weights, null_space), build)
    return Estimate.of(problem, "masspoint", parameters, weights, facts=facts)


def box_deviations(box: Box, mass: float) -> Array:
    """B diag(sigma), shape (10, 10): how far ten numbers can be from the prior of a body in `box` (Eq. 17 to 22, 27).

    The bounds of Eq. 19 and 20 about the middle of the box, turned into the link's frame by B. (The print has sigma^2
    for what has the unit of sigma, and its square for the inverse of a square.)
    """
    low, high = np.asarray(box[0], dtype=np.float64), np.asarray(box[1], dtype=np.float64)
    x, y, z = (high - low) / 2
    most = mass + min(MASS_ERROR * mass, MOST_MASS_ERROR)
    squares = np.array([y * y + z * z, x * y, z * z + x * x, x * z, y * z, x * x + y * y])
    sigma = most * np.concatenate([[1.0, x, y, z], squares])
    return transform_matrix(np.eye(3), (low + high) / 2) * sigma


def _target(problem: Problem, weights: Array, null_space: str) -> Target:
    """Data and the prior in the null space (the first two terms of Eq. 29) as a sphere."""
    data = Target.of(
        problem, weights, 0.0
    )  # x counts the data's standard deviations, tiny where they know nothing
    rows = np.linalg.inv(data.spread)
    deviations = np.diag(np.diag(problem.metric))
    for link in problem.layout.links:
        block = problem.layout.link(link)
        deviations[block, block] = box_deviations(_boxes(problem)[link], problem.masses[link])
    away = np.linalg.inv(deviations)
    if null_space == "structure":
        Z = problem.base.matrix
        prior = away @ (np.eye(len(Z.T)) - np.linalg.pinv(Z) @ Z)
    else:
        _, values, V = np.linalg.svd(rows @ deviations)
        prior = V[values < 1.0] @ away
    both = np.vstack([rows, prior]) * problem.scales
    wanted = np.concatenate([rows @ data.best, prior @ problem.start])
    U, values, V = np.linalg.svd(both, full_matrices=False)
    best = problem.scales * (V.T @ (U.T @ wanted / values))
    return Target(best, problem.scales[:, None] * V.T / values)


def _boxes(problem: Problem) -> dict[str, Box]:
    return {**problem.boxes, **problem.extents}


def _points(problem: Problem, per_axis: int) -> Array:
    """P of all links, masses in units of the links' own: shape (10 links, points)."""
    blocks = []
    for link in problem.layout.links:
        low, high = _boxes(problem)[link]
        blocks.append(problem.masses[link] * mass_point_matrix(grid(low, high, per_axis)))
    return np.asarray(linalg.block_diag(*blocks))
