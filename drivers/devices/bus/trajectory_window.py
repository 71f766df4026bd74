"""The part of a trajectory that a controller is told each time: what is in force, what follows, and a stop."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from heft.drivers.playback.stop_ramp import StopRamp

__all__ = ["TrajectoryWindow"]

_RAMP = (
    0.25,
    0.5,
    0.75,
    1.0,
)  # shares of the stop at which it has points: its velocity is a cubic, so these say it exactly


class TrajectoryWindow:
    """Setpoints of n axes, from a little in the past to the newest one, and a stop from there.

    Whoever plays it comes to rest by itself when no further one comes. It begins in the past, so that what is in force
    lies between two of its points and not between where the arm is and the first of them.

    past_ns        how old its first point may be [ns]
    deceleration   of the stop [rad/s2], shape (n,)
    """

    def __init__(self, past_ns: int, deceleration: NDArray[np.float64]) -> None:
        self._past_ns, self._deceleration = past_ns, deceleration
        self._points: deque[tuple[int, NDArray[np.float64]]] = deque()

    def clear(self) -> None:
        """Forget all setpoints."""
        self._points.clear()

    def add(self, t_ns: int, reference: NDArray[np.float64], now_ns: int) -> None:
        """A setpoint that is in force at t_ns [ns]: position, velocity, acceleration, shape (3 n,)."""
        if not self._points or t_ns > self._points[-1][0]:
            self._points.append((t_ns, reference))
        while len(self._points) > 2 and self._points[1][0] < now_ns - self._past_ns:
            self._points.popleft()

    def points(self) -> list[tuple[int, NDArray[np.float64]]]:
        """Instants [ns] and setpoints; the last one is at rest."""
        points = list(self._points)
        t_ns, newest = points[-1]
        position, velocity, _ = newest.reshape(3, -1)
        if np.abs(velocity).max() < 1e-9:
            points[-1] = t_ns, np.concatenate([position, np.zeros(2 * len(position))])
            return points
        ramp = StopRamp.stopping(position, velocity, self._deceleration)
        for share in _RAMP:
            after_s = share * ramp.duration_s
            points.append((t_ns + round(after_s * 1e9), np.concatenate(ramp.at(after_s))))
        return points
