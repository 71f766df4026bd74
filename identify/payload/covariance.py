"""Covariances of what was estimated: y = (m, c, Sigma_c) (10), delay (1, if free), gravity's direction (2, if free)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from identify.arrays import Array
from identify.inertia.manifold import MassDistribution
from identify.payload.chart import derivative_by_moments
from identify.payload.posterior import Evidence, Point, evidence_jacobian
from identify.payload.prior import PriorScale

__all__ = [
    "GRAVITY_DIFFERS",
    "data_precision",
    "doubtful",
    "free_columns",
    "gravity_spread",
    "inverse",
    "kept_inside",
    "prior_precision",
    "tangent",
]

GRAVITY_DIFFERS = 0.0015  # relative: 9.78 to 9.83 m/s2 from equator to pole
_LEAST_MOMENT = 1e-10  # of mass times distance squared: what doubles can tell from a body without extent


def tangent(gravity: Array) -> Array:
    """Two vectors across gravity, as long as it, shape (3, 2)."""
    return float(np.linalg.norm(gravity)) * np.linalg.svd(gravity[None, :])[2][1:].T


def free_columns(point: Point, *, delayed: bool, free_gravity: bool) -> Array:
    """Derivative of (ten, delay, gravity) by what is free, shape (14, 10 to 13)."""
    columns = np.zeros((14, 10 + int(delayed) + 2 * int(free_gravity)))
    columns[:10, :10] = derivative_by_moments(point.body)
    if delayed:
        columns[10, 10] = 1.0
    if free_gravity:
        columns[11:, -2:] = tangent(point.gravity)
    return columns


def data_precision(evidence: Sequence[Evidence], point: Point, columns: Array) -> Array:
    """Information of the data about what is free."""
    total = np.zeros((columns.shape[1], columns.shape[1]))
    for one in evidence:
        rows = evidence_jacobian(one, point)[1] @ columns
        total += rows.T @ rows
    return total


def doubtful(evidence: Sequence[Evidence], point: Point, columns: Array, covariance: Array) -> Array:
    """`covariance` widened by what is in doubt in each evidence."""
    for one in evidence:
        if one.doubt is not None:
            shift = covariance @ (columns.T @ (point.lift(one.lifted).jacobian.T @ one.doubt)) / one.noise
            covariance = covariance + np.outer(shift, shift)
    return covariance


def gravity_spread(point: Point, covariance: Array, free_gravity: bool) -> tuple[Array, Array]:
    """Covariance and standard deviation [m/s2] (3,) of gravity, where only its direction was estimated.

    The size was assumed, and gravity on earth differs from the standard; the mass takes it all.
    """
    if not free_gravity:
        return covariance, np.zeros(3)
    across = tangent(point.gravity)
    widened = covariance.copy()
    widened[0, 0] += (GRAVITY_DIFFERS * point.body.mass) ** 2
    along = (GRAVITY_DIFFERS * point.gravity) ** 2
    return widened, np.sqrt(np.einsum("ij,jk,ik->i", across, covariance[-2:, -2:], across) + along)


def prior_precision(scale: PriorScale, *, delay_std: float | None, free_gravity: bool) -> Array:
    """Information of the prior about what is free."""
    moment = 1 / scale.spread**2
    diagonal = [1 / scale.mass**2, *[1 / scale.com**2] * 3, *[moment] * 3, *[2 * moment] * 3]
    if delay_std is not None:
        diagonal.append(1 / delay_std**2)
    if free_gravity:
        diagonal += [0.1, 0.1]  # any direction at all: three radians
    return np.diag(diagonal)


def inverse(precision: Array) -> Array:
    """Inverse of a positive definite matrix whose units differ widely."""
    scale = 1 / np.sqrt(np.diag(precision))
    values, vectors = np.linalg.eigh(precision * np.outer(scale, scale))
    root = scale[:, None] * vectors / np.sqrt(np.maximum(values, 1e-15))  # below it is rounding
    return root @ root.T


def kept_inside(body: MassDistribution) -> MassDistribution:
    """The body with moments that are not lost in the rounding of its ten numbers."""
    least = _LEAST_MOMENT * (body.mass * float(body.com @ body.com) + float(body.moments.max()))
    return MassDistribution(body.mass, body.com, body.axes, np.maximum(body.moments, least))
