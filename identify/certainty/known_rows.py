"""What is known of the parameters beside the prior: base parameters from the data, and equalities without noise."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from heft.identify.bodies.arrays import Array
from heft.identify.estimation.problem import Problem

__all__ = ["known_rows"]

EXACT = 1e-5  # of a row's size: the standard deviation of what holds exactly, small against every spread of a prior


def known_rows(problem: Problem, base: Array, covariance: Array) -> tuple[Array, Array, Array]:
    """Rows (m, p) over the parameters, the values they have (m,), and the covariance of these (m, m).

    First the base parameters (n_base,) with their covariance, then the problem's equalities: a posterior that takes
    both for data is that of the parameters which fulfil them.
    """
    equalities = problem.equalities
    if not len(equalities):
        return problem.base.matrix, base, covariance
    size = np.abs(equalities.rows) @ problem.scales
    std = np.hypot(equalities.std, EXACT * size)
    return (
        np.vstack([problem.base.matrix, equalities.rows]),
        np.concatenate([base, equalities.values]),
        np.asarray(linalg.block_diag(covariance, np.diag(std**2))),
    )
