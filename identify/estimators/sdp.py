"""Least squares inside the feasible set (003, Eq. 74)."""

from __future__ import annotations

from typing import Literal

import scipy.sparse as sp

from identify.cone import ConeProgram
from identify.errors import ProblemError
from identify.estimators.answer import Estimate
from identify.estimators.candidate import Candidate, closest_that_fits
from identify.estimators.correct import correct_base
from identify.estimators.feasible import DEFAULT_MARGIN, FeasibleSet, Margin
from identify.estimators.least_squares import closest_to_prior, weights_of
from identify.estimators.logdet import add_logdet
from identify.estimators.solve import solve
from identify.estimators.target import Target
from identify.problem import Problem

__all__ = ["sdp"]

BESIDE = 1e-2  # weight of the target's prior beside the log-det divergence: joint terms have no other


def sdp(
    problem: Problem,
    *,
    prior: Literal["euclidean", "logdet"] = "euclidean",
    margin: float = DEFAULT_MARGIN.relative,
    prior_weight: float | None = None,
) -> Estimate:
    """The consistent parameters that fit best, and closest to the prior among those that fit alike.

    `prior` chooses the distance: squared differences in the prior's metric, or the log-det
    divergence tr(J0^-1 J) - log det J per link, which does not depend on frames and units and keeps links
    from the border. `margin` is relative to each link's mass and size. `prior_weight` None: 1 for the
    divergence; for differences as much as the prior's spread says and the data allow (`candidate`); with
    weights that are not the noise's, less than to correct least squares without a look at the data (003, Eq. 55) costs.
    """
    if prior not in ("euclidean", "logdet"):
        raise ProblemError(f"sdp: no prior {prior!r}; there are euclidean and logdet")
    weights = weights_of(problem)
    feasible = FeasibleSet(problem, Margin(margin))
    spent = 0.0

    def solved(weight: float, divergence: float = 0.0) -> Candidate:
        nonlocal spent

        def build(target: Target, unit: float) -> ConeProgram:
            program = ConeProgram(len(problem.layout))
            program.quadratic(2 * sp.identity(len(problem.layout)))
            if divergence:
                add_logdet(program, problem, target, divergence / unit**2)
            feasible.demand(program, target.spread, target.best, unit)
            return program

        parameters, facts = solve(problem, Target.of(problem, weights, weight), build)
        spent += facts["solver_s"]
        facts |= {"prior_weight": divergence or weight, "solver_s": spent}
        return Candidate(parameters, problem.cost(parameters, weights), facts)

    def corrected() -> float:
        base = problem.base.matrix @ closest_to_prior(problem, weights)
        return problem.cost(correct_base(problem, base, Margin(margin))[0], weights)

    if prior == "logdet":
        found = solved(BESIDE, 1.0 if prior_weight is None else prior_weight)
    elif prior_weight is not None:
        found = solved(prior_weight)
    else:
        found = closest_that_fits(problem, weights, solved, corrected)
    return Estimate.of(problem, "sdp", found.parameters, weights, facts=found.facts)
