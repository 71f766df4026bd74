"""Weighted least squares on the information factors: the linear algebra that the estimators share.

In the prior's metric S, with V1 an orthonormal basis of the row space of K S, the
least-squares solution closest to the prior d0 is (002, Eq. 30)

    d = d0 + S V1 (R S V1)^+ (z - R d0)

Directions of V1 whose singular value is below `RANK_TOLERANCE` of the largest are left at the prior.
"""

from __future__ import annotations

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.least_norm import least_norm
from heft.identify.estimation.problem import Problem
from heft.identify.information.joint_weights import RANK_TOLERANCE
from heft.identify.information.reduction import Information

__all__ = ["RANK_TOLERANCE", "closest_to_prior", "covariance", "weights_of"]

ROUNDING = 1e-12  # of the largest column: a smaller one is rounding, and as long as any when it is scaled


def closest_to_prior(
    problem: Problem, weights: Array, *, metric: Array | None = None, information: Information | None = None
) -> Array:
    """The least-squares solution closest to the prior in a metric, shape (p, p) (default: the prior's)."""
    seen = problem.seen if metric is None else problem.seen_by(metric)
    R, z, _ = problem.stacked(weights, information)
    step = least_norm(R @ seen, z - R @ problem.start, RANK_TOLERANCE)
    return np.asarray(problem.start + seen @ step)


def covariance(problem: Problem, weights: Array, information: Information) -> tuple[int, Array, str]:
    """Rank, covariance of the base parameters for residuals of variance 1 / w (002, Eq. 11), and a warning.

    The variance of a base parameter that the data do not determine is infinite.
    """
    R, _, _ = problem.stacked(weights, information)
    regressor = R[:, list(problem.base.independent)]
    size = np.linalg.norm(regressor, axis=0)
    size[size <= ROUNDING * size.max(initial=0.0)] = np.inf  # such a column is none
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


def weights_of(problem: Problem) -> Array:
    """The weights that the problem asks for."""
    if isinstance(problem.weighting, str):
        return problem.joint_weights[0] if problem.weighting == "joint" else np.ones(problem.joints)
    return np.asarray(problem.weighting, dtype=np.float64)
