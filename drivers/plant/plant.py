"""The plant that simulated and emulated devices measure and move.

`heft.drivers.sim.World` is a Plant (the arm of a rig, shared by all its devices), and so is `Bench` (for one emulator).
Times t are seconds of host time since the plant's start, shape (N,); everything is in SI units at the joint. Drives
see motors: positions, velocities and torques of motors are on the joint's side of the gear, and a motor is its joint
unless it turns with several of them (`heft.drivers.coupling`).
"""

from __future__ import annotations

import heapq
import math
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.drivers.clock import Clock
from heft.drivers.errors import OptionError
from heft.drivers.plant.faults import DriveFault, Fault
from heft.drivers.plant.history import History, State
from heft.drivers.plant.inertia import Inertia
from heft.drivers.plant.mover import Mover, PositionLaw

__all__ = ["ROUNDING_S", "DeviceTruth", "Plant"]

#: A tick at most this much after an instant counts as being at it [s].
ROUNDING_S = 1e-9


@dataclass(frozen=True, slots=True)
class DeviceTruth:
    """Its clock, and by stream the total delay [s] and the sensor's errors."""

    clock: dict[str, Any]
    delays: dict[str, float]
    sensors: dict[str, dict[str, Any]]


class Plant(ABC):
    """An arm with a wrist sensor and a hand, advanced to host time whenever a device looks at it.

    start_ns   host time at which the plant's time is 0 [ns]
    seed       of everything that is drawn at random
    """

    def __init__(self, clock: Clock, seed: int) -> None:
        self.clock = clock
        self.seed = seed
        self.start_ns = clock.now_ns()
        self.devices: dict[str, DeviceTruth] = {}
        self._movers: list[tuple[Mover, NDArray[np.intp]]] = []  # with the places of their motors
        self._history: History
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._event_numbers = count()
        self._faults: list[Fault] = []

    @property
    @abstractmethod
    def axes(self) -> tuple[str, ...]:
        """Joint names in order."""

    @property
    @abstractmethod
    def torque_per_ampere(self) -> NDArray[np.float64]:
        """Motor torque per motor current [N m/A], shape (n,)."""

    # -- time ---------------------------------------------------------------------------------------------------------

    def seconds(self, t_ns: int) -> float:
        """Host time [ns] as seconds since the start."""
        return (t_ns - self.start_ns) * 1e-9

    def nanoseconds(self, t: float) -> int:
        """Seconds since the start as host time [ns], rounded up."""
        return self.start_ns + math.ceil(t * 1e9)

    def now(self) -> float:
        """Host time as seconds since the start; the plant is advanced to it."""
        t_ns = self.clock.now_ns()
        self.advance(t_ns)
        return self.seconds(t_ns)

    def advance(self, t_ns: int) -> None:
        """Advance the plant to host time t_ns: every tick due by then acts on the interval that follows it."""
        period, end = self._history.period_s, self.seconds(t_ns) + ROUNDING_S
        while (t := self._history.last * period) <= end:
            while self._events and self._events[0][0] <= t + ROUNDING_S:
                heapq.heappop(self._events)[2]()
            self._tick(t, period)

    def schedule(self, t: float, action: Callable[[], None]) -> None:
        """Call `action` at the first tick at or after t."""
        heapq.heappush(self._events, (t, next(self._event_numbers), action))

    @abstractmethod
    def _tick(self, t: float, period: float) -> None:
        """Move the joints from t to t + period [s] and append the result to the history."""

    # -- what devices measure -----------------------------------------------------------------------------------------

    @abstractmethod
    def wrench(
        self, t: NDArray[np.float64], window_s: float, frame: str | None = None
    ) -> NDArray[np.float64]:
        """Wrench of the sensor at a frame on its load [N, N m], mean over a window around t, shape (N, 6).

        `frame` None: of the wrist sensor.
        """

    @abstractmethod
    def joint_positions(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Positions on the link side [rad], shape (N, n)."""

    @abstractmethod
    def motor(self, t: NDArray[np.float64]) -> State:
        """Positions and velocities of the motors, shape (N, n) each."""

    @abstractmethod
    def present(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Position and velocity of the motors at the newest tick, shape (n,) each."""

    def mean_torque(self, t: NDArray[np.float64], window_s: float) -> NDArray[np.float64]:
        """Motor torque, mean over a window around t [N m], shape (N, n)."""
        return self._history.mean_torque(t - 0.5 * window_s, t + 0.5 * window_s)

    def reference(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Setpoints of the motors in force at times t: position, velocity, acceleration, shape (N, 3 n)."""
        return self._history.reference(t)

    # -- what devices do ----------------------------------------------------------------------------------------------

    def attach(self, mover: Mover, motors: NDArray[np.intp] | None = None) -> None:
        """Let `mover` move these motors (None: all), before the plant moves.

        The period of the first one becomes the plant's tick: the others are asked then, too.
        """
        places = np.arange(len(self.axes)) if motors is None else motors
        taken = {int(k): other.name for other, its in self._movers for k in its}
        if self._history.last or taken.keys() & set(places.tolist()):
            raise OptionError(
                f"{mover.name}: a motor of the simulated arm has one drive, there before the world moves; remove one, "
                "or give each its `joints`"
            )
        if not self._movers:
            self._history = self._new_history(mover.period_s)
        self._movers.append((mover, places))

    def _ask_movers(
        self, t: float, q: NDArray[np.float64], v: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]:
        """Motor torques from t on (n,), who is held by a brake (n,), setpoints in force (3 n,); q, v: of the motors."""
        n = len(self.axes)
        torque, held, reference = np.zeros(n), np.ones(n, dtype=np.bool_), np.zeros((3, n))
        for mover, motors in self._movers:
            own = mover.update(t, q[motors], v[motors])
            held[motors] = mover.brakes if own is None else False
            if own is not None:
                torque[motors] = own
            reference[:, motors] = mover.reference.reshape(3, -1)
        return torque, held, reference.ravel()

    @abstractmethod
    def _new_history(self, period_s: float) -> History:
        """An empty history that begins at the present position."""

    @abstractmethod
    def position_law(self, bandwidth_hz: NDArray[np.float64], period_s: float) -> PositionLaw:
        """A position servo for these joints; `bandwidth_hz` has shape (n,)."""

    @abstractmethod
    def pick(self, name: str, inertia: Inertia) -> None:
        """The hand holds an object; `inertia` is in the flange's frame."""

    @abstractmethod
    def drop(self) -> None:
        """The hand is empty again."""

    # -- seeds, faults, truth -----------------------------------------------------------------------------------------

    def rng(self, device: str, purpose: str) -> np.random.Generator:
        """A random stream for one purpose of one device: adding a device changes no other's."""
        key = tuple(zlib.crc32(name.encode()) for name in (device, purpose))
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=key)))

    def inject(self, fault: Fault) -> None:
        """Add a fault."""
        self._faults.append(fault)
        if isinstance(fault, DriveFault):
            self.schedule(fault.at_s, lambda: self._trip(fault))

    def heal(self) -> None:
        """All faults are over."""
        self._faults.clear()

    def _trip(self, fault: DriveFault) -> None:
        for mover, _ in self._movers:
            if mover.name == fault.device:
                mover.trip(fault.joint)

    def faults(self, device: str) -> tuple[Fault, ...]:
        """Faults of one device, in the order in which they were added."""
        return tuple(f for f in self._faults if f.device == device) if self._faults else ()

    def declare(self, device: str, truth: DeviceTruth) -> None:
        """Record what is true of a device, for the truth file."""
        self.devices[device] = truth
