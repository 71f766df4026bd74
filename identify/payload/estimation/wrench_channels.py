"""Force and torque as linear functions of what is unknown, also where gravity or delay multiply the load.

Force and torque rows share only the first moment, so they are kept apart, each with its own bias b:

    force    w = C (m, mc) + b,    torque    w = C (mc, I) + b

Where gravity g is unknown it multiplies m and mc; where the wrench is late by d, w(t - d) = w - d w' to first
order. Each product is lifted to a linear unknown of its own, so that any number of samples is summed up in one
small triangular factor without a linearisation, and the products are put together again when that is solved:

    s = (d, g, d g, phi, d phi)    phi = (m, mc, m g) of the load, or (mc, I, mc g')

The first three stand for the gripper, whose numbers are known; without a gripper they fall away.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.bodies.wrench import STANDARD_GRAVITY, WrenchTerms
from heft.identify.payload.estimation.unknowns import LiftedJacobian

__all__ = ["DOWN", "SIDES", "Side", "WrenchChannels"]


Side = Literal["force", "torque"]
SIDES: tuple[Side, Side] = ("force", "torque")

DOWN = frozen([0.0, 0.0, -STANDARD_GRAVITY])
"""Gravity [m/s2] where nothing is known of its direction."""


class WrenchChannels:
    """The force or the torque of a wrist sensor.

    `gravity` in the world frame [m/s2], None where it is unknown; `delayed` where the delay is; `gripper` are the
    ten numbers of what hangs on the sensor beside the load, None for nothing.
    """

    def __init__(self, side: Side, gravity: Array | None, delayed: bool, gripper: Array | None) -> None:
        self._force = side == "force"
        self._gravity = gravity
        self._delayed = delayed
        self._gripper = gripper
        self._linear = slice(0, 4) if self._force else slice(1, 10)
        self._size = (4 if self._force else 9) + (0 if gravity is not None else 3 if self._force else 9)
        unknown = gravity is None
        common = 0 if gripper is None else int(delayed) + (3 * (1 + int(delayed)) if unknown else 0)
        self.common = common
        self.width = common + self._size * (1 + int(delayed))

    @property
    def load(self) -> slice:
        """Where the load's part of s stands."""
        return slice(self.common, self.width)

    @property
    def moved(self) -> tuple[slice, ...]:
        """Groups of columns of s that hold accelerations alone, so that at rest they hold nothing but noise."""
        start = self.common
        by_acceleration = (
            () if self._gravity is not None else (slice(start, start + (1 if self._force else 3)),)
        )
        first = start + (1 if self._force else 3)
        return (*by_acceleration, slice(first, first + (3 if self._force else 6)))

    def gravity_of(self, s: Array) -> Array | None:
        """Gravity [m/s2] (3,) along the load's weight m g in s, of force with unknown gravity; None: there is none."""
        weight = s[self.common + 4 : self.common + 7]
        size = float(np.linalg.norm(weight))
        return weight * (STANDARD_GRAVITY / size) if size > 0 else None

    def coefficients(self, terms: WrenchTerms) -> Array:
        """C of w = C phi + b, shape (T, 3, len(phi))."""
        rows = slice(0, 3) if self._force else slice(3, 6)
        if self._gravity is not None:
            return terms.regressor(self._gravity)[:, rows, self._linear]
        weighs = slice(0, 1) if self._force else slice(1, 4)
        products = terms.by_gravity()[:, rows, weighs].reshape(len(terms), 3, -1)  # mc_k g_j at 3 k + j
        return np.concatenate([terms.weightless[:, rows, self._linear], products], axis=2)

    def rows(self, coefficients: Array, slopes: Array | None, loaded: bool) -> tuple[Array, Array]:
        """Rows over s (T, 3, p), and what the gripper adds to the wrench whatever the unknowns are (T, 3).

        `slopes` is the time derivative of the coefficients [1/s]; not loaded: the load's columns are zero.
        """
        count = len(coefficients)
        rows = np.zeros((count, 3, self.width))
        offset = np.zeros((count, 3))
        if self._gripper is not None:
            linear = self._gripper[self._linear]
            n = len(linear)
            offset = coefficients[:, :, :n] @ linear
            at = 0
            if slopes is not None:
                rows[:, :, 0] = -slopes[:, :, :n] @ linear
                at = 1
            if self._gravity is None:
                product = self._product(self._gripper)
                rows[:, :, at : at + 3] = coefficients[:, :, n:] @ product
                if slopes is not None:
                    rows[:, :, at + 3 : at + 6] = -slopes[:, :, n:] @ product
        if loaded:
            rows[:, :, self.common : self.common + self._size] = coefficients
            if slopes is not None:
                rows[:, :, self.common + self._size :] = -slopes
        return rows, offset

    def column_noise(self, linear: float, angular: float, slope: float) -> Array:
        """Expected sum of squares, in the columns of one sample's rows, of noise in the accelerations, (p,).

        `linear` [m2/s4] and `angular` [rad2/s4] are the noise's variances in each axis, and `slope` [1/s2] what
        they are multiplied with in the time derivative.
        """
        squares = np.zeros(self.width)
        dots = np.array([1.0, 2.0, 1.0, 2.0, 2.0, 1.0])  # squares of [. w] over white w: xx xy yy xz yz zz
        phi = [3 * linear, *[2 * angular] * 3] if self._force else [*[2 * linear] * 3, *(angular * dots)]
        squares[self.common : self.common + len(phi)] = phi
        if self._delayed:
            start = self.common + self._size
            squares[start : start + len(phi)] = slope * np.asarray(phi)
            if self._gripper is not None:
                squares[0] = slope * float(np.asarray(phi) @ self._gripper[self._linear] ** 2)
        return squares

    def _product(self, ten: Array) -> Array:
        """P with P g = m g, shape (3, 3), or mc g' stacked, shape (9, 3)."""
        if self._force:
            return ten[0] * np.eye(3)
        product = np.zeros((9, 3))
        for k in range(3):
            product[3 * k : 3 * k + 3] = ten[1 + k] * np.eye(3)
        return product

    def lift(self, ten: Array, delay: float, gravity: Array) -> LiftedJacobian:
        """s at a point; the gripper's numbers are within the rows already."""
        linear = ten[self._linear]
        n, common, end = len(linear), self.common, self.common + self._size
        values, jacobian = np.zeros(self.width), np.zeros((self.width, 14))
        phi, slope = values[common:end], jacobian[common:end]
        phi[:n] = linear
        slope[range(n), range(self._linear.start, self._linear.stop)] = 1.0
        if self._gravity is None:
            product = self._product(ten)
            phi[n:] = product @ gravity
            slope[n:, 11:] = product
            if self._force:
                slope[n:, 0] = gravity
            else:
                for k in range(3):
                    slope[n + 3 * k : n + 3 * k + 3, 1 + k] = gravity
        if self._delayed:
            values[end:] = delay * phi
            jacobian[end:] = delay * slope
            jacobian[end:, 10] = phi
        if self._gripper is not None:
            self._lift_common(delay, gravity, values, jacobian)
        return LiftedJacobian(values, jacobian)

    def _lift_common(self, delay: float, gravity: Array, values: Array, jacobian: Array) -> None:
        """The part of s that multiplies the gripper's numbers: d, g, d g."""
        at = 0
        if self._delayed:
            values[0], jacobian[0, 10] = delay, 1.0
            at = 1
        if self._gravity is None:
            values[at : at + 3], jacobian[at : at + 3, 11:] = gravity, np.eye(3)
            if self._delayed:
                values[at + 3 : at + 6] = delay * gravity
                jacobian[at + 3 : at + 6, 10] = gravity
                jacobian[at + 3 : at + 6, 11:] = delay * np.eye(3)
