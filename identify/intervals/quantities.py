"""Intervals of what a user asks for: masses, centres, moments, friction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from identify.arrays import Array
from identify.chart import Chart
from identify.errors import SolverError
from identify.estimators.answer import Estimate
from identify.intervals.covariance import Spread
from identify.intervals.interval import Interval
from identify.intervals.posterior import Posterior
from identify.intervals.with_hand import with_hand
from identify.parameters import JOINT_TERMS
from identify.problem import Problem

__all__ = ["Quantities", "quantities"]

STRAINED = 2.0  # squared distance from the prior per informed direction; 1 is expected
ROUNDS = 6


@dataclass(frozen=True)
class Quantities:
    """What data and prior say together about an answer.

    intervals       by name (`link3.mass`, `link3.com.x`, `link3.principal_moments.1`, `joint3.viscous`, `total_mass`)
    covariance      of the answer's base parameters, shape (n_base, n_base); None without a posterior
    warnings        lines that a user should read
    contradiction   what to say if a wrist sensor contradicts the joints: it then has no part in the links
    """

    intervals: dict[str, Interval]
    covariance: Array | None = None
    warnings: tuple[str, ...] = ()
    contradiction: str = ""


def quantities(problem: Problem, answer: Estimate, spread: Spread) -> Quantities:
    """Where the data contradict the prior's spread, it is widened until they do not, and that is said. Without a prior
    there are only joint terms that the data determine by themselves.
    """
    alone = _alone(problem, answer, spread)
    if problem.prior is None:
        return Quantities(alone)
    base = problem.base.matrix @ answer.least_squares
    factor, found, contradiction = 1.0, None, ""
    try:
        for _ in range(ROUNDS):
            chart = Chart.about(
                problem.layout,
                problem.prior,
                answer.parameters,
                problem.scales,
                problem.spread.widened(factor),
            )
            if chart is None:
                said = "no intervals of links: neither the prior nor the answer could exist; use sdp"
                return Quantities(alone, warnings=(said,))
            found, contradiction = with_hand(chart, problem, base, spread.data)
            if found.strain <= STRAINED:
                break
            factor *= float(np.sqrt(found.strain))
    except SolverError as exc:
        return Quantities(alone, warnings=(f"no intervals of links: {exc}",), contradiction=contradiction)
    assert isinstance(found, Posterior)
    lines: tuple[str, ...] = ()
    if factor > 1.0:
        lines = (
            f"the data are {factor:.1f} times further from the prior than its spread says (inertia "
            f"{problem.spread.inertia:g}): it was widened as much; correct the prior, or the robot's `prior_spread`",
        )
    return Quantities(
        found.intervals(spread.degrees, answer.parameters),
        found.base_covariance(problem.base.matrix, answer.parameters),
        lines,
        contradiction,
    )


def _alone(problem: Problem, answer: Estimate, spread: Spread) -> dict[str, Interval]:
    """Joint terms that are base parameters by themselves."""
    found, names = {}, problem.layout.names
    for row, value, variance in zip(
        problem.base.matrix, problem.base.matrix @ answer.parameters, np.diag(spread.covariance), strict=True
    ):
        members = np.flatnonzero(row)
        term = names[members[0]].rpartition(".")[2]
        if len(members) == 1 and term in JOINT_TERMS:
            std = float(np.sqrt(variance))
            found[names[members[0]]] = Interval.of(float(value), std, spread.degrees, JOINT_TERMS[term].unit)
    return found
