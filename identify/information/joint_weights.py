"""Weights of joints by their own residuals: least squares whose weights are estimated along.

With parameters d = d0 + V x and the information factor R_j of joint j, its squared residual is |A_j x - b_j|^2 with
A_j = R_j V. Each [A_j b_j] is reduced to a triangle once; what is iterated is as small as the number of directions.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dtrcon

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.bodies.least_norm import least_norm
from heft.identify.information.reduction import Information
from heft.identify.information.triangle import triangle

__all__ = ["RANK_TOLERANCE", "joint_weights", "least_sigma"]

RANK_TOLERANCE = 1e-8  # of the largest singular value; data in double precision are exact to about 1e-12
LEAST_SIGMA = 1e-5  # of a joint's torque: no torque is known better, and noise-free data keep finite weights
MOST_ROUNDS = 20
SETTLED = 1e-4  # relative change of the joints' standard deviations


def joint_weights(information: Information, start: Array, seen: Array) -> tuple[Array, int]:
    """1 / sigma_j^2 of each joint's own residual (n,), iterated until they settle, and the rounds.

    start   d0, shape (p,)
    seen    V: the k directions that torques depend on, shape (p, k)
    """
    factors, count = information.factors, len(information.rows)
    least = least_sigma(information)
    degrees = np.maximum(information.rows - seen.shape[1] / count, 1.0)
    sides = factors[:, :, -1] - factors[:, :, :-1] @ start
    known = np.flatnonzero(factors.any(axis=(1, 2)))  # rows that nothing was measured of have no say
    reduced = np.stack(
        [
            triangle(np.column_stack([factors[j][used, :-1] @ seen, sides[j][used]]))
            for j in known
            for used in [factors[j].any(axis=1)]
        ]
    )
    weights, sigma = np.ones(count), np.zeros(count)
    for rounds in range(1, MOST_ROUNDS + 1):  # noqa: B007
        both = triangle((np.sqrt(weights[known])[:, None, None] * reduced).reshape(-1, reduced.shape[2]))
        x = _solved(both[:-1, :-1], both[:-1, -1])
        squares = np.zeros(count)
        squares[known] = ((reduced @ np.append(x, -1.0)) ** 2).sum(axis=1)
        before, sigma = sigma, np.maximum(np.sqrt(squares / degrees), least)
        weights = 1 / sigma**2
        if np.all(np.abs(sigma - before) <= SETTLED * sigma):
            break
    return frozen(weights), rounds


def _solved(factor: Array, side: Array) -> Array:
    """The shortest x of least |R x - b|, for an upper triangle R (k, k): by substitution where R has full rank."""
    reciprocal, _ = dtrcon(factor)
    if reciprocal > len(factor) * RANK_TOLERANCE:
        return np.asarray(solve_triangular(factor, side, check_finite=False))
    return least_norm(factor, side, RANK_TOLERANCE)


def least_sigma(information: Information) -> Array:
    """The smallest standard deviation of a residual that is believed [N m], shape (n,)."""
    torque = np.sqrt((information.factors[:, :, -1] ** 2).sum(axis=1) / np.maximum(information.rows, 1))
    return LEAST_SIGMA * np.maximum(torque, max(LEAST_SIGMA * float(torque.max()), 1e-9))
