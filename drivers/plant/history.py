"""What the plant did lately: states at every tick, from which each device samples at its own instants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["History", "State"]

CAPACITY = 1 << 14  # ticks kept; 16 s at 1 kHz, far more than any delay


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Coordinates at N instants: q [rad], v [rad/s], shape (N, ndof)."""

    q: NDArray[np.float64]
    v: NDArray[np.float64]


class History:
    """A ring of ticks, `period_s` apart; tick 0 is at time 0. Before time 0 the arm stood still.

    Between two ticks torque is constant and motion smooth: positions are interpolated by the cubic through both ends'
    positions and velocities (error below 1e-9 rad at 1 kHz), velocities by its derivative. Torque is kept as its
    integral, so that its mean over any interval is exact.
    """

    def __init__(self, n: int, ndof: int, period_s: float, q: NDArray[np.float64]) -> None:
        self.period_s = period_s
        self.last = 0  # newest tick with a state
        self._q = np.zeros((CAPACITY, ndof))
        self._v = np.zeros((CAPACITY, ndof))
        self._impulse = np.zeros((CAPACITY, n))  # integral of torque up to the tick [N m s]
        self._reference = np.zeros((CAPACITY, 3 * n))  # setpoint in force from the tick on
        self._load = np.zeros(CAPACITY, dtype=np.int64)  # load held from the tick on
        self._q[0] = q

    def append(
        self,
        torque: NDArray[np.float64],
        reference: NDArray[np.float64],
        load: int,
        q: NDArray[np.float64],
        v: NDArray[np.float64],
    ) -> None:
        """What was in force from the newest tick on, and the state that it led to at the next."""
        now, following = self.last % CAPACITY, (self.last + 1) % CAPACITY
        self._reference[now] = reference
        self._load[now] = load
        self._q[following] = q
        self._v[following] = v
        self._impulse[following] = self._impulse[now] + torque * self.period_s
        self.last += 1

    def state(self, t: NDArray[np.float64]) -> State:
        """State at times t [s], shape (N,)."""
        row, following, x = self._locate(t)
        h = self.period_s
        x = x[:, None]
        q0, q1, v0, v1 = self._q[row], self._q[following], self._v[row], self._v[following]
        rise = (q1 - q0) / h
        # q(x) = q0 + h (v0 x + (3 rise - 2 v0 - v1) x^2 + (v0 + v1 - 2 rise) x^3) with x in [0, 1]
        square, cube = 3.0 * rise - 2.0 * v0 - v1, v0 + v1 - 2.0 * rise
        return State(
            q=q0 + h * x * (v0 + x * (square + x * cube)),
            v=v0 + x * (2.0 * square + 3.0 * x * cube),
        )

    def mean_torque(self, begin: NDArray[np.float64], end: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean motor torque between two times [s] each, shape (N, n) [N m]."""
        row, following, x = self._locate(np.concatenate([begin, end]))
        before = self._impulse[row]
        integral = before + x[:, None] * (self._impulse[following] - before)
        return (integral[len(begin) :] - integral[: len(begin)]) / (end - begin)[:, None]

    def reference(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Setpoint in force at times t: position, velocity, acceleration, shape (N, 3 n)."""
        row, _, _ = self._locate(t + 1e-9)  # a setpoint is in force from its tick on, whatever rounding says
        return self._reference[row]

    def loads(self, t: NDArray[np.float64]) -> NDArray[np.int64]:
        """Number of the load held at times t, shape (N,)."""
        return self._load[self._locate(t)[0]]

    def _locate(
        self, t: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Ring indices of the ticks before and after each time, and the fraction between them."""
        ticks = np.maximum(t, 0.0) / self.period_s
        tick = np.minimum(ticks.astype(np.int64), self.last - 1)
        if tick.min() <= self.last - CAPACITY:
            raise LookupError(
                f"the simulated plant was asked for {t.min():.3f} s, older than the "
                f"{CAPACITY * self.period_s:.1f} s it remembers; shorten the device's delay"
            )
        return tick % CAPACITY, (tick + 1) % CAPACITY, np.minimum(ticks - tick, 1.0)
