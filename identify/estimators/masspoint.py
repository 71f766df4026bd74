"""Links made of mass points in their boxes: consistency by linear constraints (000, Eq. 29)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from identify.arrays import Array
from identify.cone import ConeProgram
from identify.errors import ProblemError
from identify.estimators.estimate import Estimate
from identify.estimators.feasible import FeasibleSet
from identify.estimators.least_squares import weights_of
from identify.estimators.sdp import solve
from identify.estimators.target import Target
from identify.inertia.mass_points import grid, mass_point_matrix
from identify.problem import Problem

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
    target = Target.of(problem, weights)
    P = _points(problem, per_axis)
    # x = (rho, r) with r = T^-1 (P rho - d*), so that the target is |r|^2
    program = ConeProgram(P.shape[1])
    r = program.extend(len(problem.layout))
    whiten = np.linalg.inv(target.spread)
    program.zero(sp.hstack([whiten @ P, -sp.identity(len(whiten))]), -whiten @ target.best)
    program.quadratic(2 * sp.diags(np.r_[np.full(r.start, EVENNESS), np.ones(len(whiten))]))
    masses = P.shape[1] - len(problem.layout) + 10 * len(problem.layout.links)
    program.non_negative(sp.eye(masses, P.shape[1]), np.full(masses, -LEAST_POINT))
    FeasibleSet(replace(problem, level="mass")).demand(program, P, np.zeros(len(P)))
    parameters, facts = solve(problem, program, P, np.zeros(len(P)))
    return Estimate.of(problem, "masspoint", parameters, weights, facts=facts)


def _points(problem: Problem, per_axis: int) -> Array:
    """P of all links in units of their masses, and the joint terms as they are: shape (p, points + terms)."""
    blocks = [
        problem.masses[link] * mass_point_matrix(grid(*problem.boxes[link], per_axis))
        for link in problem.layout.links
    ]
    terms = np.diag(problem.scales[problem.layout.link_indices.stop :])
    return np.asarray(sp.block_diag([*blocks, terms]).toarray())
