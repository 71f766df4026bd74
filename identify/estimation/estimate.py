"""The estimate that every estimator returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.estimation.least_squares import closest_to_prior, covariance
from heft.identify.estimation.problem import Problem
from heft.identify.information.reduction import Information

__all__ = ["Estimate"]


@dataclass(frozen=True)
class Estimate:
    """Parameters, and how well they fit.

    parameters    standard parameters d, shape (p,)
    base          base parameters K d, shape (n_base,)
    covariance    of the base parameters (002, Eq. 11), (n_base, n_base); infinite where data say nothing
    spread        the same for residuals of variance 1 / w
    weights       on the squared residuals of each joint, shape (n,)
    cost          sum of the weighted squared residuals
    rank          number of base parameters that the data determine
    feasible      whether the least-squares solution itself is consistent, where the method tests it
    essential     names of the base parameters that were kept, where the method chooses (002, section III)
    facts         numbers about the search by name: iterations, distances, solver time
    least_squares the optimum of the same weights without constraints, closest to the prior, shape (p,)
    information   the data with the weights of single samples, where the method has such
    sample_weights  of each row and joint on its square, shape (K, n), where the method has such
    """

    method: str
    parameters: Array
    base: Array
    covariance: Array
    spread: Array
    weights: Array
    cost: float
    rank: int
    feasible: bool | None = None
    essential: tuple[str, ...] = ()
    facts: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    least_squares: Array = field(default_factory=lambda: np.zeros(0))
    information: Information | None = None
    sample_weights: Array | None = None

    @classmethod
    def of(
        cls,
        problem: Problem,
        method: str,
        parameters: Array,
        weights: Array,
        *,
        information: Information | None = None,
        feasible: bool | None = None,
        essential: tuple[str, ...] = (),
        facts: Mapping[str, float] = MappingProxyType({}),
        warnings: tuple[str, ...] = (),
        sample_weights: Array | None = None,
        least_squares: Array | None = None,
    ) -> Estimate:
        """The answer `parameters`, with everything that follows from them and the data.

        least_squares   the optimum without constraints, where it is known already
        """
        given = information
        information = information or problem.information
        if least_squares is None:
            least_squares = closest_to_prior(problem, weights, information=information)
        squares = problem.residual_squares(parameters, information)
        rank, spread, undetermined = covariance(problem, weights, information)
        if undetermined:
            warnings = (*warnings, undetermined)
        return cls(
            method=method,
            parameters=frozen(parameters),
            base=frozen(problem.base.matrix @ parameters),
            spread=frozen(spread),
            covariance=frozen(spread * _variance(squares, weights, float(information.rows.sum()), rank)),
            weights=frozen(weights),
            cost=float(weights @ squares),
            rank=rank,
            feasible=feasible,
            essential=essential,
            facts=MappingProxyType(dict(facts)),
            warnings=(*problem.prior_warnings, *warnings),
            least_squares=frozen(least_squares),
            information=given,
            sample_weights=None if sample_weights is None else frozen(sample_weights),
        )


def _variance(squares: Array, weights: Array, rows: float, rank: int) -> float:
    """Variance of a weighted residual (002, Eq. 10); 1 for weights that are right."""
    return float(weights @ squares / max(rows - rank, 1.0))
