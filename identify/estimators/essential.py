"""Essential parameters: only what the data know well leaves the prior (002, section III and Eq. 32)."""

from __future__ import annotations

import numpy as np

from identify.arrays import Array
from identify.errors import ProblemError
from identify.estimators.answer import Estimate
from identify.estimators.least_squares import RANK_TOLERANCE, weights_of
from identify.problem import Problem

__all__ = ["essential", "essential_parameters"]


def essential(problem: Problem, *, most_deviation: float = 0.1) -> Estimate:
    """d = d0 + diag(e) (W diag(e))^+ (tau - W d0), e being the essential values, else zero (002, Eq. 32).

    `most_deviation` is the largest relative standard deviation of a parameter that is kept (see
    `essential_parameters`).
    """
    weights = weights_of(problem)
    kept, values = essential_parameters(problem, weights, most_deviation)
    R, z, _ = problem.information.stacked(weights)
    e = np.zeros(len(problem.layout))
    e[[problem.base.independent[i] for i in kept]] = values
    step, *_ = np.linalg.lstsq(R * e, z - R @ problem.start, rcond=RANK_TOLERANCE)
    names = tuple(problem.base.names[i] for i in kept)
    return Estimate.of(
        problem,
        "essential",
        problem.start + e * step,
        weights,
        essential=names,
        facts={"essential": len(kept)},
    )


def essential_parameters(
    problem: Problem, weights: Array, most_deviation: float = 0.1
) -> tuple[list[int], Array]:
    """Indices of the essential base parameters and their values (002, section III).

    Base parameters are estimated, the one with the largest relative standard deviation (002, Eq. 12) is set
    to zero if it exceeds `most_deviation`, and the others are estimated anew, until none does.
    """
    if not most_deviation > 0:
        raise ProblemError(f"essential: most_deviation {most_deviation} must be above 0; 0.1 is usual")
    R, z, rho2 = problem.information.stacked(weights)
    regressor = R[:, list(problem.base.independent)]
    rows = float(problem.information.rows.sum())
    kept = list(range(regressor.shape[1]))
    while kept:
        Q, T = np.linalg.qr(regressor[:, kept])
        size = np.abs(np.diag(T))
        dependent = size <= RANK_TOLERANCE * np.linalg.norm(regressor[:, kept], axis=0).max()
        if dependent.any():
            del kept[int(np.flatnonzero(dependent)[-1])]
            continue
        inverse = np.linalg.inv(T)
        values = inverse @ (Q.T @ z)
        squares = float(np.sum((z - regressor[:, kept] @ values) ** 2)) + rho2
        deviation = np.sqrt((inverse**2).sum(axis=1) * squares / max(rows - len(kept), 1.0))
        relative = deviation / np.maximum(np.abs(values), np.finfo(float).tiny)
        worst = int(np.argmax(relative))
        if relative[worst] <= most_deviation:
            return kept, values
        del kept[worst]
    raise ProblemError(
        f"no base parameter has a relative standard deviation within {most_deviation:g}; "
        "raise most_deviation, or record a motion with more excitation"
    )
