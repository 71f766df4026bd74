"""Is a base vector feasible? (003, Eq. 51)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.cone import ConeProgram, InfeasibleError
from heft.identify.bodies.consistency import Level
from heft.identify.errors import SolverError
from heft.identify.estimation.constrained.base_space import BaseSpace
from heft.identify.estimation.constrained.feasible_set import DEFAULT_MARGIN, FeasibleSet, Margin
from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.estimators.correct import SAME, correct_base
from heft.identify.estimation.least_squares import closest_to_prior, weights_of
from heft.identify.estimation.problem import Problem

__all__ = ["Feasibility", "check", "check_base"]


@dataclass(frozen=True)
class Feasibility:
    """Whether standard parameters in the set of `level` exist for a base vector.

    `parameters`, shape (p,), are such parameters, the closest to the prior; or, for an infeasible vector,
    those of the closest feasible one, at `distance` in base space (SI units; 0 if feasible). `base` is theirs.
    """

    level: Level
    ok: bool
    distance: float
    parameters: Array
    base: Array


def check(problem: Problem) -> Estimate:
    """Least squares left as it is, and whether it is feasible; the standard parameters are feasible if it is."""
    weights = weights_of(problem)
    parameters = closest_to_prior(problem, weights)
    feasibility = check_base(problem, problem.base.matrix @ parameters)
    return Estimate.of(
        problem,
        "check",
        feasibility.parameters if feasibility.ok else parameters,
        weights,
        feasible=feasibility.ok,
        facts={"distance": feasibility.distance},
    )


def check_base(problem: Problem, base: ArrayLike, margin: Margin = DEFAULT_MARGIN) -> Feasibility:
    """Feasibility of base parameters at the problem's level and within its bounds."""
    space = BaseSpace.of(problem, base)
    program = ConeProgram(space.null.shape[1])
    program.quadratic(2 * sp.identity(space.null.shape[1]))
    FeasibleSet(problem, margin).demand(program, space.null, space.best)
    try:
        x = program.solve().x[: space.null.shape[1]]
        parameters = np.asarray(space.best + space.null @ x)
        return Feasibility(problem.level, True, 0.0, parameters, problem.base.matrix @ parameters)
    except SolverError as exc:  # infeasible, or so near the border that the distance must decide
        parameters, distance = correct_base(problem, base, margin)
        near = distance <= SAME * float(np.linalg.norm(np.asarray(base)))
        ok = near and not isinstance(exc, InfeasibleError)
        return Feasibility(problem.level, ok, distance, parameters, problem.base.matrix @ parameters)
