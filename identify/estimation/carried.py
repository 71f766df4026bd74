"""What a wrist sensor carries, as a body of its own and a part of its link.

    d_L = r + h

with d_L the link's ten numbers as joint torques see them, h everything beyond the sensor, and r the rest of the link,
between its joint and the sensor: all in the link's frame, and r and h bodies that can exist. Wrenches say of h
|R (h - ten)|^2 (004, Eq. 8), the robot's file where r and h are about and how far off they may be. For linear
estimators that is, with x and y standard normal,

    d_L = centre + metric x,   h = mean + gain (d_L - centre) + root y

the prior of the link once the wrenches are known, and what a link then says about the hand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heft.identify.bodies.arrays import Array

__all__ = ["Carried", "Shared"]

LOOSE = 10.0  # scales of the link: a hand of which nothing is known beforehand


@dataclass(frozen=True, eq=False)
class Carried:
    """What wrenches and the robot's file say about the hand, in the frame of the link that it is part of.

    ten       as wrenches have it, shape (10,)
    factor    R, shape (10, 10): inverse root of its covariance; singular where the wrenches say nothing
    prior     as the robot's file has it, shape (10,), or None where the file does not tell it from the link
    widening  of the prior's spread, where the wrenches contradict it
    notes     what to know about it
    """

    link: str
    ten: Array
    factor: Array
    prior: Array | None = None
    widening: float = 1.0
    notes: tuple[str, ...] = ()

    def posterior(self, centre: Array, metric: Array) -> tuple[Array, Array]:
        """Mean, shape (10,), and root of the covariance, (10, 10), of h = `centre` + `metric` x after the wrenches."""
        seen = self.factor @ metric
        values, vectors = np.linalg.eigh(np.eye(10) + seen.T @ seen)
        root = metric @ (vectors / np.sqrt(values))
        return centre + root @ (root.T @ (self.factor.T @ (self.factor @ (self.ten - centre)))), root

    def shared(self, prior: Array, metric: Array, scales: Array, parts: tuple[Array, Array] | None) -> Shared:
        """With a link about `prior` (10,) by `metric` (10, 10); `parts`: the metrics of its rest and of the hand."""
        if parts is None or self.prior is None:
            mean, root = self.posterior(self.ten, LOOSE * np.diag(scales))
            return Shared(self.link, prior, metric, mean, np.zeros((10, 10)), root)
        rest, hand = parts
        mean, root = self.posterior(self.prior, hand)
        N = np.linalg.solve(rest, root)
        both = np.linalg.cholesky(np.eye(10) + N @ N.T)
        gain = root @ np.linalg.solve(both.T, np.linalg.solve(both, N)).T @ np.linalg.inv(rest)
        left = np.linalg.cholesky(np.eye(10) + N.T @ N)
        return Shared(
            self.link, prior - self.prior + mean, rest @ both, mean, gain, np.linalg.solve(left, root.T).T
        )


@dataclass(frozen=True, eq=False)
class Shared:
    """How a link is shared between its rest and the hand: see the module. Shapes (10,) and (10, 10)."""

    link: str
    centre: Array
    metric: Array
    mean: Array
    gain: Array
    root: Array

    def hand(self, link: Array) -> Array:
        """The hand that goes best with a link's ten numbers, existence aside."""
        return self.mean + self.gain @ (link - self.centre)
