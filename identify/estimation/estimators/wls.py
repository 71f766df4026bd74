"""Weighted least squares: each joint by its own residual (002, section III)."""

from __future__ import annotations

from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.least_squares import closest_to_prior
from heft.identify.estimation.problem import Problem

__all__ = ["wls"]


def wls(problem: Problem) -> Estimate:
    """Residuals in units of their joint's standard deviation, which is estimated along and iterated."""
    weights, rounds = problem.joint_weights
    parameters = closest_to_prior(problem, weights)
    return Estimate.of(problem, "wls", parameters, weights, facts={"iterations": rounds})
