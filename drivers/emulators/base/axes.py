"""The power stages of emulated drives: what moves the plant's joints.

Each axis follows a setpoint that its protocol gives it. While it is off it is held by a brake of its own, where it has
one, and else moves as weight and friction let it. One drive that fails does not stop the others, that is the host's
business.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from heft.drivers.plant.plant import Plant
from heft.drivers.plant.sensor import PerColumn, per_column

__all__ = ["Axes", "ImpedanceAxes"]

BRAKE_S = 0.05  # in which the brakes stop a moving axis


class Axes:
    """Position servos for all joints of a plant; times are seconds since the plant's start.

    on         which axes are on, shape (n,)
    brakes     which axes are held while they are off, shape (n,): by a brake, or because they have not been on yet and
               lie where they were put
    on_trip    called with the number of an axis on which a drive fault occurs
    filter_hz  of the filter that setpoints pass, which follows their velocity too; None: there is none
    smoothed   which axes have that filter switched on, shape (n,)
    forward    torque for the filter's acceleration is fed forward
    """

    def __init__(
        self,
        name: str,
        plant: Plant,
        *,
        bandwidth_hz: PerColumn,
        on_trip: Callable[[int], None],
        period_s: float = 0.001,
        filter_hz: float | None = None,
        forward: bool = True,
        brakes: Sequence[bool] | bool = True,
    ) -> None:
        n = len(plant.axes)
        self.name = name
        self._braked = np.broadcast_to(np.array(brakes, dtype=np.bool_), n)
        self.brakes = np.ones(n, dtype=np.bool_)
        self._omega = None if filter_hz is None else 2.0 * math.pi * filter_hz
        self._filtered_q, self._filtered_v = np.zeros(n), np.zeros(n)
        self.smoothed = np.ones(n, dtype=np.bool_)
        self._feeds_acceleration = forward
        self.period_s = period_s
        self.names = plant.axes
        self.on = np.zeros(n, dtype=np.bool_)
        self.reference = np.zeros(3 * n)
        self._law = plant.position_law(per_column(f"{name}.bandwidth_hz", bandwidth_hz, n), period_s)
        self._plant = plant
        self._on_trip = on_trip
        self._q = plant.motor(np.zeros(1)).q[0]
        self._v = np.zeros(n)
        # The setpoint of each axis: start + rate dt + acceleration dt^2 / 2, dt = t - since up to span.
        self._start, self._rate, self._acceleration = self._q.copy(), np.zeros(n), np.zeros(n)
        self._velocity, self._since, self._span = np.zeros(n), np.zeros(n), np.full(n, np.inf)
        plant.attach(self)

    # -- what the protocol does -----------------------------------------------------------------------------------

    def enable(self, axis: int) -> None:
        """Release the brake; hold where the axis stands."""
        if not self.on.any():
            self._law.reset()
        self.on[axis] = True
        self.brakes[axis] = self._braked[axis]
        self.set_setpoint(axis, 0.0, float(self._q[axis]))
        self._filtered_q[axis], self._filtered_v[axis] = self._q[axis], 0.0

    def disable(self, axis: int, t: float) -> None:
        """No torque; the brake, where there is one, stops the axis and holds it."""
        self.on[axis] = False
        v = float(self._v[axis])
        self.set_setpoint(axis, t, float(self._q[axis]), rate=v, velocity=v, span=BRAKE_S)
        self._acceleration[axis] = -v / BRAKE_S

    def set_setpoint(
        self,
        axis: int,
        t: float,
        position: float,
        *,
        rate: float = 0.0,
        velocity: float = 0.0,
        span: float = np.inf,
    ) -> None:
        """From t on the setpoint is `position` [rad], moving at `rate` for `span` [s]; `velocity` is fed forward."""
        self._start[axis], self._since[axis], self._span[axis] = position, t, span
        self._rate[axis], self._velocity[axis], self._acceleration[axis] = rate, velocity, 0.0

    def slow_down(self, axis: int, t: float, deceleration: float) -> float:
        """Let the setpoint come to rest [rad/s2]; how long that takes [s]."""
        position, v = self.setpoint(axis, t), float(self._velocity[axis])
        span = abs(v) / deceleration
        self.set_setpoint(axis, t, position, rate=v, velocity=v, span=span)
        self._acceleration[axis] = -math.copysign(deceleration, v)
        return span

    def setpoint(self, axis: int, t: float) -> float:
        """Position setpoint of one axis at t [rad]."""
        dt = min(max(t - self._since[axis], 0.0), self._span[axis])
        return float(self._start[axis] + dt * (self._rate[axis] + 0.5 * dt * self._acceleration[axis]))

    # -- what the sensors of the drives see -------------------------------------------------------------------------

    def measure(
        self, t: float, window_s: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Position [rad] and velocity at t, and motor torque [N m], mean over the window that ends at t; shape (n,)."""
        at = np.array([t])
        state = self._plant.motor(at)
        torque = self._plant.mean_torque(at - 0.5 * window_s, window_s)[0]
        return state.q[0], state.v[0], np.where(self.on, torque, 0.0)

    # -- what the plant asks ------------------------------------------------------------------------------------------

    def update(self, t: float, q: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64] | None:
        self._q, self._v = q, v
        if not self.on.any():
            self._start, self._span = q.copy(), np.full(len(q), np.inf)
            self._rate, self._velocity, self._acceleration = 0.0 * q, 0.0 * q, 0.0 * q
            self.reference = np.concatenate([q, np.zeros(2 * len(q))])
            return None
        dt = np.minimum(np.maximum(t - self._since, 0.0), self._span)
        moving = dt < self._span
        position = self._start + dt * (self._rate + 0.5 * dt * self._acceleration)
        velocity = np.where(moving, self._velocity + dt * self._acceleration, 0.0)
        acceleration = np.where(moving, self._acceleration, 0.0)
        if self._omega is not None:
            position, velocity, acceleration = self._filter(position, velocity, acceleration, self._omega)
        self.reference = np.concatenate([position, velocity, acceleration])
        return np.where(self.on | self.brakes, self._torque(q, v), 0.0)

    def _filter(
        self,
        position: NDArray[np.float64],
        velocity: NDArray[np.float64],
        acceleration: NDArray[np.float64],
        omega: float,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """One tick of a critically damped filter on the axes that are on and have it; brakes act at once."""
        through = self.on & self.smoothed
        pull = omega * (omega * (position - self._filtered_q) + 2.0 * (velocity - self._filtered_v))
        self._filtered_v = np.where(through, self._filtered_v + self.period_s * pull, velocity)
        self._filtered_q = np.where(through, self._filtered_q + self.period_s * self._filtered_v, position)
        forward = pull if self._feeds_acceleration else np.zeros_like(pull)
        return self._filtered_q, self._filtered_v, np.where(through, forward, acceleration)

    def trip(self, joint: str) -> None:
        self._on_trip(self.names.index(joint))

    def _torque(self, q: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._law.torque(q, v, self.reference)


class ImpedanceAxes(Axes):
    """Springs and dampers whose gains come with every command: torque = kp (p - q) + kd (v - dq) + torque."""

    def __init__(
        self,
        name: str,
        plant: Plant,
        *,
        bandwidth_hz: PerColumn,
        on_trip: Callable[[int], None],
        period_s: float = 0.001,
        brakes: Sequence[bool] | bool = True,
    ) -> None:
        super().__init__(
            name, plant, bandwidth_hz=bandwidth_hz, on_trip=on_trip, period_s=period_s, brakes=brakes
        )
        n = len(self.names)
        self._kp, self._kd, self._forward, self._limit = (
            np.zeros(n),
            np.zeros(n),
            np.zeros(n),
            np.full(n, np.inf),
        )

    def set_gains(self, axis: int, kp: float, kd: float, torque: float, limit: float) -> None:
        """Gains [N m/rad, N m s/rad], torque on top and largest torque [N m] of one axis."""
        self._kp[axis], self._kd[axis], self._forward[axis], self._limit[axis] = kp, kd, torque, limit

    def _torque(self, q: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
        n = len(q)
        brakes = super()._torque(q, v)
        motors = (
            self._kp * (self.reference[:n] - q) + self._kd * (self.reference[n : 2 * n] - v) + self._forward
        )
        return np.where(self.on, np.clip(motors, -self._limit, self._limit), brakes)
