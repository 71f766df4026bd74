"""Links made of mass points in their boxes: consistency by linear constraints (000, Eq. 29)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from scipy import linalg

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.cone import ConeProgram
from heft.identify.bodies.mass_points import grid, mass_point_matrix
from heft.identify.errors import ProblemError
from heft.identify.estimation.constrained.feasible_set import FeasibleSet
from heft.identify.estimation.constrained.prior_weight import FeasibleFit, choose_prior_weight
from heft.identify.estimation.constrained.solve import solve
from heft.identify.estimation.constrained.target import Target
from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.least_squares import weights_of
from heft.identify.estimation.problem import Problem

__all__ = ["masspoint"]

EVENNESS = 1e-6  # lambda_rho of 000: makes the masses of the points unique
LEAST_POINT = 1e-6  # of the link's mass, in each point: 000, Eq. 15 is strict


def masspoint(problem: Problem, *, per_axis: int = 3) -> Estimate:
    """d = P rho, rho > 0, for `per_axis`^3 equally spaced points in each link's box.

    The cone is narrower than the consistent set (a body that needs mass between the points is out of reach),
    and every answer lies inside its box, centre of mass too. The prior acts where the data do not determine.
    """
    missing = [link for link in problem.layout.links if link not in problem.boxes]
    if missing:
        raise ProblemError(
            f"masspoint puts points into bounding boxes and {', '.join(missing)} has none; "
            "write `box` under `links` in the robot's file, or use sdp"
        )
    if per_axis < 3:
        raise ProblemError(f"masspoint: per_axis {per_axis} must be at least 3: fewer miss some inertias")
    weights = weights_of(problem)
    P = _points(problem, per_axis)
    bounds = FeasibleSet(replace(problem, level="mass"))
    links = problem.layout.link_indices
    scales = problem.scales[links]

    def build(target: Target, unit: float) -> ConeProgram:
        # Variables (x, rho) with d* + T x = P rho for the links, in units of the parameters' scales.
        p, points = len(target.best), P.shape[1]
        program = ConeProgram(p + points)
        program.quadratic(2 * sp.diags(np.r_[np.ones(p), np.full(points, EVENNESS / unit**2)]))
        program.zero(np.hstack([target.spread[links], -P]) / scales[:, None], target.best[links] / scales)
        program.non_negative(sp.eye(points, p + points, p), np.full(points, -LEAST_POINT))
        bounds.demand(program, target.spread, target.best, unit)
        return program

    def solved(weight: float) -> FeasibleFit:
        parameters, facts = solve(problem, Target.of(problem, weights, weight), build)
        return FeasibleFit(parameters, problem.cost(parameters, weights), facts)

    best = choose_prior_weight(problem, weights, solved)
    return Estimate.of(problem, "masspoint", best.parameters, weights, facts=best.facts)


def _points(problem: Problem, per_axis: int) -> Array:
    """P of all links, masses in units of the links' own: shape (10 links, points)."""
    blocks = []
    for link in problem.layout.links:
        low, high = problem.boxes[link]
        blocks.append(problem.masses[link] * mass_point_matrix(grid(low, high, per_axis)))
    return np.asarray(linalg.block_diag(*blocks))
