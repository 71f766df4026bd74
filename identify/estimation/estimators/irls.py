"""Iteratively reweighted least squares: samples that the model cannot explain lose their say."""

from __future__ import annotations

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.errors import ProblemError
from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.least_squares import closest_to_prior
from heft.identify.estimation.problem import Problem
from heft.identify.information.joint_weights import least_sigma

__all__ = ["irls"]

TUNING = 4.685  # bisquare: 95 % as efficient as least squares on Gaussian residuals
GAUSSIAN = 1.4826  # standard deviation over median absolute value
KEPT = 2_000  # residuals per block, evenly spaced, that the robust standard deviation is taken from


def irls(problem: Problem, *, most_rounds: int = 30, settled: float = 1e-4) -> Estimate:
    """Tukey's bisquare: a residual r of joint j counts (1 - (r / c s_j)^2)^2 / s_j^2, nothing beyond c s_j.

    s_j is the median absolute residual of joint j as a standard deviation, c = 4.685. Every round goes
    through the samples once more.
    """
    if problem.reweight is None:
        raise ProblemError("irls goes through the samples again, here is only their reduced form; call fit()")
    seen: list[Array] = []

    def look(_: Array, __: Array, residual: Array) -> Array:
        seen.append(np.abs(residual[:: max(1, len(residual) // KEPT)]))
        return np.ones_like(residual)

    used: list[Array] = []
    parameters = closest_to_prior(problem, problem.joint_weights[0])
    problem.reweight(look, parameters)
    for rounds in range(1, most_rounds + 1):  # noqa: B007
        sigma = np.maximum(
            GAUSSIAN * np.median(np.concatenate(seen), axis=0), least_sigma(problem.information)
        )
        seen.clear()
        used.clear()

        def weigh(index: Array, age_s: Array, residual: Array, sigma: Array = sigma) -> Array:
            look(index, age_s, residual)
            used.append(np.maximum(1 - (residual / (TUNING * sigma)) ** 2, 0.0) ** 2)
            return used[-1]

        information = problem.reweight(weigh, parameters)
        before, weights = parameters, 1 / sigma**2
        parameters = closest_to_prior(problem, weights, information=information)
        if np.linalg.norm((parameters - before) / problem.scales) <= settled:
            break
    outside = np.mean(np.concatenate(seen) > TUNING * sigma)
    return Estimate.of(
        problem,
        "irls",
        parameters,
        weights,
        information=information,
        facts={"iterations": rounds, "share_left_out": float(outside)},
        sample_weights=np.concatenate(used),
    )
