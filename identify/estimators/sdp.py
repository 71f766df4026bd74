"""Least squares inside the feasible set (003, Eq. 74)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import scipy.sparse as sp

from identify.arrays import Array
from identify.cone import ConeProgram
from identify.errors import ProblemError
from identify.estimators.answer import Estimate
from identify.estimators.correct import correct
from identify.estimators.feasible import DEFAULT_MARGIN, FeasibleSet, Margin
from identify.estimators.least_squares import closest_to_prior, weights_of
from identify.estimators.logdet import add_logdet
from identify.estimators.solve import solve
from identify.estimators.target import Target
from identify.problem import Problem

__all__ = ["sdp"]

PRIOR_WEIGHTS = (10.0, 1.0, 0.1, 0.01)  # of the target's prior; 10: within a third of a link's mass and size
LEAST_PRIOR_WEIGHT = 1e-3  # at which the prior decides only what is left entirely open
PRIOR_COST = 0.005  # of the cost, that the prior may add: a fit of 1.000 % becomes one of 1.0025 %
SAME_COST = 1e-7  # what counts as no cost at all
BESIDE = 1e-2  # weight of the target's prior beside the log-det divergence: joint terms have no other


def sdp(
    problem: Problem,
    *,
    prior: Literal["euclidean", "logdet"] = "euclidean",
    margin: float = DEFAULT_MARGIN.relative,
    prior_weight: float | None = None,
) -> Estimate:
    """The consistent parameters that fit best, and closest to the prior among those that fit alike.

    `prior` chooses the distance: squared differences in units of the parameters' scales, or the log-det
    divergence tr(J0^-1 J) - log det J per link, which does not depend on frames and units and keeps links from
    the border. `margin` is relative to each link's mass and size. `prior_weight` None: 1 for the divergence; for
    differences the largest of `PRIOR_WEIGHTS` that does not cost fit.
    """
    if prior not in ("euclidean", "logdet"):
        raise ProblemError(f"sdp: no prior {prior!r}; there are euclidean and logdet")
    weights = weights_of(problem)
    feasible = FeasibleSet(problem, Margin(margin))

    def solved(weight: float, divergence: float = 0.0) -> Estimate:
        def build(target: Target, unit: float) -> ConeProgram:
            program = ConeProgram(len(problem.layout))
            program.quadratic(2 * sp.identity(len(problem.layout)))
            if divergence:
                add_logdet(program, problem, target, divergence / unit**2)
            feasible.demand(program, target.spread, target.best)
            return program

        parameters, facts = solve(problem, Target.of(problem, weights, weight), build)
        facts["prior_weight"] = divergence or weight
        return Estimate.of(problem, "sdp", parameters, weights, facts=facts)

    if prior == "logdet":
        return solved(BESIDE, 1.0 if prior_weight is None else prior_weight)
    if prior_weight is not None:
        return solved(prior_weight)
    if problem.prior is None:
        return solved(LEAST_PRIOR_WEIGHT)
    return _closest_that_fits(problem, weights, solved)


def _closest_that_fits(problem: Problem, weights: Array, solved: Callable[[float], Estimate]) -> Estimate:
    """The estimate with the largest weight of the prior that costs next to nothing.

    Where the prior and the border of the feasible set leave the data no room, it costs fit: at most
    `PRIOR_COST`, and less than it would cost to correct least squares without looking at the data (003, Eq. 55).
    """
    least = float(weights @ problem.residual_squares(closest_to_prior(problem, weights)))
    whole = float(weights @ (problem.information.factors[:, :, -1] ** 2).sum(axis=1))
    found = solved(PRIOR_WEIGHTS[0])
    if found.cost <= (1 + SAME_COST) * least + SAME_COST**2 * whole:
        return found
    corrected = correct(replace(problem, weighting=weights)).cost
    if found.cost <= min((1 + PRIOR_COST) * least, corrected):
        return found
    fittest = solved(LEAST_PRIOR_WEIGHT)
    most = min((1 + PRIOR_COST) * fittest.cost, max(corrected, fittest.cost))
    for weight in PRIOR_WEIGHTS[1:]:
        if found.cost <= most:
            return found
        found = solved(weight)
    return found if found.cost <= most else fittest
