"""Which of several constraints leave no robot that could exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from heft.identify.errors import ProblemError
from heft.identify.estimation.problem import Problem

__all__ = ["InfeasibleProblemError", "blamed"]


class InfeasibleProblemError(ProblemError):
    """No parameters satisfy everything that is demanded of them: the solver has a proof."""


def blamed(
    problem: Problem, failure: InfeasibleProblemError, attempt: Callable[[Problem], Any]
) -> InfeasibleProblemError:
    """The failure with the names of the constraints that cause it: those that have no solution even alone, or all.

    attempt   solves a problem, or raises `InfeasibleProblemError`
    """
    demands = problem.demands
    if not demands:
        return failure
    alone = [
        name for name in demands if len(demands) > 1 and _is_infeasible(problem.demanding(name), attempt)
    ]
    named = alone or demands
    if len(named) == 1:
        how = "this leaves"
    else:
        how = "each of these by itself leaves" if alone else "each has a solution, together they leave"
    return InfeasibleProblemError(
        f"own constraints: {'; '.join(named)}: {how} no robot at level {problem.level} within the bounds "
        f"({problem.bounds}); correct the constraint, or loosen the bound that excludes it"
    )


def _is_infeasible(problem: Problem, attempt: Callable[[Problem], Any]) -> bool:
    try:
        attempt(problem)
    except InfeasibleProblemError:
        return True
    return False
