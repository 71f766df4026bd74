"""A rig at work: drivers made from their configuration, connected in parallel, released in order."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack
from typing import Any, Self

import numpy as np

from heft.daq.config.rig import RigConfig
from heft.daq.emulation.cell import EmulatedCell
from heft.daq.emulation.plant import emulators_of, plant_of
from heft.daq.errors import ConfigError
from heft.daq.rig_lock import locked
from heft.drivers import registry
from heft.drivers.clock import Clock
from heft.drivers.devices.bus.can_options import CanOptions
from heft.drivers.devices.bus.listening import other_master
from heft.drivers.driver import Actuator, Context, Driver, Gripper, Limits
from heft.drivers.errors import ConnectError, DriverError, OptionError
from heft.drivers.registry import KINDS, Transport

__all__ = ["Rig"]


class Rig:
    """All devices of one rig. `async with rig` connects to every one of them, or says of each why not.

    The addresses of its real devices are locked meanwhile, in the name of `name`: no other process speaks to them.

    Where the rig's file asks for emulators, they and the plant that they measure and move run in a process of their own
    (`cell`), from before the drivers connect until after they are released.

    world   the plant of simulated devices; None where there are none
    """

    def __init__(self, config: RigConfig, clock: Clock, seed: int = 0, *, name: str | None = None) -> None:
        self.config = config
        self._name, self._clock = name or config.name, clock
        world = plant_of(config, clock, seed)
        self.cell: EmulatedCell | None = None
        if config.emulation is None:
            self.world = world
        else:  # made here to say at once what is wrong with the file; those that work are the cell's
            emulators_of(config, world)
            self.world, self.cell = None, EmulatedCell(config, seed)
        self.drivers: dict[str, Driver] = {}
        for name, device in config.devices.items():
            try:
                self.drivers[name] = registry.create_driver(
                    device.kind, name, device.options, self._context(name, clock)
                )
            except OptionError as exc:
                raise ConfigError(f"{config.path}: devices.{exc}") from exc
        self._stack = AsyncExitStack()  # what is to be released after the drivers
        self._connected: list[Driver] = []
        self._lock = ExitStack()

    def _context(self, device: str, clock: Clock) -> Context:
        """What a device's driver is given: sensors know joints, actuators know motors."""
        robot, joints = self.config.robot, self.config.joints_of(device)
        places = tuple(robot.axes.index(joint) for joint in joints)
        joint = [robot.joints[name] for name in joints]
        names = robot.motors if registry.moves_axes(self.config.devices[device].kind) else robot.axes
        return Context(
            clock=clock,
            axes=tuple(names[k] for k in places),
            places=None if joints == robot.axes else places,
            world=self.world,
            limits=Limits(np.array([j.velocity for j in joint]), np.array([j.acceleration for j in joint])),
        )

    def __iter__(self) -> Iterator[Driver]:
        return iter(self.drivers.values())

    @property
    def actuators(self) -> tuple[Actuator, ...]:
        return tuple(d for d in self if isinstance(d, Actuator))

    @property
    def grippers(self) -> tuple[Gripper, ...]:
        return tuple(d for d in self if isinstance(d, Gripper))

    @property
    def truth(self) -> dict[str, Any] | None:
        """What is true of the plant and its devices, for the truth file; of emulated ones when they have ended."""
        if self.cell is not None:
            return self.cell.truth
        return None if self.world is None else self.world.truth()

    async def __aenter__(self) -> Self:
        failures: dict[str, DriverError] = {}

        async def connect(driver: Driver) -> None:
            try:
                await driver.__aenter__()
            except DriverError as exc:
                failures[driver.name] = exc
            else:
                self._connected.append(driver)

        devices = {name: self.config.devices[name].address for name in self.config.real}
        try:
            self._lock.enter_context(
                locked({name: where for name, where in devices.items() if where}, self._name)
            )
            await self._listen()
            if self.cell is not None:
                await self._stack.enter_async_context(self.cell)
                for device, endpoint in self.cell.endpoints.items():
                    self.drivers[device].redirect(endpoint)
            await asyncio.gather(*(connect(driver) for driver in self))
            if failures:
                raise self.failure(failures, "did not connect", "connected")
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def _listen(self) -> None:
        """ConnectError where another master speaks on a CAN bus of the rig: both would move the same drives."""
        if self.config.other_master is not None:
            return
        kinds = {name: self.config.devices[name].kind for name in self.config.real}
        options = {name: self.config.devices[name].options for name in kinds}
        buses = {
            name: o for name, o in options.items() if isinstance(o, CanOptions) and o.interface != "virtual"
        }
        fd = {name for name in buses if KINDS[kinds[name]].transport is Transport.CAN_FD}
        words = await asyncio.gather(
            *(other_master(name, kinds[name], bus, self._clock, fd=name in fd) for name, bus in buses.items())
        )
        for (name, bus), word in zip(buses.items(), words, strict=True):
            if word is not None:
                raise ConnectError(
                    name,
                    f"another master speaks on CAN {bus.interface} {bus.channel} ({word}); nothing has been sent. Stop "
                    "that program, maybe on another host, or say in the rig's file why it may (`other_master`)",
                )

    def failure(self, failures: Mapping[str, Exception], what: str, otherwise: str) -> ConnectError:
        """One error for all devices that failed, as a tree with a line for every device of the rig."""
        tree = "".join(f"\n  {failures.get(name, f'{name}: {otherwise}')}" for name in self.drivers)
        return ConnectError(self.config.name, f"{len(failures)} of {len(self.drivers)} devices {what}:{tree}")

    async def __aexit__(self, *exc: object) -> None:
        """Release every device, whatever becomes of the others."""
        async with AsyncExitStack() as stack:
            stack.callback(self._lock.close)
            stack.push_async_exit(self._stack)  # after the drivers: the last one in is the first one out
            for driver in self._connected:
                stack.push_async_exit(driver)
            self._connected = []
