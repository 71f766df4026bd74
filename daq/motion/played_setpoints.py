"""Setpoints in force, as drives tell them: what the measured motion is compared with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["PlayedSetpoints"]

_MEMORY_NS = 1_000_000_000  # a block may be this late and still be compared with its own setpoints
_AHEAD_NS = 50_000_000  # samples may come this much before the setpoints of the same time


class PlayedSetpoints:
    """What the drives of some joints have taken up lately.

    A late host travels the trajectory later; its drives are then where they were told to be, though behind the plan.

    joints   their places in the robot's order, shape (m,)
    """

    def __init__(self, joints: NDArray[np.intp]) -> None:
        self.joints = joints
        self._host_ns = np.zeros(0, np.int64)
        self._position = self._velocity = np.zeros((0, len(joints)))

    def add(
        self, host_ns: NDArray[np.int64], position: NDArray[np.float64], velocity: NDArray[np.float64]
    ) -> None:
        """Setpoints in force at these times [ns], shape (N,): [rad] and [rad/s], shape (N, m)."""
        old = int(np.searchsorted(self._host_ns, int(host_ns[-1]) - _MEMORY_NS))
        self._host_ns = np.concatenate([self._host_ns[old:], host_ns])
        self._position = np.concatenate([self._position[old:], position])
        self._velocity = np.concatenate([self._velocity[old:], velocity])

    def at(self, host_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Positions in force [rad], shape (N, m); NaN before the first one.

        Between two setpoints and after the last one, for as long as samples may come before them, the drives go on at
        the velocity of the setpoint.
        """
        if not len(self._host_ns):
            return np.full((len(host_ns), len(self.joints)), np.nan)
        before = np.searchsorted(self._host_ns, host_ns, side="right") - 1
        since_s = 1e-9 * np.clip(host_ns - self._host_ns[before], 0, _AHEAD_NS)
        found: NDArray[np.float64] = self._position[before] + since_s[:, None] * self._velocity[before]
        found[before < 0] = np.nan
        return found
