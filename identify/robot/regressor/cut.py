"""A cut through a robot: the wrench that is passed on there, as six rows of the regression.

All bodies beyond the cut move as the wrench at the cut makes them: with (w, l) a unit screw at the cut, the row of that
screw is the sum over the bodies of their part of its generalised force, exactly as a joint's row is (see `kernel`). Six
unit screws along and about the axes of a frame give the six numbers of a wrench in it (000, Eq. 33).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.pseudo_inertia import skew

__all__ = ["AXES", "BASE", "BIAS_TERMS", "Contact", "Cut", "Part", "wrench_transform"]

#: The six numbers of a wrench: force before torque.
AXES = ("fx", "fy", "fz", "tx", "ty", "tz")
#: Name of the cut that all of a robot lies beyond.
BASE = "base"
#: A sensor's bias is offset + drift times time since the middle of the recording.
BIAS_TERMS = ("offset", "drift")


@dataclass(frozen=True, eq=False)
class Part:
    """A body that is fixed to a link and identified apart from it: its frame's pose there (4, 4)."""

    link: int
    place: Array


@dataclass(frozen=True, eq=False)
class Contact:
    """Where a measured wrench acts on the robot from outside: `place` (4, 4) in the frame of `link` (-1: the base)."""

    name: str
    link: int
    place: Array

    @property
    def biases(self) -> tuple[tuple[str, ...], ...]:
        """Names of its biases, then of their drifts, six each."""
        return tuple(tuple(f"{self.name}.{axis}.{term}" for axis in AXES) for term in BIAS_TERMS)


@dataclass(frozen=True, eq=False)
class Cut:
    """Six rows: the wrench on all `bodies` beyond a frame, in its axes and about its origin.

    link      whose frame `place` (4, 4) is given in; -1: the base
    bodies    places among the robot's links of all that lies beyond
    biased    whether each row has a bias of its own, the sensor's: an offset and a drift
    summed    the rows are the sum of what acts at all contacts, and not what one sensor measures
    """

    name: str
    link: int
    place: Array
    bodies: tuple[int, ...]
    biased: bool = True
    summed: bool = False

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the six rows."""
        return tuple(f"{self.name}.{axis}" for axis in AXES)

    @property
    def of_link(self) -> Array:
        """The link's pose in the cut's frame: rotation by rows, then position [m], shape (12,)."""
        rotation = self.place[:3, :3].T
        return np.concatenate([rotation.ravel(), -rotation @ self.place[:3, 3]])

    @property
    def biases(self) -> tuple[tuple[str, ...], ...]:
        """Names of each row's bias: its offset and drift."""
        return tuple(tuple(f"{row}.{term}" for term in BIAS_TERMS if self.biased) for row in self.rows)


def wrench_transform(rotation: Array, position: Array) -> Array:
    """X, shape (..., 6, 6): a wrench in a frame with this pose (..., 3, 3), (..., 3), as one in the outer frame."""
    X = np.zeros((*rotation.shape[:-2], 6, 6))
    X[..., :3, :3] = X[..., 3:, 3:] = rotation
    X[..., 3:, :3] = skew(position) @ rotation
    return X
