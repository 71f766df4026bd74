"""A rig at work: drivers made from their configuration, connected in parallel, released in order."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from pydantic import BaseModel

from heft.daq.config.rig import RigConfig
from heft.daq.errors import ConfigError
from heft.daq.rig_lock import locked
from heft.drivers import registry
from heft.drivers.clock import Clock
from heft.drivers.devices.bus.can_options import CanOptions
from heft.drivers.devices.bus.listening import other_master
from heft.drivers.driver import Actuator, Context, Driver, Gripper, Limits
from heft.drivers.errors import ConnectError, DriverError, OptionError
from heft.drivers.plant.part import PlantPart
from heft.drivers.registry import KINDS, Transport

if TYPE_CHECKING:
    from heft.drivers.emulators.base.emulator import Emulator

__all__ = ["Rig"]


class Rig:
    """All devices of one rig. `async with rig` connects to every one of them, or says of each why not.

    The addresses of its real devices are locked meanwhile, in the name of `name`: no other process speaks to them.

    Where the rig's file asks for emulators, they run as tasks of this process on the simulated plant, from before the
    drivers connect until after they are released.
    """

    def __init__(self, config: RigConfig, clock: Clock, seed: int = 0, *, name: str | None = None) -> None:
        self.config = config
        self._name, self._clock = name or config.name, clock
        self.world = _world(config, clock, seed)
        self.drivers: dict[str, Driver] = {}
        for name, device in config.devices.items():
            try:
                self.drivers[name] = registry.create_driver(
                    device.kind, name, device.options, self._context(name, clock)
                )
            except OptionError as exc:
                raise ConfigError(f"{config.path}: devices.{exc}") from exc
        self._emulators = _emulators(config, self.world)
        self._running: list[Emulator[Any, Any]] = []
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
            for emulator in self._emulators:
                self._running.append(await emulator.__aenter__())
                self.drivers[emulator.name].redirect(emulator.endpoint)
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
            for emulator in self._running:  # released after the drivers: the last one in is the first one out
                stack.push_async_exit(emulator)
            for driver in self._connected:
                stack.push_async_exit(driver)
            self._running, self._connected = [], []


def _emulators(config: RigConfig, world: Any) -> list[Emulator[Any, Any]]:
    """Emulators of the devices that the rig's file names, on the simulated plant."""
    if config.emulation is None:
        return []
    for fault in config.emulation.faults:
        world.inject(fault)
    made = []
    for name, options in config.emulation.devices.items():
        try:
            joints = config.joints_of(name)
            places = [config.robot.axes.index(joint) for joint in joints]
            plant = world if joints == config.robot.axes else PlantPart(world, places)
            motors = [config.robot.motors[k] for k in places]
            options = _with_brakes(options, config.devices[name].options, motors)
            made.append(registry.create_emulator(config.devices[name].kind, name, cast(Any, options), plant))
        except OptionError as exc:
            raise ConfigError(f"{config.path}: emulation.devices.{exc}") from exc
    return made


def _with_brakes(emulated: BaseModel, device: BaseModel, motors: Sequence[str]) -> BaseModel:
    """Emulated axes have the brakes that the rig's file says the real ones have, unless it says otherwise."""
    axes = getattr(device, "axes", None)
    if axes is None or getattr(emulated, "brake", True) is not None:
        return emulated
    return emulated.model_copy(
        update={"brake": tuple(axes[motor].brake for motor in motors if motor in axes)}
    )


def _world(config: RigConfig, clock: Clock, seed: int) -> Any:
    """The simulated plant, where the rig has one."""
    if config.simulation is None:
        return None
    from heft.drivers.sim.robot import SimJoint, SimRobot
    from heft.drivers.sim.world import World, WorldOptions

    assert isinstance(config.simulation, WorldOptions)
    robot, given = config.robot, config.simulation.model
    if robot.model is None and given is None:
        raise ConfigError(
            f"{config.path}: simulation.model: missing, and the robot's file has no model; the simulated plant needs "
            "an MJCF file: name one that lies beside this file"
        )
    model = robot.model_file if given is None else config.path.parent / given
    if not model.is_file():
        raise ConfigError(f"{config.path}: simulation.model: no file {model}; correct the path")
    fields = {f.name for f in dataclasses.fields(SimJoint)}
    joints = tuple(SimJoint(name, **joint.model_dump(include=fields)) for name, joint in robot.joints.items())
    description = SimRobot(
        name=robot.name,
        model=model,
        joints=joints,
        gravity=robot.gravity,
        flange=robot.flange,
        sensor=robot.sensor,
        hand=robot.hand,
        locked=robot.locked,
        coupling=robot.motor_coupling,
        places={
            name: frame
            for name, device in config.devices.items()
            if KINDS[device.kind].simulated and (frame := config.place_of(name)) is not None
        },
        free=robot.base == "free",
    )
    try:
        return World(description, config.simulation, clock, seed)
    except OptionError as exc:
        raise ConfigError(f"{config.path}: {exc}") from exc
