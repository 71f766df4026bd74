"""Noise in the regressor itself, which plain least squares takes for excitation.

Accelerations are measured too. At rest or in slow motion their noise is all that some columns hold, and since the
wrench does not follow it, least squares concludes that what stands in those columns is zero. With N the sum of the
noise's squares in the columns:

- a direction whose squares are no more than a few N is not excited: it says nothing, and the little it does to the
  wrench is taken from the current estimate;
- from every other direction N is taken off (bias-compensated least squares).

White noise is measured as it goes by. Noise that a filter has made slow looks like motion; of that only a bound is
known, so half of it is taken off and the other half is doubt, which widens the intervals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heft.identify.bodies.arrays import Array

__all__ = ["Compensated", "compensated"]

_EXCITED = 4.0  # times its noise: the power from which a column counts as motion


@dataclass(frozen=True)
class Compensated:
    """R s = z, and the `doubt` (p,) in R'(R s - z) that is left."""

    R: Array
    z: Array
    doubt: Array


def compensated(R: Array, z: Array, white: Array, slow: Array, current: Array) -> Compensated:
    """R s = z with the noise of the columns taken off.

    `white` and `slow` (p,) are the sums of the noise's squares in each column of the scaled rows, measured and
    bounded; `current` (p,) is the estimate of s so far.
    """
    noise = white + slow / 2
    noisy = np.flatnonzero(noise > 0)
    if len(noisy) == 0:
        return Compensated(R, z, np.zeros(len(noise)))
    size = np.sqrt(noise[noisy])
    scaled = R[:, noisy] / size
    powers, directions = np.linalg.eigh(scaled.T @ scaled)
    kept = directions[:, powers > _EXCITED]
    project = kept @ kept.T
    doubt = np.zeros(len(noise))
    doubt[noisy] = size * (project @ (slow[noisy] / 2 / size * (project @ (size * current[noisy]) / size)))
    if (
        powers[0] > np.finfo(float).eps ** -0.5
    ):  # taking the noise off costs half of the digits: more than it is
        return Compensated(R, z, doubt)
    rest = scaled @ (np.eye(len(noisy)) - project)
    cleaned = R.copy()
    cleaned[:, noisy] = scaled @ project * size
    target = z - rest @ (size * current[noisy])
    square = cleaned.T @ cleaned
    square[np.ix_(noisy, noisy)] -= project * np.outer(size, size)
    return Compensated(*_root(square, cleaned.T @ target), doubt)


def _root(square: Array, rhs: Array) -> tuple[Array, Array]:
    """R and z with R'R = `square` and R'z = `rhs`."""
    scale = np.sqrt(np.maximum(np.diag(square), 1e-300))
    values, vectors = np.linalg.eigh(square / np.outer(scale, scale))
    kept = values > len(values) * np.finfo(float).eps * values[-1]
    roots = np.sqrt(values[kept])
    across = vectors[:, kept].T
    return roots[:, None] * across * scale, across @ (rhs / scale) / roots
