"""The weight of the prior: as large as costs next to no fit.

In directions that the data do not determine, the prior decides at no cost, unless the border of the feasible set
couples them to others. In directions that the data know less well than the prior, it costs fit, but less than the true
parameters would: their cost exceeds that of least squares by the variance times the number of base parameters, on
average. With weights that are not those of the noise this bound is not known, and the prior may cost next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.estimation.least_squares import closest_to_prior
from heft.identify.estimation.problem import Problem

__all__ = ["LEAST_PRIOR_WEIGHT", "FeasibleFit", "choose_prior_weight"]

PRIOR_WEIGHTS = (1.0, 0.1, 0.01, 1e-3, 1e-4)  # of the target's prior; 1: as the prior's spread has it
LEAST_PRIOR_WEIGHT = 1e-6  # at which the prior decides only what is left entirely open
PRIOR_COST = 0.05  # of the cost, that the prior may add: a fit of 1.00 % becomes one of 1.025 %
STRICT_COST = 0.005  # the same with weights that are not the noise's
TRUTH_COST = 0.5  # of what the truth itself would add, if that is more
SAME_COST = 1e-7  # of the cost of least squares: no cost at all


@dataclass(frozen=True)
class FeasibleFit:
    """Consistent parameters, shape (p,), their cost on the data, and numbers about the search by name."""

    parameters: Array
    cost: float
    facts: Mapping[str, float]


def choose_prior_weight(
    problem: Problem,
    weights: Array,
    solved: Callable[[float], FeasibleFit],
    limit: Callable[[], float] = lambda: float("inf"),
) -> FeasibleFit:
    """The optimum for the largest weight of the prior that costs little enough.

    solved   the optimum for a weight of the prior
    limit    the largest cost that is allowed where weights are not those of the noise; evaluated only if needed
    """
    if problem.prior is None:
        return solved(LEAST_PRIOR_WEIGHT)
    plain = closest_to_prior(problem, weights)
    least, whole = problem.cost(plain, weights), problem.cost(np.zeros_like(plain), weights)
    fit = solved(PRIOR_WEIGHTS[0])
    if fit.cost <= (1 + SAME_COST) * least + SAME_COST**2 * whole:
        return fit
    if problem.weighted_by_noise:
        truth = len(problem.base.names) / float(problem.information.rows.sum())
        share, bound = max(PRIOR_COST, TRUTH_COST * truth), float("inf")
    else:
        share, bound = STRICT_COST, limit()
    if fit.cost <= min((1 + share) * least, bound):
        return fit
    fittest = solved(LEAST_PRIOR_WEIGHT)
    most = min((1 + share) * fittest.cost, max(bound, fittest.cost))
    for weight in PRIOR_WEIGHTS[1:]:
        if fit.cost <= most:
            return fit
        fit = solved(weight)
    return fit if fit.cost <= most else fittest
