"""The target that the consistent estimators share: the data's cost, and the prior where data say nothing.

    f(d) = |R d - z|^2 + e |S^-1 (d - d0)|^2

With weights 1 / sigma^2 the first term counts residuals in their own standard deviations. The second, with
e = `PRIOR_WEIGHT`, says that a parameter is within ten times its scale of the prior: far below what a
direction that the data determine can feel, and decisive in the others. (000, Eq. 29 has the prior in the null
space alone; here directions that are excited, but hardly, belong to it by degrees.)

Its minimum d* and its Hessian give coordinates x in which it is a sphere: d = d* + T x, f = f* + |x|^2. A
solver that is handed x sees columns of equal size, whatever the units and the excitation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from identify.arrays import Array
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
        R, z, _ = problem.information.stacked(weights)
        U, values, V = np.linalg.svd(R * problem.scales)
        stiffness = values**2 + prior_weight
        step = V.T @ (values / stiffness * (U.T @ (z - R @ problem.start)))
        return cls(
            best=problem.start + problem.scales * step,
            spread=np.asarray(problem.scales[:, None] * V.T / np.sqrt(stiffness), dtype=np.float64),
        )
