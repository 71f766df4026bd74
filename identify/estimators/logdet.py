"""The log-det divergence of a robot's links from the prior, as part of a cone program."""

from __future__ import annotations

import numpy as np

from identify.cone import ConeProgram, svec
from identify.errors import ProblemError
from identify.estimators.target import Target
from identify.inertia.pseudo import PSEUDO_BASIS, pseudo_inertia
from identify.problem import Problem

__all__ = ["add_logdet"]


def add_logdet(program: ConeProgram, problem: Problem, target: Target, weight: float) -> None:
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
