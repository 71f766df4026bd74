"""On-line least squares with forgetting (004, after Eq. 9), feasible if asked.

    minimise   sum over samples i of forgetting^(last - i) |Y_i d - tau_i|^2_W

which is what a recursive update of the square-root information has after the last sample.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from heft.identify.errors import ProblemError
from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.estimators.manifold import on_manifold
from heft.identify.estimation.least_squares import closest_to_prior, weights_of
from heft.identify.estimation.problem import Problem

__all__ = ["recursive"]


def recursive(problem: Problem, *, forgetting: float = 1.0, feasible: bool = False) -> Estimate:
    """The on-line estimate after the last sample; with `feasible`, on the manifold (see `manifold`).

    With a `forgetting` below 1 a sample's weight is forgetting^age: 0.999 at 1 kHz remembers about a second.
    """
    if not 0 < forgetting <= 1:
        raise ProblemError(
            f"recursive: forgetting {forgetting} must be above 0 and at most 1; 0.999 is usual"
        )
    weights = weights_of(problem)
    information = problem.information
    if forgetting < 1:
        if problem.reweight is None:
            raise ProblemError(
                "forgetting goes through the samples, here is only their reduced form; call fit()"
            )
        last = float(information.rows.max()) - 1
        information = problem.reweight(
            lambda index, residual: np.broadcast_to(forgetting ** (last - index)[:, None], residual.shape),
            problem.start,
        )
        problem = replace(problem, information=information)
    if feasible:
        parameters, _ = on_manifold(problem, weights)
    else:
        parameters = closest_to_prior(problem, weights)
    return Estimate.of(problem, "recursive", parameters, weights, facts={"forgetting": forgetting})
