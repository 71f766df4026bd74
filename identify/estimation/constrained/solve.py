"""Solve a cone program for parameters, and verify their consistency by eigenvalues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import scipy.sparse as sp

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.cone import ConeProgram, InfeasibleError, Solution
from heft.identify.errors import SolverError
from heft.identify.estimation.constrained.blame import InfeasibleProblemError
from heft.identify.estimation.constrained.feasible_set import FeasibleSet
from heft.identify.estimation.constrained.target import Target
from heft.identify.estimation.problem import Problem

__all__ = ["Program", "solve"]

UNITS = (1.0, 30.0, 1e3, 3e4)  # standard deviations; data that are far outside the set need a larger one


class Program(Protocol):
    """What `build` makes: its first variables are the target's coordinates x."""

    def solve(self) -> Solution:
        """The optimum; `InfeasibleError` with a certificate, `SolverError` where it was not reached."""


def solve(
    problem: Problem, target: Target, build: Callable[[Target, float], Program]
) -> tuple[Array, dict[str, float]]:
    """Parameters d* + T x of the program that `build` makes of the target, consistent by their eigenvalues.

    The program is built with the target in larger units until the solver reaches its optimum: the answer is
    the same, and the optimum of data that contradict the set is many standard deviations away: so many that the solver
    may take the set for empty, which is believed where it says so in every unit.
    """
    failure, empty = SolverError(), 0
    for unit in UNITS:
        scaled = target.in_units(unit)
        try:
            solution = build(scaled, unit).solve()
            parameters = scaled.best + scaled.spread @ solution.x[: len(scaled.best)]
            _verify(problem, parameters)
            return parameters, {"iterations": solution.iterations, "solver_s": solution.seconds}
        except InfeasibleError as exc:
            failure, empty = exc, empty + 1
        except SolverError as exc:
            failure = exc
    if empty == len(UNITS):
        raise _excluding(problem) from failure
    _check_bounds(problem)
    raise failure


def _check_bounds(problem: Problem) -> None:
    """`InfeasibleProblemError` where no parameters satisfy all bounds, whatever the data say."""
    program = ConeProgram(len(problem.layout))
    program.quadratic(2 * sp.identity(len(problem.layout)))
    FeasibleSet(problem).demand(program, problem.metric, problem.start)
    try:
        program.solve()
    except InfeasibleError as exc:
        raise _excluding(problem) from exc
    except SolverError:
        return


def _excluding(problem: Problem) -> InfeasibleProblemError:
    return InfeasibleProblemError(
        f"no robot at level {problem.level} satisfies all bounds ({problem.bounds}); loosen the one that "
        "is wrong: compare the total mass with the masses' sum, and boxes with the link frames"
    )


def _verify(problem: Problem, parameters: Array) -> None:
    """`SolverError` unless parameters are consistent at the problem's level."""
    consistency = problem.consistency(parameters)
    if not consistency.ok:
        raise SolverError(
            f"the solver's answer is not consistent at level {problem.level}: {consistency.culprit} has margin "
            f"{consistency.margin:.2g}, must be above 0; raise the option `margin`"
        )
