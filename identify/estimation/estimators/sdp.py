"""Least squares inside the feasible set (003, Eq. 74)."""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy.sparse as sp

from heft.identify.bodies.cone import ConeProgram, svec
from heft.identify.bodies.pseudo_inertia import PSEUDO_BASIS, pseudo_inertia
from heft.identify.errors import ProblemError
from heft.identify.estimation.constrained.blame import InfeasibleProblemError, blamed
from heft.identify.estimation.constrained.feasible_set import DEFAULT_MARGIN, FeasibleSet, Margin
from heft.identify.estimation.constrained.prior_weight import FeasibleFit, choose_prior_weight
from heft.identify.estimation.constrained.second_opinion import differing, opinions
from heft.identify.estimation.constrained.solve import Program, solve
from heft.identify.estimation.constrained.target import Target
from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.estimators.correct import correct_base
from heft.identify.estimation.least_squares import closest_to_prior, weights_of
from heft.identify.estimation.problem import Problem

__all__ = ["sdp"]

BESIDE = 1e-2  # weight of the target's prior beside the log-det divergence: joint terms have no other


def sdp(
    problem: Problem,
    *,
    prior: Literal["euclidean", "logdet"] = "euclidean",
    margin: float = DEFAULT_MARGIN.relative,
    prior_weight: float | None = None,
    second_opinion: bool = False,
) -> Estimate:
    """The consistent parameters that fit best, and closest to the prior among those that fit alike.

    `prior` chooses the distance: squared differences in the prior's metric, or the log-det
    divergence tr(J0^-1 J) - log det J per link, which does not depend on frames and units and keeps links
    from the border. `margin` is relative to each link's mass and size. `prior_weight` None: 1 for the
    divergence; for differences as much as the prior's spread says and the data allow (`choose_prior_weight`); with
    weights that are not the noise's, no more than correcting least squares afterwards (003, Eq. 55) costs.
    Constraints of one's own that are no linear equalities are solved through cvxpy. `second_opinion` states the whole
    problem in cvxpy in any case, and compares.
    """
    if prior not in ("euclidean", "logdet"):
        raise ProblemError(f"sdp: no prior {prior!r}; there are euclidean and logdet")
    weights = weights_of(problem)
    feasible = FeasibleSet(problem, Margin(margin))
    spent = 0.0

    def solved(weight: float, divergence: float = 0.0) -> FeasibleFit:
        nonlocal spent

        def modelled(target: Target, unit: float) -> Program:
            from heft.identify.estimation.constrained.modelled import ModelledProgram  # imports cvxpy

            return ModelledProgram.of(feasible, target, unit, divergence)

        def build(target: Target, unit: float) -> Program:
            if problem.own is not None and not problem.own.linear:
                return modelled(target, unit)
            program = ConeProgram(len(problem.layout))
            program.quadratic(2 * sp.identity(len(problem.layout)))
            if divergence:
                _add_logdet(program, problem, target, divergence / unit**2)
            feasible.demand(program, target.spread, target.best, unit)
            return program

        target = Target.of(problem, weights, weight)
        parameters, facts = solve(problem, target, build)
        spent += facts["solver_s"]
        if second_opinion:
            facts |= opinions(problem, target, parameters, modelled)
        facts |= {"prior_weight": divergence or weight, "solver_s": spent}
        return FeasibleFit(parameters, problem.cost(parameters, weights), facts)

    def corrected() -> float:
        base = problem.base.matrix @ closest_to_prior(problem, weights)
        return problem.cost(correct_base(problem, base, Margin(margin))[0], weights)

    try:
        if prior == "logdet":
            best = solved(BESIDE, 1.0 if prior_weight is None else prior_weight)
        elif prior_weight is not None:
            best = solved(prior_weight)
        else:
            best = choose_prior_weight(problem, weights, solved, corrected)
    except InfeasibleProblemError as exc:
        raise blamed(
            problem, exc, lambda one: sdp(one, prior=prior, margin=margin, prior_weight=prior_weight)
        ) from exc
    return Estimate.of(
        problem, "sdp", best.parameters, weights, facts=best.facts, warnings=differing(best.facts)
    )


def _add_logdet(program: ConeProgram, problem: Problem, target: Target, weight: float) -> None:
    """Add weight * sum over links of tr(J0^-1 J) - log det J, with J in the link's own units, J0 the prior's.

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
