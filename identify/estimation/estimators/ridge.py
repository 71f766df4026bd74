"""Ridge regression (004, Eq. 20)."""

from __future__ import annotations

import numpy as np

from heft.identify.errors import ProblemError
from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.least_squares import RANK_TOLERANCE
from heft.identify.estimation.problem import Problem

__all__ = ["ridge"]

SHARE = 1e-3  # of the smallest eigenvalue that is not zero: 004 asks for "much less"


def ridge(problem: Problem, *, weight: float | None = None) -> Estimate:
    """(Y'Y + w 1)^-1 Y' tau, in SI units as in 004: small parameters where the data do not determine them.

    `weight` w defaults to a thousandth of the smallest non-zero eigenvalue of Y'Y.
    """
    if weight is not None and not weight > 0:
        raise ProblemError(f"ridge: weight {weight} must be above 0; use ols for none at all")
    weights = np.ones(problem.joints)
    R, z, _ = problem.stacked(weights)
    U, values, V = np.linalg.svd(R)
    if weight is None:
        weight = SHARE * float(values[values > RANK_TOLERANCE * values[0]].min()) ** 2
    parameters = V.T @ (values / (values**2 + weight) * (U.T @ z))
    return Estimate.of(problem, "ridge", parameters, weights, facts={"weight": weight})
