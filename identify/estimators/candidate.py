"""How much the prior may say: as much as costs next to no fit.

In the directions that the data leave open, a heavier prior makes links more plausible and costs nothing,
unless the border of the feasible set ties these directions to others: then it costs fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from identify.arrays import Array
from identify.estimators.least_squares import closest_to_prior
from identify.problem import Problem

__all__ = ["LEAST_PRIOR_WEIGHT", "Candidate", "closest_that_fits"]

PRIOR_WEIGHTS = (
    10.0,
    1.0,
    0.1,
    0.01,
    1e-3,
    1e-4,
)  # of the target's prior; 10: within a third of mass and size
LEAST_PRIOR_WEIGHT = 1e-6  # at which the prior decides only what is left entirely open
PRIOR_COST = 0.005  # of the cost, that the prior may add: a fit of 1.000 % becomes one of 1.0025 %
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
    """The candidate with the largest weight of the prior that costs at most `PRIOR_COST`, and not above
    `limit`.

    `solved` finds the optimum for a weight of the prior; `limit` is asked for only if the prior costs
    anything.
    """
    if problem.prior is None:
        return solved(LEAST_PRIOR_WEIGHT)
    plain = closest_to_prior(problem, weights)
    least, whole = problem.cost(plain, weights), problem.cost(np.zeros_like(plain), weights)
    found = solved(PRIOR_WEIGHTS[0])
    if found.cost <= (1 + SAME_COST) * least + SAME_COST**2 * whole:
        return found
    bound = limit()
    if found.cost <= min((1 + PRIOR_COST) * least, bound):
        return found
    fittest = solved(LEAST_PRIOR_WEIGHT)
    most = min((1 + PRIOR_COST) * fittest.cost, max(bound, fittest.cost))
    for weight in PRIOR_WEIGHTS[1:]:
        if found.cost <= most:
            return found
        found = solved(weight)
    return found if found.cost <= most else fittest
