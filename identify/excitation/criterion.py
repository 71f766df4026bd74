"""What a design makes small: functions of the information F = W' S W about the base parameters, with derivatives.

    d           -log det F / n_base: the volume of the confidence ellipsoid (D-optimal)
    condition   log of the largest over the smallest singular value of W, unweighted: what results print
    e           -log of the smallest eigenvalue of F: the worst direction (E-optimal)
    worst       log of the largest relative standard deviation of a base parameter

The last three have kinks where the extreme changes hands. They are rounded by p-norms: for positive numbers,

    max x <= (sum x^p)^(1/p) <= k^(1/p) max x

and p grows while the optimiser gets closer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from heft.identify.bodies.arrays import Array

__all__ = ["CRITERIA", "Criterion", "evaluate"]


@dataclass(frozen=True, slots=True)
class Criterion:
    """`value(F, p, scale)` and its derivative by F; `weighted`: rows count by their torques' noise.

    p       exponent of the rounding
    scale   what a deviation is compared with, (n_base,): the prior's base parameters
    """

    name: str
    says: str
    weighted: bool
    function: Callable[[Array, float, Array], tuple[float, Array]]


def evaluate(criterion: Criterion, F: Array, p: float, scale: Array) -> tuple[float, Array]:
    """Value and derivative by F (n_base, n_base); infinite where F says nothing in some direction."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return criterion.function(F, p, scale)


def _spectrum(F: Array) -> tuple[Array, Array]:
    values, vectors = np.linalg.eigh(F)
    return np.maximum(values, np.finfo(float).eps * values[-1]), vectors


def _spectral(vectors: Array, slopes: Array) -> Array:
    return (vectors * slopes) @ vectors.T


def _d(F: Array, p: float, scale: Array) -> tuple[float, Array]:
    values, vectors = _spectrum(F)
    k = len(values)
    return -float(np.log(values).sum()) / k, _spectral(vectors, -1.0 / (k * values))


def _condition(F: Array, p: float, scale: Array) -> tuple[float, Array]:
    """Half of log of lambda_max + log of 1 / lambda_min: lambda are squares of singular values."""
    values, vectors = _spectrum(F)
    low, high = values[0], values[-1]
    up, down = (values / high) ** p, (values / low) ** -p
    value = np.log(high / low) + (np.log(up.sum()) + np.log(down.sum())) / p
    slopes = up / (up.sum() * values) - down / (down.sum() * values)
    return 0.5 * float(value), 0.5 * _spectral(vectors, slopes)


def _e(F: Array, p: float, scale: Array) -> tuple[float, Array]:
    values, vectors = _spectrum(F)
    down = (values / values[0]) ** -p
    value = -np.log(values[0]) + np.log(down.sum()) / p
    return float(value), _spectral(vectors, -down / (down.sum() * values))


def _worst(F: Array, p: float, scale: Array) -> tuple[float, Array]:
    values, vectors = _spectrum(F)
    inverse = _spectral(vectors, 1.0 / values)
    relative = np.diag(inverse) / scale**2  # squares of relative deviations
    share = (relative / relative.max()) ** p
    value = 0.5 * (np.log(relative.max()) + np.log(share.sum()) / p)
    weights = share / (share.sum() * relative) / scale**2
    return float(value), -0.5 * inverse @ (weights[:, None] * inverse)


CRITERIA = {
    one.name: one
    for one in (
        Criterion("d", "D-optimal: the volume of the confidence ellipsoid", True, _d),
        Criterion("condition", "the condition number of the base columns", False, _condition),
        Criterion("e", "E-optimal: the worst direction", True, _e),
        Criterion("worst", "the largest relative standard deviation", True, _worst),
    )
}
