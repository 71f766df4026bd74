"""The least-squares solution closest to the prior (002, Eq. 30)."""

from __future__ import annotations

import numpy as np

from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.least_squares import closest_to_prior, weights_of
from heft.identify.estimation.problem import Problem

__all__ = ["closest"]


def closest(problem: Problem) -> Estimate:
    """As good a fit as least squares, and among such the smallest |d - d0| in SI units, as in 002."""
    weights = weights_of(problem)
    parameters = closest_to_prior(problem, weights, metric=np.eye(len(problem.layout)))
    distance = float(np.linalg.norm(parameters - problem.start))
    return Estimate.of(problem, "closest", parameters, weights, facts={"distance": distance})
