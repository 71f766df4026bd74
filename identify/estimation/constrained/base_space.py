"""All standard parameters with a given base vector (003, Eq. 40)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from heft.identify.bodies.arrays import Array
from heft.identify.errors import ParameterError
from heft.identify.estimation.problem import Problem

__all__ = ["BaseSpace"]


@dataclass(frozen=True)
class BaseSpace:
    """d = `best` + `inverse` (b' - b) + `null` v has base vector b', for every v.

    `best` is closest to the prior in its metric, and v counts in the same. Shapes (p,),
    (p, n_base) and (p, p - n_base).
    """

    best: Array
    inverse: Array
    null: Array

    @classmethod
    def of(cls, problem: Problem, base: ArrayLike) -> BaseSpace:
        """About the base vector b."""
        vector, K = np.asarray(base, dtype=np.float64), problem.base.matrix
        if vector.shape != (len(K),):
            raise ParameterError(
                f"shape {vector.shape}, must be one value for each of {len(K)} base parameters"
            )
        _, _, V = np.linalg.svd(K @ problem.metric)
        inverse = np.asarray(problem.metric @ np.linalg.pinv(K @ problem.metric))
        best = problem.start + inverse @ (vector - K @ problem.start)
        return cls(best, inverse, problem.metric @ V[len(K) :].T)
