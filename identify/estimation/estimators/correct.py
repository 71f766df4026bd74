"""The feasible parameters closest to a base vector (003, Eq. 55)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.cone import ConeProgram
from heft.identify.errors import SolverError
from heft.identify.estimation.constrained.base_space import BaseSpace
from heft.identify.estimation.constrained.feasible_set import DEFAULT_MARGIN, FeasibleSet, Margin
from heft.identify.estimation.constrained.solve import solve
from heft.identify.estimation.constrained.target import Target
from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.least_squares import closest_to_prior, weights_of
from heft.identify.estimation.problem import Problem

__all__ = ["SAME", "correct", "correct_base"]

FIRST_UNIT = 1e-3  # of the base vector's size: the unit of distance in the first pass
SAME = 1e-6  # of the base vector's size: what counts as no distance
NULL_WEIGHTS = (1e-6, 1e-5, 1e-4, 1e-3)  # of the way from the prior, against the distance, both squared


def correct(problem: Problem) -> Estimate:
    """Least squares, then the feasible vector closest to it in base space; `sdp` never fits worse."""
    weights = weights_of(problem)
    base = problem.base.matrix @ closest_to_prior(problem, weights)
    parameters, distance = correct_base(problem, base)
    return Estimate.of(
        problem,
        "correct",
        parameters,
        weights,
        feasible=distance <= SAME * float(np.linalg.norm(base)),
        facts={"distance": distance},
    )


def correct_base(problem: Problem, base: ArrayLike, margin: Margin = DEFAULT_MARGIN) -> tuple[Array, float]:
    """Parameters of the feasible base vector closest to `base`, and the distance |b - b'| in SI units.

    Among the parameters with that base vector, those near the prior.
    """
    space = BaseSpace.of(problem, base)
    size = max(float(np.linalg.norm(np.asarray(base))), 1e-9)
    parameters, distance = _closest(problem, space, margin, FIRST_UNIT * size, NULL_WEIGHTS[-1])
    away = float(np.linalg.norm(np.linalg.solve(problem.metric, parameters - space.best)))
    for weight in NULL_WEIGHTS:
        # The least weight that the solver copes with: some vectors are closest to a robot of infinite mass.
        try:
            unit = max(distance, SAME * size)
            return _closest(problem, space, margin, unit, weight / max(away, 1.0) ** 2)
        except SolverError:
            continue
    return parameters, distance


def _closest(
    problem: Problem, space: BaseSpace, margin: Margin, unit: float, weight: float
) -> tuple[Array, float]:
    """The least |b - b'|^2 / `unit`^2 + `weight` |v|^2, v being the way from the prior in the null space."""
    target = Target(space.best, np.hstack([space.inverse * unit, space.null / np.sqrt(weight)]))

    def build(target: Target, unit: float) -> ConeProgram:
        program = ConeProgram(len(target.best))
        program.quadratic(2 * sp.identity(len(target.best)))
        FeasibleSet(problem, margin).demand(program, target.spread, target.best, unit)
        return program

    parameters, _ = solve(problem, target, build)
    return parameters, float(np.linalg.norm(problem.base.matrix @ (parameters - space.best)))
