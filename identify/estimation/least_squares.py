"""Weighted least squares on the information factors: the linear algebra that the estimators share.

In the prior's metric S, with V1 an orthonormal basis of the row space of K S, the
least-squares solution closest to the prior d0 is (002, Eq. 30)

    d = d0 + S V1 (R S V1)^+ (z - R d0)

Directions of V1 whose singular value is below `RANK_TOLERANCE` of the largest are left at the prior.
"""

from __future__ import annotations

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.estimation.problem import Problem
from heft.identify.information.reduction import Information

__all__ = ["closest_to_prior", "covariance", "joint_weights", "least_sigma", "weights_of"]

RANK_TOLERANCE = 1e-8  # of the largest singular value; data in double precision are exact to about 1e-12
LEAST_SIGMA = 1e-5  # of a joint's torque: no torque is known better, and noise-free data keep finite weights
MOST_ROUNDS = 20
SETTLED = 1e-4  # relative change of the joints' standard deviations


def closest_to_prior(
    problem: Problem, weights: Array, *, metric: Array | None = None, information: Information | None = None
) -> Array:
    """The least-squares solution closest to the prior in a metric, shape (p, p) (default: the prior's)."""
    seen = problem.seen if metric is None else problem.seen_by(metric)
    return _closest(problem, weights, seen, information)


def _closest(problem: Problem, weights: Array, seen: Array, information: Information | None = None) -> Array:
    R, z, _ = problem.stacked(weights, information)
    step, *_ = np.linalg.lstsq(R @ seen, z - R @ problem.start, rcond=RANK_TOLERANCE)
    return np.asarray(problem.start + seen @ step)


def covariance(problem: Problem, weights: Array, information: Information) -> tuple[int, Array, str]:
    """Rank, covariance of the base parameters for residuals of variance 1 / w (002, Eq. 11), and a warning.

    The variance of a base parameter that the data do not determine is infinite.
    """
    R, _, _ = problem.stacked(weights, information)
    regressor = R[:, list(problem.base.independent)]
    size = np.linalg.norm(regressor, axis=0)
    size = np.where(size > 0, size, 1.0)
    _, values, V = np.linalg.svd(regressor / size)
    known = values > RANK_TOLERANCE * values[0]
    rank = int(known.sum())
    root = V[known].T / values[known] / size[:, None]
    spread = root @ root.T
    if rank == len(size):
        return rank, spread, ""
    lost = (V[~known] ** 2).sum(axis=0) > 1e-6
    spread[lost, :] = spread[:, lost] = 0.0
    spread[lost, lost] = np.inf
    names = [name.split(" ")[0] for name, gone in zip(problem.base.names, lost, strict=True) if gone]
    return (
        rank,
        spread,
        f"the motion determines {rank} of {len(size)} base parameters; not those of {_listed(names)}, "
        "which are at the prior. Move these axes more, in more postures",
    )


def _listed(names: list[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def joint_weights(problem: Problem) -> tuple[Array, int]:
    """1 / sigma_j^2 of each joint's own residual, iterated until they settle, and the rounds."""
    least = least_sigma(problem)
    degrees = np.maximum(problem.information.rows - len(problem.base.names) / problem.joints, 1.0)
    weights = np.ones(problem.joints)
    sigma = np.zeros(problem.joints)
    seen = problem.seen
    for rounds in range(1, MOST_ROUNDS + 1):  # noqa: B007
        parameters = _closest(problem, weights, seen)
        before, sigma = sigma, np.maximum(np.sqrt(problem.residual_squares(parameters) / degrees), least)
        weights = 1 / sigma**2
        if np.all(np.abs(sigma - before) <= SETTLED * sigma):
            break
    return weights, rounds


def least_sigma(problem: Problem) -> Array:
    """The smallest standard deviation of a residual that is believed [N m], shape (n,)."""
    information = problem.information
    torque = np.sqrt((information.factors[:, :, -1] ** 2).sum(axis=1) / np.maximum(information.rows, 1))
    return LEAST_SIGMA * np.maximum(torque, max(LEAST_SIGMA * float(torque.max()), 1e-9))


def weights_of(problem: Problem) -> Array:
    """The weights that the problem asks for."""
    if isinstance(problem.weighting, str):
        return joint_weights(problem)[0] if problem.weighting == "joint" else np.ones(problem.joints)
    return np.asarray(problem.weighting, dtype=np.float64)
