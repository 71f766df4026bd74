"""Axes that a joint_trajectory_controller of ros2_control moves: it interpolates, watches its tolerance, and holds."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from heft.drivers.emulators.base.axes import Axes
from heft.drivers.plant.plant import Plant
from heft.drivers.plant.sensor import PerColumn

__all__ = ["Trajectory", "TrajectoryAxes"]


class Trajectory:
    """Polynomials between points at times t [s], shape (N,), with known states.

    state   position, velocity, acceleration of n axes, shape (N, 3, n)
    order   2: quintic between points, 1: cubic (accelerations are not known), 0: linear
    """

    def __init__(self, t: NDArray[np.float64], state: NDArray[np.float64], order: int) -> None:
        self.t, self.state, self.order = t, state, order
        self._times = t.tolist()
        self._coefficients = _coefficients(state[:-1], state[1:], np.diff(t), order)

    def at(self, t: float) -> NDArray[np.float64]:
        """Position, velocity, acceleration at t, shape (3, n); before the first and after the last point at rest."""
        if t <= self._times[0] or t >= self._times[-1]:
            edge = self.state[0 if t <= self._times[0] else -1]
            return np.stack([edge[0], 0.0 * edge[0], 0.0 * edge[0]])
        i = bisect_right(self._times, t) - 1
        x = t - self._times[i]
        powers = np.array(
            [
                [1.0, x, x**2, x**3, x**4, x**5],
                [0.0, 1.0, 2.0 * x, 3.0 * x**2, 4.0 * x**3, 5.0 * x**4],
                [0.0, 0.0, 2.0, 6.0 * x, 12.0 * x**2, 20.0 * x**3],
            ]
        )
        state: NDArray[np.float64] = powers @ self._coefficients[i]
        return state


def _coefficients(
    a: NDArray[np.float64], b: NDArray[np.float64], span: NDArray[np.float64], order: int
) -> NDArray[np.float64]:
    """Of polynomials from states `a` to `b`, (N, 3, n) each, in so many seconds (N,): (N, 6, n), lowest first."""
    T = span[:, np.newaxis]
    q0, v0, a0 = a[:, 0], a[:, 1], a[:, 2]
    q1, v1, a1 = b[:, 0], b[:, 1], b[:, 2]
    nothing = np.zeros_like(q0)
    way = q1 - q0
    match order:
        case 0:
            parts = [q0, way / T, nothing, nothing, nothing, nothing]
        case 1:
            parts = [
                q0,
                v0,
                (3.0 * way - (2.0 * v0 + v1) * T) / T**2,
                (-2.0 * way + (v0 + v1) * T) / T**3,
                nothing,
                nothing,
            ]
        case _:
            parts = [
                q0,
                v0,
                0.5 * a0,
                (20.0 * way - (8.0 * v1 + 12.0 * v0) * T - (3.0 * a0 - a1) * T**2) / (2.0 * T**3),
                (-30.0 * way + (14.0 * v1 + 16.0 * v0) * T + (3.0 * a0 - 2.0 * a1) * T**2) / (2.0 * T**4),
                (12.0 * way - 6.0 * (v1 + v0) * T + (a1 - a0) * T**2) / (2.0 * T**5),
            ]
    return np.stack(parts, axis=1)


class TrajectoryAxes(Axes):
    """All joints of a plant, held from the start; each trajectory replaces the one before.

    tolerance   by which a joint may be off its trajectory before it is given up [rad]; then the arm is held where it is
    """

    def __init__(
        self,
        name: str,
        plant: Plant,
        *,
        bandwidth_hz: PerColumn,
        period_s: float,
        tolerance: float,
        on_trip: Callable[[int], None],
    ) -> None:
        super().__init__(name, plant, bandwidth_hz=bandwidth_hz, on_trip=on_trip, period_s=period_s)
        self._tolerance = tolerance
        self._trajectory: Trajectory | None = None
        self.aborted = 0
        for axis in range(len(self.names)):
            self.enable(axis)

    def play(self, trajectory: Trajectory, now: float) -> None:
        """From now on; where its first point is yet to come, on the way there from where the arm is."""
        if trajectory.t[0] > now:
            here = np.stack([self._q, self._v, 0.0 * self._v])
            t = np.concatenate([[now], trajectory.t])
            trajectory = Trajectory(t, np.concatenate([here[np.newaxis], trajectory.state]), trajectory.order)
        self._trajectory = trajectory

    def go_to(self, position: NDArray[np.float64], now: float) -> None:
        """As a forward_command_controller does: at once."""
        self._trajectory = None
        for axis, value in enumerate(position.tolist()):
            self.set_setpoint(axis, now, value)

    def hold(self, now: float) -> None:
        """Stay here."""
        self._trajectory = None
        for axis, value in enumerate(self._q.tolist()):
            self.set_setpoint(axis, now, value)

    def update(self, t: float, q: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64] | None:
        if self._trajectory is not None and self.on.all():
            wanted = self._trajectory.at(t)
            self._start, self._velocity, self._acceleration = wanted[0], wanted[1].copy(), wanted[2].copy()
            self._rate = wanted[1].copy()
            self._since, self._span = np.full(len(q), t), np.full(len(q), np.inf)
            if np.abs(wanted[0] - q).max() > self._tolerance:
                self.aborted += 1
                self._q = q
                self.hold(t)
        return super().update(t, q, v)
