"""A small plant of its own, for an emulator that runs without a rig: no MuJoCo, no robot's file.

The joints are independent inertias with a little friction. The wrist carries a load whose direction sways slowly, so
that every column of a wrench moves and each is known: see `Bench.wrench`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from heft.drivers.clock import Clock
from heft.drivers.plant.history import History, State
from heft.drivers.plant.inertia import Inertia
from heft.drivers.plant.mover import PositionLaw
from heft.drivers.plant.plant import Plant

__all__ = ["AXES", "Bench"]

AXES = tuple(f"joint{i}" for i in range(1, 8))

_TICK_S = 0.001
_GRAVITY = 9.81


class Bench(Plant):
    """A Plant that needs nothing but a clock.

    axes      joint names
    posture   where the joints stand at the start [rad], shape (n,)
    inertia   of every joint [kg m2]; `viscous` friction [N m s/rad]; `weight` that pulls it down [N m]
    load      mass on the wrist sensor [kg], with its centre `arm` [m] along the sensor's z axis
    """

    def __init__(
        self,
        clock: Clock,
        *,
        axes: tuple[str, ...] = AXES,
        posture: NDArray[np.float64] | None = None,
        inertia: float = 0.5,
        viscous: float = 0.5,
        weight: float = 0.0,
        load: float = 1.2,
        arm: float = 0.05,
        sway_hz: float = 0.2,
        seed: int = 0,
    ) -> None:
        super().__init__(clock, seed)
        self._axes = axes
        self._inertia, self._viscous, self._weight = inertia, viscous, weight
        self._load, self._arm, self._sway = load, arm, 2.0 * math.pi * sway_hz
        self._q = np.zeros(len(axes)) if posture is None else posture.astype(np.float64)
        self._v = np.zeros(len(axes))
        self._history = self._new_history(_TICK_S)
        self._held = 0.0

    @property
    def axes(self) -> tuple[str, ...]:
        return self._axes

    @property
    def torque_per_ampere(self) -> NDArray[np.float64]:
        return np.ones(len(self._axes))

    def _tick(self, t: float, period: float) -> None:
        torque, held, reference = self._ask_movers(t, self._q, self._v)
        v = self._v + period * (torque - self._weight - self._viscous * self._v) / self._inertia
        self._v = np.where(held, 0.0, v)
        self._q = self._q + period * self._v
        self._history.append(torque, reference, 0, self._q, self._v)

    def _new_history(self, period_s: float) -> History:
        return History(len(self.axes), len(self.axes), period_s, self._q)

    def wrench(
        self, t: NDArray[np.float64], window_s: float, frame: str | None = None
    ) -> NDArray[np.float64]:
        """The load's weight as the sensor tilts to and fro about two axes; the window is too short to matter."""
        weight = (self._load + self._held) * _GRAVITY
        roll, pitch = 0.5 * np.sin(self._sway * t + 1.0), 0.4 * np.cos(0.7 * self._sway * t)
        fx, fy = -weight * np.sin(pitch), weight * np.cos(pitch) * np.sin(roll)
        fz = weight * np.cos(pitch) * np.cos(roll)
        return np.column_stack([fx, fy, fz, -self._arm * fy, self._arm * fx, 0.1 * self._arm * fx])

    def joint_positions(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._history.state(t).q

    def motor(self, t: NDArray[np.float64]) -> State:
        return self._history.state(t)

    def present(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self._q, self._v

    def position_law(self, bandwidth_hz: NDArray[np.float64], period_s: float) -> PositionLaw:
        return _Stiffness(self._inertia, 2.0 * np.pi * bandwidth_hz)

    def pick(self, name: str, inertia: Inertia) -> None:
        self._held = inertia.mass

    def drop(self) -> None:
        self._held = 0.0


class _Stiffness:
    """Spring and damper, critically damped: nothing here has weight, so nothing needs integral action."""

    def __init__(self, inertia: float, omega: NDArray[np.float64]) -> None:
        self._kp, self._kd, self._inertia = inertia * omega**2, 2.0 * inertia * omega, inertia

    def reset(self) -> None:
        pass

    def torque(
        self, q: NDArray[np.float64], v: NDArray[np.float64], reference: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        n = len(q)
        q_d, v_d, a_d = reference[:n], reference[n : 2 * n], reference[2 * n :]
        return self._kp * (q_d - q) + self._kd * (v_d - v) + self._inertia * a_d
