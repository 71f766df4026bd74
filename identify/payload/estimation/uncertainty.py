"""Covariances of what was estimated: y = (m, c, Sigma_c) (10), delay (1, if free), gravity's direction (2, if free)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.payload.estimation.estimate import PayloadEstimate
from heft.identify.payload.estimation.object_prior import PriorScale
from heft.identify.payload.estimation.optimiser import information_jacobian
from heft.identify.payload.estimation.unknowns import LinearInformation, Point, Unknowns

__all__ = [
    "GRAVITY_DIFFERS",
    "ROUNDING",
    "concluded",
    "data_precision",
    "inverse",
    "representable",
    "with_doubt",
    "y_columns",
]

GRAVITY_DIFFERS = 0.0015  # relative: 9.78 to 9.83 m/s2 from equator to pole
ROUNDING = 1e-10  # relative: what some hundred operations in doubles leave of a difference of like numbers


def y_columns(point: Point, unknowns: Unknowns) -> Array:
    """Derivative of (ten, delay, gravity) by y and what else is free, shape (14, 10 to 13)."""
    return unknowns.columns(point, point.body.derivative_by_moments())


def data_precision(information: Sequence[LinearInformation], point: Point, columns: Array) -> Array:
    """Information of the data about what is free."""
    total = np.zeros((columns.shape[1], columns.shape[1]))
    for one in information:
        rows = information_jacobian(one, point)[1] @ columns
        total += rows.T @ rows
    return total


def with_doubt(
    information: Sequence[LinearInformation], point: Point, columns: Array, covariance: Array
) -> Array:
    """`covariance` widened by what is in doubt in each."""
    for one in information:
        if one.doubt is not None:
            shift = covariance @ (columns.T @ (point.lift(one.lifted).jacobian.T @ one.doubt)) / one.noise
            covariance = covariance + np.outer(shift, shift)
    return covariance


def inverse(precision: Array) -> Array:
    """Inverse of a positive definite matrix whose units differ widely."""
    scale = 1 / np.sqrt(np.diag(precision))
    values, vectors = np.linalg.eigh(precision * np.outer(scale, scale))
    root = scale[:, None] * vectors / np.sqrt(np.maximum(values, len(values) * np.finfo(float).eps))
    return root @ root.T


def representable(point: Point) -> Point:
    """The point with moments that are not lost in the rounding of the load's ten numbers."""
    body = point.body
    least = ROUNDING * (body.mass * float(body.com @ body.com) + float(body.moments.max()))
    return replace(point, body=body.thickened(least))


def concluded(
    point: Point,
    unknowns: Unknowns,
    scale: PriorScale,
    covariance: Array,
    bias: Array,
    bias_std: Array,
    **facts: Any,
) -> PayloadEstimate:
    """The estimate at a point; `covariance` is that of what is free, `facts` are further fields of the estimate.

    Where only gravity's direction was estimated, its size was assumed, and gravity on earth differs from the standard:
    the mass takes it all.
    """
    gravity_std = np.zeros(3)
    if unknowns.free_gravity:
        across, along = point.across_gravity, (GRAVITY_DIFFERS * point.gravity) ** 2
        gravity_std = np.sqrt(np.einsum("ij,jk,ik->i", across, covariance[-2:, -2:], across) + along)
        covariance = covariance.copy()
        covariance[0, 0] += (GRAVITY_DIFFERS * point.body.mass) ** 2
    return PayloadEstimate(
        body=point.body,
        covariance=frozen(covariance[:10, :10]),
        scale=scale,
        bias=frozen(bias),
        bias_std=frozen(bias_std),
        gravity=frozen(point.gravity),
        gravity_std=frozen(gravity_std),
        delay=point.delay,
        delay_std=0.0 if unknowns.delay_std is None else float(np.sqrt(covariance[10, 10])),
        **facts,
    )
