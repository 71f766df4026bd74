"""Least squares inside the feasible set (003, Eq. 74)."""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy.sparse as sp

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.cone import ConeProgram, svec
from heft.identify.bodies.pseudo_inertia import PSEUDO_BASIS, pseudo_inertia, transform_matrix
from heft.identify.errors import ProblemError, SolverError
from heft.identify.estimation.constrained.blame import InfeasibleProblemError, blamed
from heft.identify.estimation.constrained.feasible_set import DEFAULT_MARGIN, FeasibleSet, Margin
from heft.identify.estimation.constrained.second_opinion import differing, opinions
from heft.identify.estimation.constrained.solve import Program, solve
from heft.identify.estimation.constrained.target import Target
from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.least_squares import weights_of
from heft.identify.estimation.problem import Problem

__all__ = ["sdp"]

BESIDE = 1e-2  # weight of the target's prior beside the log-det divergence: joint terms have no other
ALIKE = 1.0  # squared standard deviations of the data, by which bodies without a prior may fit worse than the best


def sdp(
    problem: Problem,
    *,
    prior: Literal["euclidean", "logdet"] = "euclidean",
    margin: float = DEFAULT_MARGIN.relative,
    prior_weight: float = 1.0,
    second_opinion: bool = False,
) -> Estimate:
    """The consistent parameters that data and prior make most probable (`Target`), by one cone program.

    prior          its distance: squared differences in the prior's metric, or the log-det divergence tr(J0^-1 J) -
                   log det J per link, which does not depend on frames and units and keeps links from the border
    margin         relative to each link's mass and size
    prior_weight   times what the prior's spread says; 0: least squares inside the feasible set (003, Eq. 74), and the
                   prior only where every fit is alike
    second_opinion solve it through cvxpy, too, and compare

    Without a prior the most compact robot is taken among those that fit alike. Constraints of one's own
    that are no linear equalities are solved through cvxpy.
    """
    if prior not in ("euclidean", "logdet"):
        raise ProblemError(f"sdp: no prior {prior!r}; there are euclidean and logdet")
    if prior_weight < 0:
        raise ProblemError(f"sdp: prior_weight {prior_weight:g} must not be negative; 1 is usual, 0 for none")
    weights = weights_of(problem)
    feasible = FeasibleSet(problem, Margin(margin))
    divergence = prior_weight if prior == "logdet" else 0.0
    target = Target.of(problem, weights, BESIDE if divergence else prior_weight)

    def modelled(target: Target, unit: float) -> Program:
        from heft.identify.estimation.constrained.modelled import ModelledProgram  # imports cvxpy

        return ModelledProgram.of(feasible, target, unit, divergence)

    def build(target: Target, unit: float) -> Program:
        if problem.modelled:
            return modelled(target, unit)
        program = ConeProgram(len(problem.layout))
        program.quadratic(2 * sp.identity(len(problem.layout)))
        if divergence:
            _add_logdet(program, problem, target, divergence / unit**2)
        feasible.demand(program, target.spread, target.best, unit)
        return program

    try:
        parameters, facts = solve(problem, target, build)
    except InfeasibleProblemError as exc:
        raise blamed(
            problem, exc, lambda one: sdp(one, prior=prior, margin=margin, prior_weight=prior_weight)
        ) from exc
    second, notes = {}, ()  # type: dict[str, float], tuple[str, ...]
    if second_opinion and problem.modelled:
        notes = (
            "no second opinion: with constraints of one's own the problem is solved through cvxpy alone",
        )
    elif second_opinion:
        second = opinions(problem, target, parameters, modelled)
        notes = differing(second)
    if problem.prior is None:
        try:
            parameters, more = _compact(problem, feasible, target, parameters)
            facts = {name: value + more[name] for name, value in facts.items()}
        except SolverError as exc:
            notes += (f"the links are those that fit best, not the most compact ones that fit alike: {exc}",)
    facts |= {"prior_weight": prior_weight, **second}
    return Estimate.of(problem, "sdp", parameters, weights, facts=facts, warnings=notes)


def _compact(
    problem: Problem, feasible: FeasibleSet, target: Target, fittest: Array
) -> tuple[Array, dict[str, float]]:
    """The smallest robot of those that fit like the fittest, shape (p,): least mass and second moments.

    Minimises the sum over links of m + tr(Sigma) / size^2, with Sigma about the middle of the link's extent.
    """
    x = np.linalg.lstsq(target.spread, fittest - target.best)[0]
    least = float(x @ x) + (0.0 if problem.own is None else problem.own.penalty)
    p = len(problem.layout)
    small = np.zeros(p)
    for link in problem.layout.links:
        middle = np.mean(problem.extents[link], axis=0) if link in problem.extents else np.zeros(3)
        away = transform_matrix(np.eye(3), -middle)  # Sigma's trace is half that of the inertia
        trace = (away[4] + away[6] + away[9]) / 2
        small[problem.layout.link(link)] = np.eye(10)[0] + trace / problem.sizes[link] ** 2

    def build(target: Target, unit: float) -> Program:
        reach = np.sqrt(least + ALIKE) / unit
        if problem.modelled:
            from heft.identify.estimation.constrained.modelled import ModelledProgram  # imports cvxpy

            return ModelledProgram.of(feasible, target, unit, compact=(small, reach))
        program = ConeProgram(p)
        program.linear(small @ target.spread / unit, slice(0, p))
        feasible.demand(program, target.spread, target.best, unit)
        program.second_order(np.vstack([np.zeros(p), np.eye(p)]), np.append(reach, np.zeros(p)))
        return program

    return solve(problem, target, build)


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
