"""Which way the force of a load points: a sensor that reports the reaction shows it upside down.

At rest a wrist sensor shows F = -m R' g + bias as it acts on its load, and the opposite where it reports what its
load does to it. A bias is the same at every instant, so the part of F that turns with gravity tells the sign.
"""

from __future__ import annotations

import numpy as np

from heft.identify.bodies.arrays import Array

__all__ = ["UPSIDE_DOWN", "sign_doubt"]

UPSIDE_DOWN = (
    "the force points down at rest: set `reaction` (this sensor reports what its load does to it), or, where the arm "
    "hangs from a ceiling, correct `gravity` in the robot's file"
)
"""Where only gravity was seen, which both turn."""

_BLOCKS = 20  # means that samples are reduced to: far enough apart to be independent
_SIGMAS = 5.0
_EXPLAINED = 0.5  # part of the force's variation that the weight must be


def sign_doubt(
    rotation: Array, force: Array, gravity: Array, linear_acceleration: Array | None
) -> str | None:
    """A sentence where forces [N] (T, 3) in the sensor's frame point along gravity [m/s2] and not against it; or None.

    rotation (T, 3, 3) of the sensor to the world; linear_acceleration [m/s2] (T, 3) in the sensor's frame. Where the
    accelerations are turned too it is the sensor; where they are not, or do not tell, it may be the mounting.
    """
    lift = -np.einsum("tji,j->ti", rotation, gravity)
    columns = [lift]
    if linear_acceleration is not None and linear_acceleration.std() > 0.0:
        columns.append(linear_acceleration)
    weight = _slope(columns, force)
    if weight is None or weight[0] > -_SIGMAS * weight[1]:
        return None
    if len(columns) > 1:
        inertial = _slope(columns[::-1], force)
        if inertial is not None and inertial[0] < -_SIGMAS * inertial[1]:
            return UPSIDE_DOWN.partition(", or,")[0]
        if inertial is not None and inertial[0] > _SIGMAS * inertial[1]:
            return None  # the arm hangs the other way round
    return UPSIDE_DOWN


def _slope(columns: list[Array], force: Array) -> tuple[float, float] | None:
    """How much of `force` goes with the first of `columns`, and its standard deviation; a bias and the others are free.

    None: too few instants, or they hardly turn, or the columns do not explain most of the variation.
    """
    parts = [part for part in np.array_split(np.arange(len(force)), _BLOCKS) if len(part)]
    if len(parts) < 3:
        return None
    means = np.array([[values[part].mean(axis=0) for part in parts] for values in (*columns, force)])
    apart = means - means.mean(axis=1, keepdims=True)
    table, target = apart[:-1].reshape(len(columns), -1).T, apart[-1].ravel()
    solution, _, rank, _ = np.linalg.lstsq(table, target, rcond=1e-6)
    rest = float(np.sum((target - table @ solution) ** 2))
    if rank < len(columns) or rest > (1 - _EXPLAINED) * float(target @ target):
        return None
    freedom = max(len(target) - 3 - len(columns), 1)
    spread = np.linalg.inv(table.T @ table)[0, 0] * max(rest / freedom, 1e-12)
    return float(solution[0]), float(np.sqrt(spread))
