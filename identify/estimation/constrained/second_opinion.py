"""The same optimum by two statements of the problem: the direct one, and cvxpy's."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.estimation.constrained.solve import Program, solve
from heft.identify.estimation.constrained.target import Target
from heft.identify.estimation.problem import Problem

__all__ = ["differing", "opinions"]

COST, DEVIATION = "second_opinion_cost", "second_opinion_deviation"
#: Both stop within 1e-8 of the least |x|^2, or of 1: their x are then at most 2e-4 apart.
SAME = 1e-3


def opinions(
    problem: Problem, target: Target, parameters: Array, build: Callable[[Target, float], Program]
) -> dict[str, float]:
    """How far the optimum of the program that `build` makes is from `parameters`, as facts of the estimate.

    `second_opinion_deviation` is their distance in standard deviations of data and prior together, and
    `second_opinion_cost` the difference of |x|^2; each relative to its size where that is more than 1.
    """
    other, _ = solve(problem, target, build)
    first, second = (np.linalg.lstsq(target.spread, d - target.best)[0] for d in (parameters, other))
    costs = float(first @ first), float(second @ second)
    size = max(*costs, 1.0)
    return {
        DEVIATION: float(np.linalg.norm(first - second)) / float(np.sqrt(size)),
        COST: abs(costs[0] - costs[1]) / size,
    }


def differing(facts: Mapping[str, float]) -> tuple[str, ...]:
    """The warning where two opinions differ by more than the solvers' tolerance explains."""
    if facts.get(DEVIATION, 0.0) <= SAME:
        return ()
    return (
        f"a second opinion differs: stated in cvxpy, the optimum is {facts[DEVIATION]:.1g} standard deviations away, "
        f"at most {SAME:g} is expected (objectives differ by {facts[COST]:.1g}); give a prior and boxes of the right "
        "size, and report this",
    )
