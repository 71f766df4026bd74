"""What to know of an estimate before it is used: lines with numbers and remedies."""

from __future__ import annotations

import numpy as np

from identify.consistency import LEVELS
from identify.estimators.answer import Estimate
from identify.estimators.least_squares import closest_to_prior
from identify.problem import Problem
from identify.result.relative_error import RelativeError

__all__ = ["judged"]

WORST_CONDITION = 500.0  # a good motion has about 100 (003)
WORST_FIT = 0.2  # of the torque unexplained
COSTLY = 0.05  # more residual than least squares leaves: something contradicts the data
NO_RESIDUAL = 1e-4  # of the torque: data without noise
CROWDED = 6.0  # standard deviations of ten numbers together
MASS_RATIO = 3.0  # between a link's identified mass and its prior


def judged(
    problem: Problem, answer: Estimate, fit: RelativeError, condition_number: float
) -> tuple[str, ...]:
    """Warnings about excitation, fit, contradictions, consistency and plausibility, in this order."""
    found: list[str] = []
    if condition_number > WORST_CONDITION and answer.rank == len(answer.base):
        found.append(
            f"condition number {condition_number:.3g}, good motions have about 100 and at most {WORST_CONDITION:.0f}: "
            "some base parameters are known far less well than others; move faster and in more postures"
        )
    if fit.total > WORST_FIT:
        found.append(
            f"the model leaves {100 * fit.total:.1f} % of the torque unexplained: compare signs, units, joint order "
            "and torque constants, and whether the robot touched something"
        )
    found += _contradictions(problem, answer)
    found += _inconsistencies(problem, answer)
    found += _crowded(problem, answer)
    found += _implausible(problem, answer)
    return tuple(found)


def _contradictions(problem: Problem, answer: Estimate) -> list[str]:
    if answer.method not in ("sdp", "manifold", "masspoint", "correct"):
        return []
    least = problem.cost(closest_to_prior(problem, answer.weights), answer.weights)
    rise = answer.cost / least - 1 if least > 0 else 0.0
    whole = problem.cost(np.zeros(len(problem.layout)), answer.weights)
    if rise <= COSTLY or answer.cost < NO_RESIDUAL**2 * whole:
        return []
    return [
        f"level {problem.level} and bounds ({problem.bounds}) cost {100 * rise:.0f} % more squared residual than least "
        "squares: a bound, a box or the model is wrong; loosen bounds one by one to see which"
    ]


def _inconsistencies(problem: Problem, answer: Estimate) -> list[str]:
    levels = LEVELS[: LEVELS.index(problem.level) + 1]
    for level in levels:
        at_level = problem.consistency(answer.parameters, level)
        if not at_level.ok:
            return [
                f"{at_level.culprit} is not consistent at level {level} (margin {at_level.margin:.2g}, must be above "
                f"0): {answer.method} does not ask for it; use sdp for parameters that are simulated or controlled with"
            ]
    negative = [problem.layout.names[i] for i in problem.layout.non_negative if answer.parameters[i] < 0]
    return [f"negative {', '.join(negative)}: no friction or inertia is; use sdp"] if negative else []


def _crowded(problem: Problem, answer: Estimate) -> list[str]:
    """A link that what the wrist sensor carries does not fit into."""
    if problem.shared is None:
        return []
    from identify.estimators.feasible import FeasibleSet

    hand, off = FeasibleSet(problem).hand(answer.parameters)
    if off <= CROWDED:
        return []
    link, carried = problem.shared.link, problem.shared.mean
    if answer.method != "sdp":
        return [
            f"{link} without what the wrist sensor carries ({carried[0]:.3g} kg) could not exist: {answer.method} does "
            "not see to it; use sdp"
        ]
    return [
        f"what the wrist sensor carries had to be moved by {off:.1f} standard deviations (from {carried[0]:.4g} to "
        f"{hand[0]:.4g} kg) to be a part of {link}, at most {CROWDED:g} are chance: calibrate the sensor, or look at "
        "its frame in the robot's file"
    ]


def _implausible(problem: Problem, answer: Estimate) -> list[str]:
    if problem.prior is None:
        return []
    found = []
    for link, ten in problem.links_of(answer.parameters).items():
        prior = float(problem.prior[problem.layout.link(link)][0])
        if prior > 0 and ten[0] > 0 and not 1 / MASS_RATIO <= ten[0] / prior <= MASS_RATIO:
            found.append(
                f"{link} has {ten[0]:.3g} kg, the prior {prior:.3g} kg: feasible is not plausible; "
                "bound its mass, or correct the prior"
            )
    return found
