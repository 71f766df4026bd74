"""The target that the consistent estimators share: the data's cost, and the prior where data say nothing.

    f(d) = |R d - z|^2 / v + e |S^-1 (d - d0)|^2

v is the variance of the weighted residuals (1 for weights 1 / sigma^2), so that the first term counts
residuals in their own standard deviations. The second, with e = `PRIOR_WEIGHT`, says that a parameter is
within ten times its scale of the prior: far below what a direction that the data determine can feel, and
decisive in the others. (000, Eq. 29 has the prior in the null space alone; here directions that are excited,
but hardly, belong to it by degrees.)

Its minimum d* and its Hessian give coordinates x in which it is a sphere: d = d* + T x, f = f* + |x|^2. A
solver that is handed x sees columns of equal size, whatever the units and the excitation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from identify.arrays import Array
from identify.estimators.least_squares import RANK_TOLERANCE, least_sigma
from identify.problem import Problem

__all__ = ["PRIOR_WEIGHT", "Target"]

PRIOR_WEIGHT = 1e-2


@dataclass(frozen=True)
class Target:
    """f(d) = f* + |x|^2 for d = `best` + `spread` x: shapes (p,) and (p, p)."""

    best: Array
    spread: Array

    @classmethod
    def of(cls, problem: Problem, weights: Array, prior_weight: float = PRIOR_WEIGHT) -> Target:
        """The target of `problem` with `weights` on the joints."""
        R, z, rho2 = problem.stacked(weights)
        U, values, V = np.linalg.svd(R * problem.scales)
        missed = U.T @ z * (values <= RANK_TOLERANCE * values[0])
        rows = problem.information.rows
        freedom = max(float(rows.sum()) - len(problem.base.names), 1.0)
        least = float(weights @ (rows * least_sigma(problem) ** 2)) / float(rows.sum())
        deviation = np.sqrt(max((rho2 + float(missed @ missed)) / freedom, least))
        R, z, values = R / deviation, z / deviation, values / deviation
        stiffness = values**2 + prior_weight
        step = V.T @ (values / stiffness * (U.T @ (z - R @ problem.start)))
        return cls(
            best=problem.start + problem.scales * step,
            spread=np.asarray(problem.scales[:, None] * V.T / np.sqrt(stiffness), dtype=np.float64),
        )

    def in_units(self, unit: float) -> Target:
        """The same with x in larger units: f = f* + unit^2 |x|^2."""
        return Target(self.best, unit * self.spread)
