"""What each bound on the parameters costs, by its name.

A bound that is active where the truth is on its other side raises the squared residual. For a joint term x_i that is a
base parameter by itself, the bound x_i >= 0 alone raises the least squares' cost by x_i^2 / (A^-1)_ii where x_i < 0 is
the least-squares value and A the information matrix; other bounds are left out one by one and the problem solved again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from heft.identify.bodies.parameters import unit_of
from heft.identify.certainty.reason import Reason
from heft.identify.errors import HeftError
from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.estimators import ESTIMATORS, estimate
from heft.identify.estimation.problem import Bounds, Problem

__all__ = ["bound_costs"]

COSTLY = 0.05  # more squared residual than least squares leaves; what the prior's pull costs by chance comes on top
NO_RESIDUAL = 1e-4  # of the torque: data without noise
AT_BOUND = 1e-3  # of a bound's value
MOST_SIGNS = 3  # joint terms that are named
WEIGHT = 200.0


def bound_costs(problem: Problem, answer: Estimate) -> list[Reason]:
    """Reasons for care: bounds that cost more than a twentieth of the squared residual of least squares."""
    if not ESTIMATORS[answer.method].feasible:
        return []
    information = answer.information or problem.information
    least = float(answer.weights @ problem.residual_squares(answer.least_squares, information))
    whole = float(answer.weights @ problem.residual_squares(np.zeros(len(problem.layout)), information))
    rows = float(information.rows.sum())
    chance = max(COSTLY, 2 * problem.inflation * answer.rank / max(rows - answer.rank, 1.0))
    if not least > 0 or answer.cost / least - 1 <= chance or answer.cost < NO_RESIDUAL**2 * whole:
        return []
    rise = answer.cost / least - 1
    costs = (_signs(problem, answer, least) if problem.bounds.signs else []) + _masses(problem, answer, least)
    named = sum(share for share, _ in costs)
    reasons = [Reason("bound-cost", "care", text, WEIGHT + min(share, 9.0)) for share, text in costs]
    if rise - named > chance * (1 + named):  # chance is a share of the residual that the named bounds leave
        text = (
            f"bodies that can exist (level {problem.level}) near what the file says cost "
            f"{_more(rise - named)} squared residual than least squares, at most {100 * chance:.0f} % are "
            "chance: the model lacks something, a box or the prior's spread is too narrow, or the data are wrong"
        )
        reasons.append(Reason("bound-cost", "care", text, WEIGHT + min(rise - named, 9.0)))
    return reasons


def _signs(problem: Problem, answer: Estimate, least: float) -> list[tuple[float, str]]:
    """Cost of each sign alone, over the least squares' cost, and what to say; the dearest first."""
    spread, base = answer.spread, problem.base.matrix @ answer.least_squares
    positive = set(problem.layout.non_negative)
    costs = []
    for k, row in enumerate(problem.base.matrix):
        members = np.flatnonzero(row)
        if (
            len(members) != 1
            or int(members[0]) not in positive
            or not base[k] < 0
            or not np.isfinite(spread[k, k])
        ):
            continue
        share = float(base[k] ** 2 / spread[k, k]) / least
        if share > COSTLY:
            name = problem.layout.names[int(members[0])]
            joint, _, term = name.rpartition(".")
            what = {"viscous": "viscous friction", "coulomb": "Coulomb friction"}.get(
                term, term.replace("_", " ")
            )
            text = (
                f"no negative {what} of {joint} costs {_more(share)} squared residual (least squares has "
                f"{base[k]:.3g} {unit_of(name)}): a sign, a torque constant or the friction model is wrong"
            )
            costs.append((share, text))
    return sorted(costs, reverse=True)[:MOST_SIGNS]


def _masses(problem: Problem, answer: Estimate, least: float) -> list[tuple[float, str]]:
    """Cost of each bound on masses that is active, and of the boxes, over the least squares' cost."""
    bounds, total = problem.bounds, sum(ten[0] for ten in problem.links_of(answer.parameters).values())
    looser: list[tuple[str, Bounds]] = []
    if bounds.total_mass is not None and _active(float(total), bounds.total_mass):
        low, high = bounds.total_mass
        looser.append((f"the total mass of {low:g} to {high:g} kg", replace(bounds, total_mass=None)))
    for link, pair in bounds.mass.items():
        if _active(float(answer.parameters[problem.layout.link(link)][0]), pair):
            rest = {name: ends for name, ends in bounds.mass.items() if name != link}
            looser.append((f"the mass of {link}, {pair[0]:g} to {pair[1]:g} kg,", replace(bounds, mass=rest)))
    costs = []
    for what, other in looser:
        try:
            freed = estimate(replace(problem, bounds=other), answer.method)
        except HeftError:
            continue
        share = (answer.cost - problem.cost(freed.parameters, answer.weights)) / least
        if share > COSTLY:
            costs.append((share, f"{what} costs {_more(share)} squared residual: correct it, or the torques"))
    return costs


def _active(value: float, pair: tuple[float, float]) -> bool:
    return any(abs(value - end) <= AT_BOUND * max(end, 1e-9) for end in pair)


def _more(share: float) -> str:
    return f"{100 * share:.0f} % more" if share < 10 else f"{1 + share:.2g} times the"
