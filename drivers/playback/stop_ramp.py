"""The controlled stop: how a drive comes to rest from where it is and how fast it goes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["StopRamp"]

_SHORTEST_S = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class StopRamp:
    """All axes slow down together and stop at the same time, on the straight line on which they moved.

    With u = t / duration_s: velocity v0 (1 - 3 u^2 + 2 u^3). The deceleration starts and ends at zero and is at most
    1.5 |v0| / duration_s; the way is v0 duration_s / 2.

    position  at t = 0 [rad] or [m], shape (n,)
    velocity  at t = 0, shape (n,)
    """

    position: NDArray[np.float64]
    velocity: NDArray[np.float64]
    duration_s: float

    @classmethod
    def stopping(
        cls,
        position: NDArray[np.float64],
        velocity: NDArray[np.float64],
        deceleration: NDArray[np.float64],
    ) -> StopRamp:
        """The shortest stop in which no axis exceeds its deceleration [rad/s2], shape (n,)."""
        longest = float(np.max(1.5 * np.abs(velocity) / deceleration, initial=0.0))
        return cls(position.copy(), velocity.copy(), max(longest, _SHORTEST_S))

    @property
    def end(self) -> NDArray[np.float64]:
        """Where it comes to rest, shape (n,)."""
        return self.position + 0.5 * self.duration_s * self.velocity

    def at(self, t: float) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Position, velocity, acceleration at t [s] after the start, each of shape (n,)."""
        u = min(max(t / self.duration_s, 0.0), 1.0)
        position = self.position + self.velocity * (self.duration_s * u * (1.0 - u * u * (1.0 - 0.5 * u)))
        velocity = self.velocity * (1.0 - u * u * (3.0 - 2.0 * u))
        acceleration = self.velocity * (-6.0 * u * (1.0 - u) / self.duration_s)
        return position, velocity, acceleration
