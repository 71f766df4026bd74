"""A rig at work: drivers made from their configuration, connected in parallel, released in order."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Self

from daq.config.rig import RigConfig
from drivers import registry
from drivers.clock import Clock
from drivers.driver import Actuator, Context, Driver, Gripper
from drivers.errors import ConnectError

__all__ = ["Rig"]


class Rig:
    """All devices of one rig. `async with rig` connects to every one of them, or says of each why not."""

    def __init__(self, config: RigConfig, clock: Clock, seed: int = 0) -> None:
        self.config = config
        self.world = _world(config, clock, seed)
        context = Context(clock=clock, axes=config.robot.axes, world=self.world)
        self.drivers: dict[str, Driver] = {
            name: registry.create(device.kind, name, device.options, context) for name, device in config.devices.items()
        }
        self._connected: list[Driver] = []

    def __iter__(self) -> Iterator[Driver]:
        return iter(self.drivers.values())

    @property
    def actuators(self) -> tuple[Actuator, ...]:
        return tuple(d for d in self if isinstance(d, Actuator))

    @property
    def grippers(self) -> tuple[Gripper, ...]:
        return tuple(d for d in self if isinstance(d, Gripper))

    async def __aenter__(self) -> Self:
        drivers = list(self)
        results = await asyncio.gather(*(d.__aenter__() for d in drivers), return_exceptions=True)
        self._connected = [d for d, r in zip(drivers, results, strict=True) if not isinstance(r, BaseException)]
        failures = {d.name: r for d, r in zip(drivers, results, strict=True) if isinstance(r, BaseException)}
        if failures:
            await self.__aexit__(None, None, None)
            for failure in failures.values():
                if not isinstance(failure, Exception):
                    raise failure
            tree = "".join(
                f"\n  {d.name}: {failures[d.name] if d.name in failures else 'connected'}" for d in drivers
            )
            raise ConnectError(self.config.name, f"{len(failures)} of {len(drivers)} devices did not connect:{tree}")
        return self

    async def __aexit__(self, *exc: object) -> None:
        for driver in reversed(self._connected):
            await driver.__aexit__(None, None, None)
        self._connected = []


def _world(config: RigConfig, clock: Clock, seed: int) -> Any:
    """The simulated plant, where the rig has one."""
    if config.simulation is None:
        return None
    from drivers.sim.robot import SimRobot
    from drivers.sim.world import World

    robot = config.robot
    raise NotImplementedError(SimRobot, World, robot, clock, seed)
