"""On-line least squares with forgetting (004, after Eq. 9), feasible if asked.

    minimise   sum over rows i of exp(-(t_last - t_i) / memory) |Y_i d - tau_i|^2_W

which is what a recursive update of the square-root information has after the last row, at whatever rate rows come.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.errors import ProblemError
from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.estimators.manifold import on_manifold
from heft.identify.estimation.least_squares import closest_to_prior, weights_of
from heft.identify.estimation.problem import Problem
from heft.identify.information.memory import checked_memory, remembered

__all__ = ["recursive"]


def recursive(problem: Problem, *, memory_s: float = np.inf, feasible: bool = False) -> Estimate:
    """The on-line estimate after the last row; with `feasible`, on the manifold (see `manifold`).

    memory_s   time constant of forgetting [s]: a step in a parameter is followed as 1 - exp(-t / memory_s)
    """
    used: list[Array] = []
    information = None
    if np.isfinite(checked_memory(memory_s)):
        if problem.reweight is None:
            raise ProblemError(
                "forgetting goes through the samples, here is only their reduced form; call fit()"
            )

        def weigh(_: Array, age_s: Array, residual: Array) -> Array:
            used.append(np.repeat(remembered(age_s, memory_s)[:, None], residual.shape[1], axis=1))
            return used[-1]

        information = problem.reweight(weigh, problem.start)
        problem = replace(problem, information=information)
    weights = weights_of(problem)
    warnings: tuple[str, ...] = ()
    if feasible:
        found = on_manifold(problem, weights)
        parameters, warnings = found.parameters, found.warnings
    else:
        parameters = closest_to_prior(problem, weights)
    return Estimate.of(
        problem,
        "recursive",
        parameters,
        weights,
        information=information,
        facts={} if information is None else {"memory_seconds": memory_s},
        warnings=warnings,
        sample_weights=np.concatenate(used) if used else None,
    )
