"""Ordinary least squares (004, Eq. 19; 003, Eq. 61)."""

from __future__ import annotations

import numpy as np

from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.least_squares import closest_to_prior
from heft.identify.estimation.problem import Problem

__all__ = ["ols"]


def ols(problem: Problem) -> Estimate:
    """Every residual counts alike; where the data do not determine, the parameters are those of the prior."""
    weights = np.ones(problem.joints)
    return Estimate.of(problem, "ols", closest_to_prior(problem, weights), weights)
