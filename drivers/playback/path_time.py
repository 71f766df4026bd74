"""Time along a trajectory: how far each cycle moves on, on a host that is late.

The trajectory is never left and never cut short: a late host travels it later. What it has lost it makes up for by
going a little faster, never beyond what the joints may do; what it cannot make up for stays, and the driver stops when
that is too much.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["PathTime"]

_FASTEST = 1.1  # rate of trajectory time while catching up
_UNFELT = 3  # cycles without a setpoint that a position loop does not feel


class PathTime:
    """The instant of the trajectory that is in force, and the rate at which it goes on.

    With q(s) the trajectory and s its time, an axis moves at rate dq/ds and accelerates at rate^2 d2q/ds2 + (d rate/dt)
    dq/ds; both stay within the limits where the trajectory itself does.

    period_ns      of a cycle [ns]
    bridged        cycles without a setpoint for which the drives go on by themselves at the same velocity; 1: none
    velocity       limits of the axes [rad/s], shape (n,); None: not known, so that the rate is at most 1
    acceleration   of the axes [rad/s2], shape (n,): how fast the rate may change

    now_ns   the instant in force, in host time [ns]
    rate     seconds of the trajectory per second, 0 to 1.1
    """

    def __init__(
        self,
        period_ns: int,
        bridged: int,
        velocity: NDArray[np.float64] | None,
        acceleration: NDArray[np.float64],
        now_ns: int,
    ) -> None:
        self._period_ns, self._bridged_ns = period_ns, bridged * period_ns
        self._velocity, self._acceleration = velocity, acceleration
        self.now_ns = self._due_ns = self._told_ns = now_ns
        self._jitter_ns = period_ns // 2  # by which the next cycle may be told early
        self.rate = 1.0

    def rest(self, due_ns: int, told_ns: int) -> None:
        """Nothing moves: no time is owed."""
        self.now_ns = self._due_ns = due_ns
        self._told_ns = told_ns
        self.rate = 1.0

    def ramp(self) -> None:
        """From here on a stop is played, from the velocity in force: it takes its own time."""
        self.rate = 1.0

    def advance(
        self, due_ns: int, told_ns: int, v: NDArray[np.float64], a: NDArray[np.float64], *, stopping: bool
    ) -> None:
        """Move on to the cycle that is due at `due_ns`, told to the drives at `told_ns` [ns].

        v, a       dq/ds and d2q/ds2 of the trajectory where it is now [rad/s, rad/s2], shape (n,)
        stopping   a stop is being played
        """
        most_ns = (
            told_ns - self._told_ns + self._jitter_ns
        )  # of cycles in close order, only the first may be early
        passed_ns = min(due_ns - self._due_ns, most_ns)
        self._due_ns, self._told_ns = due_ns, told_ns
        self._jitter_ns = min(most_ns - passed_ns, self._period_ns // 2)
        step_ns = min(max(passed_ns, 0), self._bridged_ns)
        if not stopping:
            self._change_rate(passed_ns, step_ns, due_ns, v, a)
        self.now_ns = min(due_ns, self.now_ns + round(self.rate * step_ns))

    def _change_rate(
        self, passed_ns: int, step_ns: int, due_ns: int, v: NDArray[np.float64], a: NDArray[np.float64]
    ) -> None:
        if passed_ns > max(self._bridged_ns, _UNFELT * self._period_ns):
            self.rate *= step_ns / passed_ns  # so far it got in all that time
        late = due_ns - self.now_ns > round(self.rate * step_ns)
        most = self._fastest(v, a) if late else 1.0
        speed = np.maximum(np.abs(v), 1e-9)
        spare = np.maximum(self._acceleration - self.rate**2 * np.abs(a), 0.1 * self._acceleration)
        change = float(np.min(spare / speed)) * self._period_ns * 1e-9
        self.rate = min(most, self.rate + change)

    def _fastest(self, v: NDArray[np.float64], a: NDArray[np.float64]) -> float:
        """The highest rate at which every axis stays within its limits; 1 where the trajectory itself does not."""
        if self._velocity is None:
            return 1.0
        by_velocity = np.min(self._velocity / np.maximum(np.abs(v), 1e-9))
        by_acceleration = np.sqrt(np.min(self._acceleration / np.maximum(np.abs(a), 1e-9)))
        return float(np.clip(min(by_velocity, by_acceleration), 1.0, _FASTEST))
