"""How much the prior may say: as much as costs next to no fit.

In the directions that the data leave open, the prior decides and costs nothing, unless the border of the feasible set
ties these directions to others. Others the data know less well than the prior does; there it costs fit, but less than
the truth itself would: that is above least squares by the variance times the number of base parameters, on average.
With weights that are not those of the noise no such thing can be said, and the prior may cost next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from identify.arrays import Array
from identify.estimators.least_squares import closest_to_prior
from identify.problem import Problem

__all__ = ["LEAST_PRIOR_WEIGHT", "Candidate", "closest_that_fits"]

PRIOR_WEIGHTS = (1.0, 0.1, 0.01, 1e-3, 1e-4)  # of the target's prior; 1: as the prior's spread has it
LEAST_PRIOR_WEIGHT = 1e-6  # at which the prior decides only what is left entirely open
PRIOR_COST = 0.05  # of the cost, that the prior may add: a fit of 1.00 % becomes one of 1.025 %
STRICT_COST = 0.005  # the same with weights that are not the noise's
TRUTH_COST = 0.5  # of what the truth itself would add, if that is more
SAME_COST = 1e-7  # of the cost of least squares: no cost at all


@dataclass(frozen=True)
class Candidate:
    """Consistent parameters, shape (p,), the cost of the data, and what their solver has to say."""

    parameters: Array
    cost: float
    facts: Mapping[str, float]


def closest_that_fits(
    problem: Problem,
    weights: Array,
    solved: Callable[[float], Candidate],
    limit: Callable[[], float] = lambda: float("inf"),
) -> Candidate:
    """The candidate with the largest weight of the prior that costs little enough.

    `solved` finds the optimum for a weight of the prior. With weights that are not the noise's, no candidate costs more
    than `limit`, which is asked for only if the prior costs anything.
    """
    if problem.prior is None:
        return solved(LEAST_PRIOR_WEIGHT)
    plain = closest_to_prior(problem, weights)
    least, whole = problem.cost(plain, weights), problem.cost(np.zeros_like(plain), weights)
    found = solved(PRIOR_WEIGHTS[0])
    if found.cost <= (1 + SAME_COST) * least + SAME_COST**2 * whole:
        return found
    if problem.weighted_by_noise:
        truth = len(problem.base.names) / float(problem.information.rows.sum())
        share, bound = max(PRIOR_COST, TRUTH_COST * truth), float("inf")
    else:
        share, bound = STRICT_COST, limit()
    if found.cost <= min((1 + share) * least, bound):
        return found
    fittest = solved(LEAST_PRIOR_WEIGHT)
    most = min((1 + share) * fittest.cost, max(bound, fittest.cost))
    for weight in PRIOR_WEIGHTS[1:]:
        if found.cost <= most:
            return found
        found = solved(weight)
    return found if found.cost <= most else fittest
