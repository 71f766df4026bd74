"""What the sensors of emulated drives do to the truth: noise and averaging; resolution is the protocol's."""

from __future__ import annotations

import itertools
import math
import os
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from heft.drivers.emulators.base.axes import Axes
from heft.drivers.emulators.base.emulator import EmulatorOptions
from heft.drivers.errors import OptionError
from heft.drivers.options import Positive, RateHz
from heft.drivers.plant.faults import Saturate
from heft.drivers.plant.plant import Plant
from heft.drivers.plant.sensor import PerColumn, per_column
from heft.drivers.transports.can_bus import CanSettings

__all__ = ["ONE_INSTANT_S", "BusOptions", "DriveModel", "DriveOptions", "MotorOptions"]

#: Requests within this time of each other are answered from one measurement [s].
ONE_INSTANT_S = 2e-4

_numbers = itertools.count(1)


class BusOptions(EmulatorOptions):
    """The bus that emulated nodes are on."""

    #: `udp_multicast`: between processes of this host; `virtual`: inside this process.
    interface: Literal["udp_multicast", "virtual"] = "udp_multicast"
    #: Left out: one that nobody else on this host has.
    channel: str | None = None
    multicast_port: Annotated[int, Field(gt=0, lt=65536)] | None = None
    #: What the bus can carry [bit/s].
    bitrate: Annotated[int, Field(gt=0)] = 1_000_000

    def settings(self, *, fd: bool = False) -> CanSettings:
        """As the wire wants it; frames stay on this host."""
        more: dict[str, object] = {}
        channel = self.channel
        if self.interface == "udp_multicast":
            more = {"hop_limit": 0}
            more |= {} if self.multicast_port is None else {"port": self.multicast_port}
        if channel is None:
            pid, number = os.getpid(), next(_numbers)
            multicast = f"239.{64 + pid % 64}.{pid // 64 % 256}.{number % 256}"
            channel = multicast if self.interface == "udp_multicast" else f"emulated-{pid}-{number}"
        return CanSettings(self.interface, channel, self.bitrate, fd=fd, options=more)


class MotorOptions(EmulatorOptions):
    """Drives and their motors, whatever line they are on."""

    #: Loops of the drives per second; torque is held from one to the next.
    servo_hz: RateHz = 1000.0
    #: Bandwidth of the position loops.
    bandwidth_hz: PerColumn = 10.0
    #: Velocity as the drive computes it [rad/s rms at the joint].
    velocity_noise: PerColumn = 0.0
    #: Noise of the current in one loop, as joint torque [N m rms]; the drive reports the mean over `window_s` [s].
    torque_noise: PerColumn = 0.0
    window_s: Positive = 0.001
    #: Whether a brake holds an axis while its drive is off, for all or one by one; left out: as the rig's file says of
    #: the axes, or all have one.
    brake: bool | tuple[bool, ...] | None = None

    def brakes(self, n: int) -> tuple[bool, ...]:
        """Of n axes."""
        if isinstance(self.brake, tuple):
            if len(self.brake) != n:
                raise OptionError(f"brake: {len(self.brake)} values for {n} axes; give one, or one for each")
            return self.brake
        return (self.brake is not False,) * n


class DriveOptions(BusOptions, MotorOptions):
    """Drives on a CAN bus."""


class DriveModel:
    """The drives of all joints of a plant.

    axes   their power stages
    """

    def __init__(self, name: str, options: MotorOptions, plant: Plant, axes: Axes) -> None:
        n = len(plant.axes)
        self.axes = axes
        self._name = name
        self._plant = plant
        self._window_s = options.window_s
        self._noise = plant.rng(name, "noise")
        self._velocity_noise = per_column(f"{name}.velocity_noise", options.velocity_noise, n)
        loops = max(1.0, options.window_s * options.servo_hz)
        self._torque_noise = per_column(f"{name}.torque_noise", options.torque_noise, n) / math.sqrt(loops)

    def measure(self, t: float) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Position [rad], velocity [rad/s], motor torque [N m] at t [s], all at the joint, shape (n,) each."""
        q, v, torque = self.axes.measure(t, self._window_s)
        n = len(q)
        v = v + self._velocity_noise * self._noise.standard_normal(n)
        torque = torque + np.where(self.axes.on, self._torque_noise, 0.0) * self._noise.standard_normal(n)
        for fault in self._plant.faults(self._name):
            if isinstance(fault, Saturate) and fault.active(np.array([t]))[0]:
                torque[slice(None) if fault.column is None else fault.column] = 1e9
        return q, v, torque
