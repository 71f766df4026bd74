"""What an emulated device sees of the world.

`drivers.sim.World` is a Plant (the arm of a rig, shared by all its devices), and so is `Bench` (an emulator alone).
Times t are seconds of true time since the plant's start, shape (N,); everything is in SI units at the joint.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from drivers.clock import Clock
from drivers.sim.device_truth import DeviceTruth
from drivers.sim.faults import Fault
from drivers.sim.history import State
from drivers.sim.inertia import Inertia
from drivers.sim.mover import Mover, PositionLaw

__all__ = ["Plant"]


class Plant(Protocol):
    """A world that devices live in, and that moves in real time."""

    clock: Clock
    start_ns: int

    @property
    def axes(self) -> tuple[str, ...]:
        """Joint names in order."""
        ...

    @property
    def torque_per_ampere(self) -> NDArray[np.float64]:
        """Joint torque per motor current [N m/A], shape (n,)."""
        ...

    # -- time ---------------------------------------------------------------------------------------------------------

    def now(self) -> float:
        """Seconds since the start; the plant is brought up to it."""
        ...

    def nanoseconds(self, t: float) -> int:
        """Seconds since the start as host time [ns], rounded up."""
        ...

    def seconds(self, t_ns: int) -> float:
        """Host time [ns] as seconds since the start."""
        ...

    def advance(self, t_ns: int) -> None:
        """Bring the plant up to host time t_ns; what lies after it cannot be looked at yet."""
        ...

    def schedule(self, t: float, action: Callable[[], None]) -> None:
        """Do something at the first tick at or after t."""
        ...

    # -- what devices see ---------------------------------------------------------------------------------------------

    def wrench(self, t: NDArray[np.float64], window_s: float) -> NDArray[np.float64]:
        """Wrench of the sensor on its load [N, N m], mean over a window around t, shape (N, 6)."""
        ...

    def joint_positions(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Positions on the link side [rad], shape (N, n)."""
        ...

    def motor(self, t: NDArray[np.float64]) -> State:
        """Positions and velocities on the motor side, shape (N, n) each."""
        ...

    def mean_torque(self, t: NDArray[np.float64], window_s: float) -> NDArray[np.float64]:
        """Motor torque, mean over a window around t [N m at the joint], shape (N, n)."""
        ...

    # -- what devices do ----------------------------------------------------------------------------------------------

    def attach(self, servo: Mover) -> None:
        """Let this move the joints; one per plant, there before the plant moves."""
        ...

    def position_law(self, bandwidth_hz: NDArray[np.float64], period_s: float) -> PositionLaw:
        """A position servo for these joints; `bandwidth_hz` has shape (n,)."""
        ...

    def pick(self, name: str, inertia: Inertia) -> None:
        """The hand holds an object; `inertia` is in the flange's frame."""
        ...

    def drop(self) -> None:
        """The hand is empty again."""
        ...

    # -- seeds, faults, truth -----------------------------------------------------------------------------------------

    def rng(self, device: str, purpose: str) -> np.random.Generator:
        """A random stream of its own for one purpose of one device."""
        ...

    def inject(self, fault: Fault) -> None:
        """Add a fault."""
        ...

    def faults(self, device: str) -> tuple[Fault, ...]:
        """Faults of one device, in the order in which they were added."""
        ...

    def declare(self, device: str, truth: DeviceTruth) -> None:
        """A device says what is true of it."""
        ...
