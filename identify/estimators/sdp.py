"""Least squares inside the feasible set (003, Eq. 74)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from identify.arrays import Array
from identify.cone import ConeProgram
from identify.errors import ProblemError
from identify.estimators.answer import Estimate
from identify.estimators.correct import correct_base
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

    def solved(weight: float, divergence: float = 0.0) -> _Candidate:
        def build(target: Target, unit: float) -> ConeProgram:
            program = ConeProgram(len(problem.layout))
            program.quadratic(2 * sp.identity(len(problem.layout)))
            if divergence:
                add_logdet(program, problem, target, divergence / unit**2)
            feasible.demand(program, target.spread, target.best)
            return program

        parameters, facts = solve(problem, Target.of(problem, weights, weight), build)
        facts["prior_weight"] = divergence or weight
        return _Candidate(parameters, problem.cost(parameters, weights), facts)

    if prior == "logdet":
        found = solved(BESIDE, 1.0 if prior_weight is None else prior_weight)
    elif prior_weight is not None:
        found = solved(prior_weight)
    elif problem.prior is None:
        found = solved(LEAST_PRIOR_WEIGHT)
    else:
        found = _closest_that_fits(problem, weights, margin, solved)
    return Estimate.of(problem, "sdp", found.parameters, weights, facts=found.facts)


@dataclass(frozen=True)
class _Candidate:
    parameters: Array
    cost: float
    facts: Mapping[str, float]


def _closest_that_fits(
    problem: Problem, weights: Array, margin: float, solved: Callable[[float], _Candidate]
) -> _Candidate:
    """The candidate with the largest weight of the prior that costs next to nothing.

    Where the prior and the border of the feasible set leave the data no room, it costs fit: at most
    `PRIOR_COST`, and less than it would cost to correct least squares without looking at the data (003, Eq. 55).
    """
    plain = closest_to_prior(problem, weights)
    least = problem.cost(plain, weights)
    found = solved(PRIOR_WEIGHTS[0])
    if found.cost <= (1 + SAME_COST) * least + SAME_COST**2 * problem.cost(np.zeros_like(plain), weights):
        return found
    corrected, _ = correct_base(problem, problem.base.matrix @ plain, Margin(margin))
    corrected_cost = problem.cost(corrected, weights)
    if found.cost <= min((1 + PRIOR_COST) * least, corrected_cost):
        return found
    fittest = solved(LEAST_PRIOR_WEIGHT)
    most = min((1 + PRIOR_COST) * fittest.cost, max(corrected_cost, fittest.cost))
    for weight in PRIOR_WEIGHTS[1:]:
        if found.cost <= most:
            return found
        found = solved(weight)
    return found if found.cost <= most else fittest
