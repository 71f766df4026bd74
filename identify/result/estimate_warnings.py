"""Warnings about an estimate: excitation, fit, contradictions, consistency, plausibility; with numbers and remedies."""

from __future__ import annotations

import numpy as np

from heft.identify.bodies.consistency import LEVELS
from heft.identify.estimation.constrained.feasible_set import FeasibleSet
from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.estimators import ESTIMATORS
from heft.identify.estimation.least_squares import closest_to_prior
from heft.identify.estimation.problem import Problem
from heft.identify.result.relative_error import RelativeError

__all__ = ["estimate_warnings"]

WORST_CONDITION = 500.0  # a good motion has about 100 (003)
WORST_FIT = 0.2  # of the torque unexplained
COSTLY = 0.05  # more residual than least squares leaves: something contradicts the data
NO_RESIDUAL = 1e-4  # of the torque: data without noise
SOLVED = 1e-6  # of a parameter's scale: nearer to zero is zero, as far as a solver goes
MOST_WRIST_SHIFT = 6.0  # standard deviations of ten numbers together
MASS_RATIO = 3.0  # between a link's identified mass and its prior


def estimate_warnings(
    problem: Problem, estimate: Estimate, fit: RelativeError, condition_number: float
) -> tuple[str, ...]:
    """Warnings in the order of the module's head.

    fit                relative torque error on the data of the fit
    condition_number   of the base columns, unweighted
    """
    lines: list[str] = []
    if condition_number > WORST_CONDITION and estimate.rank == len(estimate.base):
        lines.append(
            f"condition number {condition_number:.3g}, good motions have about 100 and at most {WORST_CONDITION:.0f}: "
            "some base parameters are known far less well than others; move faster and in more postures"
        )
    if fit.total > WORST_FIT:
        lines.append(
            f"the model leaves {100 * fit.total:.1f} % of the torque unexplained: compare signs, units, joint order "
            "and torque constants, and whether the robot touched something"
        )
    lines += _contradictions(problem, estimate)
    lines += _inconsistencies(problem, estimate)
    lines += _wrist_contradiction(problem, estimate)
    lines += _implausible(problem, estimate)
    return tuple(lines)


def _contradictions(problem: Problem, estimate: Estimate) -> list[str]:
    """Constraints that cost much of the fit."""
    if not ESTIMATORS[estimate.method].feasible:
        return []
    least = problem.cost(closest_to_prior(problem, estimate.weights), estimate.weights)
    rise = estimate.cost / least - 1 if least > 0 else 0.0
    whole = problem.cost(np.zeros(len(problem.layout)), estimate.weights)
    if rise <= COSTLY or estimate.cost < NO_RESIDUAL**2 * whole:
        return []
    return [
        f"level {problem.level} and bounds ({problem.bounds}) cost {100 * rise:.0f} % more squared residual than least "
        "squares: a bound, a box or the model is wrong; loosen bounds one by one to see which"
    ]


def _inconsistencies(problem: Problem, estimate: Estimate) -> list[str]:
    """The lowest level at which a link is not consistent, or joint terms of the wrong sign."""
    levels = LEVELS[: LEVELS.index(problem.level) + 1]
    for level in levels:
        at_level = problem.consistency(estimate.parameters, level)
        if not at_level.ok:
            return [
                f"{at_level.culprit} is not consistent at level {level} (margin {at_level.margin:.2g}, must be "
                f"above 0): {estimate.method} does not ask for it; use sdp for parameters that are simulated or "
                "controlled with"
            ]
    negative = [
        problem.layout.names[i]
        for i in problem.layout.non_negative
        if estimate.parameters[i] < -SOLVED * problem.scales[i]
    ]
    return [f"negative {', '.join(negative)}: no friction or inertia is; use sdp"] if negative else []


def _wrist_contradiction(problem: Problem, estimate: Estimate) -> list[str]:
    """A link that cannot hold what the wrist sensor carries."""
    if problem.shared is None:
        return []
    hand, off = FeasibleSet(problem).hand(estimate.parameters)
    if off <= MOST_WRIST_SHIFT:
        return []
    link, carried = problem.shared.link, problem.shared.mean
    if not ESTIMATORS[estimate.method].wrist_limit:
        return [
            f"{link} without what the wrist sensor carries ({carried[0]:.3g} kg) could not exist: {estimate.method} "
            "does not see to it; use sdp"
        ]
    return [
        f"what the wrist sensor carries had to be moved by {off:.1f} standard deviations (from {carried[0]:.4g} to "
        f"{hand[0]:.4g} kg) to be a part of {link}, at most {MOST_WRIST_SHIFT:g} are chance: calibrate the sensor, or "
        "look at its frame in the robot's file"
    ]


def _implausible(problem: Problem, estimate: Estimate) -> list[str]:
    """Links with a mass far from their prior's."""
    if problem.prior is None:
        return []
    lines = []
    for link, ten in problem.links_of(estimate.parameters).items():
        prior = float(problem.prior[problem.layout.link(link)][0])
        if prior > 0 and ten[0] > 0 and not 1 / MASS_RATIO <= ten[0] / prior <= MASS_RATIO:
            lines.append(
                f"{link} has {ten[0]:.3g} kg, the prior {prior:.3g} kg: feasible is not plausible; "
                "bound its mass, or correct the prior"
            )
    return lines
