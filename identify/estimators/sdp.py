"""Least squares inside the feasible set (003, Eq. 74)."""

from __future__ import annotations

from typing import Literal

import scipy.sparse as sp

from identify.cone import ConeProgram
from identify.errors import ProblemError
from identify.estimators.answer import Estimate
from identify.estimators.feasible import DEFAULT_MARGIN, FeasibleSet, Margin
from identify.estimators.least_squares import weights_of
from identify.estimators.logdet import add_logdet
from identify.estimators.solve import solve
from identify.estimators.target import PRIOR_WEIGHT, Target
from identify.problem import Problem

__all__ = ["sdp"]

EUCLIDEAN_SHARE = (
    1e-3  # that stays beside the log-det prior: joint terms have no other, and the Hessian is bounded
)


def sdp(
    problem: Problem,
    *,
    prior: Literal["euclidean", "logdet"] = "euclidean",
    margin: float = DEFAULT_MARGIN.relative,
    prior_weight: float = PRIOR_WEIGHT,
) -> Estimate:
    """The consistent parameters that fit best, and closest to the prior among those that fit alike.

    `prior` chooses the distance: squared differences in units of the parameters' scales, or the log-det
    divergence tr(J0^-1 J) - log det J per link, which does not depend on frames and units. `margin` is
    relative to each link's mass and size.
    """
    if prior not in ("euclidean", "logdet"):
        raise ProblemError(f"sdp: no prior {prior!r}; there are euclidean and logdet")
    weights = weights_of(problem)
    feasible = FeasibleSet(problem, Margin(margin))
    share = 1.0 if prior == "euclidean" else EUCLIDEAN_SHARE

    def build(target: Target, unit: float) -> ConeProgram:
        program = ConeProgram(len(problem.layout))
        program.quadratic(2 * sp.identity(len(problem.layout)))
        if prior == "logdet":
            add_logdet(program, problem, target, prior_weight / unit**2)
        feasible.demand(program, target.spread, target.best)
        return program

    parameters, facts = solve(problem, Target.of(problem, weights, share * prior_weight), build)
    return Estimate.of(problem, "sdp", parameters, weights, facts=facts)
