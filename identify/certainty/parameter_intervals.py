"""Intervals of physical parameters: masses, centres of mass, principal moments, posterior terms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.parameters import LINK_TERMS, unit_of
from heft.identify.certainty.interval import Interval
from heft.identify.certainty.uncertainty import Uncertainty
from heft.identify.certainty.wrist_posterior import wrist_posterior
from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.problem import Problem

__all__ = ["ParameterIntervals", "parameter_intervals"]


@dataclass(frozen=True)
class ParameterIntervals:
    """What data and prior say together about an estimate.

    intervals       by name (`link3.mass`, `link3.com.x`, `link3.principal_moments.1`, `joint3.viscous`, `total_mass`)
    covariance      of the estimate's base parameters, shape (n_base, n_base); None without a posterior
    contradiction   the warning where a wrist sensor contradicts the joints, which then has no part in the links
    """

    intervals: dict[str, Interval]
    covariance: Array | None = None
    contradiction: str = ""


def parameter_intervals(problem: Problem, estimate: Estimate, uncertainty: Uncertainty) -> ParameterIntervals:
    """Intervals from the posterior of data and prior.

    Without a prior there are only intervals of joint terms that the data determine by themselves.
    """
    alone = _joint_terms(problem, estimate, uncertainty)
    if problem.prior is None:
        return ParameterIntervals(alone)
    base = problem.base.matrix @ estimate.least_squares
    posterior, contradiction = wrist_posterior(problem, problem.spread, base, uncertainty.data)
    return ParameterIntervals(
        posterior.intervals(uncertainty.degrees, estimate.parameters),
        posterior.base_covariance(problem.base.matrix, estimate.parameters),
        contradiction,
    )


def _joint_terms(problem: Problem, estimate: Estimate, uncertainty: Uncertainty) -> dict[str, Interval]:
    """Intervals of the joint terms that are base parameters by themselves, by name."""
    intervals, names = {}, problem.layout.names
    for row, value, variance in zip(
        problem.base.matrix,
        problem.base.matrix @ estimate.parameters,
        np.diag(uncertainty.covariance),
        strict=True,
    ):
        members = np.flatnonzero(row)
        term = names[members[0]].rpartition(".")[2]
        if len(members) == 1 and term not in LINK_TERMS:
            std = float(np.sqrt(variance))
            intervals[names[members[0]]] = Interval.of(
                float(value), std, uncertainty.degrees, unit_of(names[members[0]])
            )
    return intervals
