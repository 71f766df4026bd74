"""Essential parameters: only what the data know well leaves the prior (002, section III and Eq. 32)."""

from __future__ import annotations

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.least_norm import least_norm
from heft.identify.errors import ProblemError
from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.least_squares import (
    RANK_TOLERANCE,
    closest_to_prior,
    covariance,
    weights_of,
)
from heft.identify.estimation.problem import Problem

__all__ = ["MOST_DEVIATION", "essential", "essential_parameters"]

MOST_DEVIATION = 0.1


def essential(problem: Problem, *, most_deviation: float = MOST_DEVIATION) -> Estimate:
    """d = d0 + diag(e) (W diag(e))^+ (tau - W d0), e being the essential values, else zero (002, Eq. 32).

    `most_deviation` is the largest relative standard deviation of a parameter that is kept (see
    `essential_parameters`).
    """
    if not most_deviation > 0:
        raise ProblemError(f"essential: most_deviation {most_deviation} must be above 0; 0.1 is usual")
    weights = weights_of(problem)
    kept, values = essential_parameters(problem, weights, most_deviation)
    if not kept:
        raise ProblemError(
            f"no base parameter has a relative standard deviation within {most_deviation:g}; "
            "raise most_deviation, or record a motion with more excitation"
        )
    R, z, _ = problem.stacked(weights)
    e = np.zeros(len(problem.layout))
    e[[problem.base.independent[i] for i in kept]] = values
    step = least_norm(R * e, z - R @ problem.start, RANK_TOLERANCE)
    return Estimate.of(
        problem,
        "essential",
        problem.start + e * step,
        weights,
        essential=tuple(problem.base.names[i] for i in kept),
        facts={"essential": len(kept)},
    )


def essential_parameters(
    problem: Problem,
    weights: Array,
    most_deviation: float = MOST_DEVIATION,
    optimum: tuple[Array, Array] | None = None,
) -> tuple[list[int], Array]:
    """Indices of the essential base parameters and their values (002, section III).

    Base parameters are estimated, the one with the largest relative standard deviation (002, Eq. 12) is set
    to zero if it exceeds `most_deviation`, and the others are estimated anew, until none does. Leaving
    parameter i out of a least-squares solution b with covariance s^2 C changes b by -C_i b_i / C_ii, C by
    -C_i C_i' / C_ii and the sum of squares by b_i^2 / C_ii.

    optimum   least squares with these weights (p,) and C of all base parameters, where they are known already
    """
    if optimum is None:
        optimum = (
            closest_to_prior(problem, weights),
            covariance(problem, weights, problem.information)[1],
        )
    best, C = optimum
    values = problem.base.matrix @ best
    squares = problem.cost(best, weights)
    kept = np.flatnonzero(np.isfinite(np.diag(C)))
    values, C = values[kept], C[np.ix_(kept, kept)]
    rows = float(problem.information.rows.sum())
    while len(kept):
        variance = squares / max(rows - len(kept), 1.0)
        relative = np.sqrt(variance * np.diag(C)) / np.maximum(np.abs(values), np.finfo(float).tiny)
        worst = int(np.argmax(relative))
        if relative[worst] <= most_deviation:
            break
        rest = np.arange(len(kept)) != worst
        column, own = C[rest, worst], C[worst, worst]
        squares += float(values[worst] ** 2 / own)
        values = values[rest] - column * (values[worst] / own)
        C = C[np.ix_(rest, rest)] - np.outer(column, column) / own
        kept = kept[rest]
    return kept.tolist(), values
