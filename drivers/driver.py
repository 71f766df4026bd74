"""The seam between a device and everything above it.

    async with registry.create_driver("sim_wrench", "wrist", options, context) as wrist:
        async for block in wrist:
            ...

A driver connects and identifies its device on entry, yields Blocks until it is stopped or its device is lost
(`DeviceLost`), and releases everything on exit. Cancellation is how a reader stops; it leaves no task and no open
port. Logic above this seam holds no protocol; nothing below it knows what a session is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from heft.drivers.block import Block
from heft.drivers.clock import Clock
from heft.drivers.errors import OptionError
from heft.drivers.setpoints import Setpoints
from heft.drivers.stream import Stream

__all__ = ["Actuator", "Context", "Counters", "Driver", "Gripper", "Identity", "Limits"]


@dataclass(frozen=True, slots=True)
class Identity:
    """Who answered."""

    vendor: str
    model: str
    serial: str = ""
    firmware: str = ""


@dataclass(slots=True)
class Counters:
    """What one driver has seen on its line so far; the only mutable value a driver shares."""

    received: int = 0  # samples yielded
    lost: int = 0  # samples known to be missing, from the device's own counter
    corrupt: int = 0  # frames that failed their check
    duplicate: int = 0  # frames seen twice
    late: int = 0  # frames that came after a younger one
    refused: int = 0  # datagrams of another sender, or too long to be this device's
    skipped: int = 0  # cycles that this host was too late for; what it asks for in them is lost


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """What the axes of a device may do, shape (n,) each.

    velocity       [rad/s]
    acceleration   [rad/s2]
    """

    velocity: NDArray[np.float64]
    acceleration: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Context:
    """What a driver is given besides its own options.

    `axes` are what the device measures or moves, in order: for sensors the robot's joints, for actuators its motors,
    which have other names than the joints where they move several (`heft.drivers.coupling`). `places` are theirs among
    all of the robot (None: they are all). `world` is the simulated plant that simulated drivers share (None on a rig
    without one). `limits` are those of the axes (None: not known).
    """

    clock: Clock
    axes: tuple[str, ...] = ()
    world: Any = None
    places: tuple[int, ...] | None = None
    limits: Limits | None = None


class Driver(ABC):
    """A device that yields Blocks."""

    def __init__(self, name: str, context: Context) -> None:
        self.name = name
        self.clock = context.clock
        self.counters = Counters()

    @property
    @abstractmethod
    def streams(self) -> tuple[Stream, ...]:
        """The streams this device yields; known from the configuration, confirmed on entry."""

    @property
    @abstractmethod
    def identity(self) -> Identity:
        """Who answered; valid inside `async with`."""

    @abstractmethod
    async def __aenter__(self) -> Self:
        """Connect and identify, or raise ConnectError."""

    @abstractmethod
    async def __aexit__(self, *exc: object) -> None:
        """Release everything; never raises for a device that is already gone."""

    @abstractmethod
    def __aiter__(self) -> AsyncIterator[Block]:
        """Start streaming and yield Blocks; raises DeviceLost or DeviceFault."""

    def redirect(self, endpoint: Mapping[str, Any]) -> None:
        """Speak to an emulator at `endpoint` instead of where the options say; before entering."""
        raise OptionError(f"{self.name}: this kind of device has no line that could lead to an emulator")

    async def stop(self) -> None:  # noqa: B027 - most sensors need nothing
        """Stop streaming. May be called twice, and before streaming has begun."""


class Actuator(Driver):
    """A device that moves axes, which are motors: setpoints ahead of time in, motion out.

    Life: `arm()` (drives on, holding the present position) -> `play(chunk)` ahead of time, the driver taking up
    each setpoint at its host time -> `hold()` -> `disarm()`. Running out of setpoints before one marked `last` is an
    underrun: the driver brings the axes to rest by itself and `__aiter__` raises UnderrunError after that.
    """

    axes: tuple[str, ...]
    #: Of the controlled stop [rad/s2], shape (n,).
    deceleration: NDArray[np.float64]
    #: Seconds after which the drive stops by itself when the host is silent; None: there is no such watchdog,
    #: and `arm` refuses unless the rig's file overrides it.
    watchdog_s: float | None

    @property
    def unreferenced(self) -> Mapping[str, str]:
        """Axes whose position may count from where the drive was switched on, and why that is not known."""
        return {}

    def confirm_pose(self) -> None:
        """The operator has seen that the arm stands where its positions say; until then `arm` refuses."""

    @abstractmethod
    async def arm(self) -> None:
        """Drives on, holding where they are; the drive's own watchdog is armed too."""

    @abstractmethod
    async def position(self) -> NDArray[np.float64]:
        """Present position of the axes [rad] or [m], shape (n,)."""

    @abstractmethod
    async def play(self, chunk: Setpoints) -> None:
        """Queue setpoints; raises CommandError when not armed, out of order, or already due."""

    @property
    @abstractmethod
    def holding(self) -> bool:
        """Whether the drives are on and hold the axes at rest, by measurement."""

    @property
    @abstractmethod
    def rest_bound_s(self) -> float:
        """How long `hold` may take from now, by the present velocity and the deceleration [s]."""

    @abstractmethod
    async def hold(self) -> None:
        """Forget queued setpoints, come to rest by a limited deceleration, and return when the axes are at rest.

        Raises RestError where they are not within `rest_bound_s`; the drives then go on holding. Without effect where
        the drives are off.
        """

    @abstractmethod
    async def disarm(self) -> None:
        """Drives off, from rest. May be called twice.

        Axes that still move are first stopped by the drives' own means. If that fails the brakes take over, and without
        brakes the drives stay on; with a RestError that says which. Where drives hold by themselves without this host,
        axes without a brake are left like that, and `holding` stays True.
        """


class Gripper(Driver):
    """A device that takes hold of things."""

    @abstractmethod
    async def grip(self, target: str = "") -> None:
        """Close; return when the fingers have stopped. `target` is what should be there, for who can know."""

    @abstractmethod
    async def release(self) -> None:
        """Open; return when the fingers have stopped."""
