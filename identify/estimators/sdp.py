"""Least squares inside the feasible set (003, Eq. 74)."""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy.sparse as sp

from identify.arrays import Array
from identify.cone import ConeProgram, InfeasibleError, svec
from identify.errors import ProblemError, SolverError
from identify.estimators.estimate import Estimate
from identify.estimators.feasible import DEFAULT_MARGIN, FeasibleSet, Margin
from identify.estimators.least_squares import weights_of
from identify.estimators.target import PRIOR_WEIGHT, Target
from identify.inertia.pseudo import PSEUDO_BASIS, pseudo_inertia
from identify.problem import Problem

__all__ = ["sdp", "solve"]


def sdp(
    problem: Problem,
    *,
    prior: Literal["euclidean", "logdet"] = "euclidean",
    margin: float = DEFAULT_MARGIN.relative,
    prior_weight: float = PRIOR_WEIGHT,
) -> Estimate:
    """The consistent parameters that fit best, and closest to the prior among those that fit alike.

    `prior` chooses the distance: squared differences in units of the parameters' scales, or the log-det
    divergence tr(J0^-1 J) - log det J per link, which does not depend on frames and units. `margin` is
    relative to each link's mass and size.
    """
    weights = weights_of(problem)
    feasible = FeasibleSet(problem, Margin(margin))
    if prior == "euclidean":
        target = Target.of(problem, weights, prior_weight)
        program = ConeProgram(len(problem.layout))
    else:
        target = Target.of(problem, weights, 1e-3 * prior_weight)  # for joint terms and a bounded Hessian
        program = ConeProgram(len(problem.layout))
        _add_logdet(program, problem, target, prior_weight)
    program.quadratic(2 * sp.identity(len(problem.layout)))
    feasible.demand(program, target.spread, target.best)
    parameters, facts = solve(problem, program, target.spread, target.best)
    return Estimate.of(problem, "sdp", parameters, weights, facts=facts)


def solve(
    problem: Problem, program: ConeProgram, spread: Array, best: Array
) -> tuple[Array, dict[str, float]]:
    """The parameters of the solved program, after a look at their eigenvalues."""
    try:
        solution = program.solve()
    except InfeasibleError as exc:
        raise ProblemError(
            f"no robot at level {problem.level} satisfies all bounds ({problem.bounds}); loosen the one that "
            "is wrong: compare the total mass with the masses' sum, and boxes with the link frames"
        ) from exc
    parameters = best + spread @ solution.x[: spread.shape[1]]
    found = problem.consistency(parameters)
    if not found.ok:
        raise SolverError(
            f"the solver's answer is not consistent at level {problem.level}: {found.culprit} has margin "
            f"{found.margin:.2g}, must be above 0; raise the option `margin`"
        )
    return parameters, {"iterations": solution.iterations, "solver_s": solution.seconds}


def _add_logdet(program: ConeProgram, problem: Problem, target: Target, weight: float) -> None:
    """weight * sum over links of tr(J0^-1 J) - log det J, with J in the link's own units.

    log det J >= sum_i log z_i if a lower triangular Z with diagonal z exists and [[J, Z], [Z', diag z]] >= 0.
    """
    if problem.prior is None:
        raise ProblemError("the log-det prior needs a prior and there is none; give it, or prior=euclidean")
    lower = [(i, j) for j in range(4) for i in range(j, 4)]
    for link in problem.layout.links:
        block = problem.layout.link(link)
        unit = np.diag([1 / problem.sizes[link]] * 3 + [1.0]) / np.sqrt(problem.masses[link])
        J0 = unit @ pseudo_inertia(problem.prior[block]) @ unit
        if np.linalg.eigvalsh(J0)[0] <= 0:
            raise ProblemError(
                f"the log-det prior needs a prior that is consistent at level full; {link} is not: "
                f"smallest eigenvalue {np.linalg.eigvalsh(J0)[0]:.2g}. Correct it, or use prior=euclidean"
            )
        scaled = unit @ PSEUDO_BASIS @ unit
        gradient = np.tensordot(scaled, np.linalg.inv(J0), axes=([1, 2], [0, 1]))
        program.linear(weight * (gradient @ target.spread[block]), slice(0, len(problem.layout)))
        Z, logs = program.extend(10), program.extend(4)
        program.linear(-weight * np.ones(4), logs)
        grown = np.zeros((program.variables, 8, 8))
        grown[: len(problem.layout), :4, :4] = np.tensordot(target.spread[block].T, scaled, axes=1)
        for variable, (i, j) in zip(range(Z.start, Z.stop), lower, strict=True):
            grown[variable, i, 4 + j] = grown[variable, 4 + j, i] = 1.0
            if i == j:
                grown[variable, 4 + j, 4 + j] = 1.0
        constant = np.zeros((8, 8))
        constant[:4, :4] = np.tensordot(target.best[block], scaled, axes=1)
        program.semidefinite(svec(grown).T, svec(constant))
        for log, diagonal in zip(range(logs.start, logs.stop), (0, 4, 7, 9), strict=True):
            rows = np.zeros((3, program.variables))
            rows[0, log] = rows[2, Z.start + diagonal] = 1.0
            program.exponential(rows, np.array([0.0, 1.0, 0.0]))
