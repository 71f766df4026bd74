"""A small plant of its own, for an emulator that runs without a rig: no MuJoCo, no robot's file.

The joints are independent inertias with a little friction. The wrist carries a load whose direction sways slowly, so
that every column of a wrench moves and each is known: see `Bench.wrench`.
"""

from __future__ import annotations

import heapq
import math
import zlib
from collections.abc import Callable
from itertools import count

import numpy as np
from numpy.typing import NDArray

from drivers.clock import Clock
from drivers.errors import OptionError
from drivers.sim.device_truth import DeviceTruth
from drivers.sim.faults import DriveFault, Fault
from drivers.sim.history import History, State
from drivers.sim.inertia import Inertia
from drivers.sim.mover import Mover, PositionLaw

__all__ = ["AXES", "Bench"]

AXES = tuple(f"joint{i}" for i in range(1, 8))

_TICK_S = 0.001
_ROUNDING_S = 1e-9
_GRAVITY = 9.81


class Bench:
    """A Plant that needs nothing but a clock.

    axes      joint names
    posture   where the joints stand at the start [rad], shape (n,)
    inertia   of every joint [kg m2]; `viscous` friction [N m s/rad]
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
        load: float = 1.2,
        arm: float = 0.05,
        sway_hz: float = 0.2,
        seed: int = 0,
    ) -> None:
        self.clock = clock
        self.axes = axes
        self.seed = seed
        self.start_ns = clock.now_ns()
        self.torque_per_ampere = np.ones(len(axes))
        self._inertia, self._viscous = inertia, viscous
        self._load, self._arm, self._sway = load, arm, 2.0 * math.pi * sway_hz
        self._q = np.zeros(len(axes)) if posture is None else posture.astype(np.float64)
        self._v = np.zeros(len(axes))
        self._mover: Mover | None = None
        self._history = self._new_history(_TICK_S)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._event_numbers = count()
        self._faults: list[Fault] = []
        self._held = 0.0
        self.devices: dict[str, DeviceTruth] = {}

    # -- time ---------------------------------------------------------------------------------------------------------

    def seconds(self, t_ns: int) -> float:
        return (t_ns - self.start_ns) * 1e-9

    def nanoseconds(self, t: float) -> int:
        return self.start_ns + math.ceil(t * 1e9)

    def now(self) -> float:
        t_ns = self.clock.now_ns()
        self.advance(t_ns)
        return self.seconds(t_ns)

    def advance(self, t_ns: int) -> None:
        period, end = self._history.period_s, self.seconds(t_ns) + _ROUNDING_S
        while (t := self._history.last * period) <= end:
            self._tick(t, period)

    def schedule(self, t: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._events, (t, next(self._event_numbers), action))

    def _tick(self, t: float, period: float) -> None:
        while self._events and self._events[0][0] <= t + _ROUNDING_S:
            heapq.heappop(self._events)[2]()
        torque = None if self._mover is None else self._mover.update(t, self._q, self._v)
        if torque is None:
            torque = np.zeros(len(self.axes))
            self._v = np.zeros(len(self.axes))
        else:
            self._v = self._v + period * (torque - self._viscous * self._v) / self._inertia
            self._q = self._q + period * self._v
        reference = np.zeros(3 * len(self.axes)) if self._mover is None else self._mover.reference
        self._history.append(torque, reference, 0, self._q, self._v)

    def _new_history(self, period_s: float) -> History:
        return History(len(self.axes), len(self.axes), period_s, self._q)

    # -- what devices see ---------------------------------------------------------------------------------------------

    def wrench(self, t: NDArray[np.float64], window_s: float) -> NDArray[np.float64]:
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

    def mean_torque(self, t: NDArray[np.float64], window_s: float) -> NDArray[np.float64]:
        return self._history.mean_torque(t - 0.5 * window_s, t + 0.5 * window_s)

    # -- what devices do ----------------------------------------------------------------------------------------------

    def attach(self, servo: Mover) -> None:
        if self._mover is not None or self._history.last:
            raise OptionError(f"{servo.name}: the joints are moved already; a plant has one mover")
        self._mover = servo
        self._history = self._new_history(servo.period_s)

    def position_law(self, bandwidth_hz: NDArray[np.float64], period_s: float) -> PositionLaw:
        return _Stiffness(self._inertia, 2.0 * np.pi * bandwidth_hz)

    def pick(self, name: str, inertia: Inertia) -> None:
        self._held = inertia.mass

    def drop(self) -> None:
        self._held = 0.0

    # -- seeds, faults, truth -----------------------------------------------------------------------------------------

    def rng(self, device: str, purpose: str) -> np.random.Generator:
        key = tuple(zlib.crc32(name.encode()) for name in (device, purpose))
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=key)))

    def inject(self, fault: Fault) -> None:
        self._faults.append(fault)
        if isinstance(fault, DriveFault):
            self.schedule(fault.at_s, lambda: self._trip(fault))

    def faults(self, device: str) -> tuple[Fault, ...]:
        return tuple(f for f in self._faults if f.device == device) if self._faults else ()

    def declare(self, device: str, truth: DeviceTruth) -> None:
        self.devices[device] = truth

    def _trip(self, fault: DriveFault) -> None:
        if self._mover is not None and self._mover.name == fault.device:
            self._mover.trip(fault.joint)


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
