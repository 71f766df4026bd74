"""A driver and its emulator on a bench, and what a process holds."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from heft.daq.clock import RealClock
from heft.drivers import registry
from heft.drivers.block import Block
from heft.drivers.clock import Clock
from heft.drivers.driver import Context, Driver
from heft.drivers.emulators.base.emulator import Emulator
from heft.drivers.plant.bench import Bench
from heft.testing.case import Case

__all__ = ["Held", "Stand", "stand", "take"]


@dataclass
class Stand:
    """A device on the bench: plant, emulator, and drivers for it as often as needed."""

    kind: str
    case: Case
    clock: Clock
    plant: Bench
    emulator: Emulator[Any, Any]

    def driver(self, **options: Any) -> Driver:
        """A driver that speaks to the emulator; options besides those of the case."""
        driver = self.elsewhere(**options)
        driver.redirect(self.emulator.endpoint)
        return driver

    def elsewhere(self, **options: Any) -> Driver:
        """A driver that speaks to where its options say."""
        model = registry.driver_options(self.kind)
        chosen = model.model_validate({**self.case.driver, **options})
        context = Context(self.clock, axes=self.case.axes)
        return registry.create_driver(self.kind, "device", chosen, context)

    def inject(self, kind: type[Any], **facts: Any) -> None:
        """A fault of the device, from now on."""
        self.plant.inject(kind(device="device", at_s=self.plant.now(), **facts))

    def heal(self) -> None:
        """All faults are over."""
        self.plant.heal()

    async def sleep(self, seconds: float) -> None:
        await self.clock.sleep_until(self.clock.now_ns() + round(seconds * 1e9))


@asynccontextmanager
async def stand(kind: str, case: Case, **options: Any) -> AsyncIterator[Stand]:
    """Put an emulator on the bench; options besides those of the case."""
    clock = RealClock()
    plant = Bench(clock, axes=case.axes, posture=np.array(case.posture), sway_hz=0.02)
    model = registry.emulator_options(kind)
    chosen = model.model_validate({**case.emulator, **options})
    async with registry.create_emulator(kind, "device", chosen, plant) as emulator:
        await asyncio.sleep(0.01)  # all its tasks have begun
        yield Stand(kind, case, clock, plant, emulator)


@dataclass(frozen=True)
class Held:
    """What a process holds: open files and tasks."""

    files: frozenset[str]
    tasks: frozenset[asyncio.Task[Any]]

    @classmethod
    def now(cls) -> Held:
        files = set()
        for fd in os.listdir("/proc/self/fd"):
            try:
                files.add(f"{fd} {os.readlink(f'/proc/self/fd/{fd}')}")
            except OSError:  # the one that listed the folder
                continue
        return cls(frozenset(files), frozenset(asyncio.all_tasks()))

    @classmethod
    async def settles_to(cls, before: Held, when: str = "") -> None:
        """The process holds what it held before; an emulator may need a moment to hang up."""
        for _ in range(50):
            if (after := cls.now()) == before:
                return
            await asyncio.sleep(0.01)
        assert after.files == before.files, when
        assert after.tasks == before.tasks, when


async def take(driver: Driver, samples: int) -> dict[str, list[Block]]:
    """Blocks by stream, until the first stream has so many samples; then the driver is stopped."""
    blocks: dict[str, list[Block]] = {stream.name: [] for stream in driver.streams}
    first = driver.streams[0].name
    async for block in driver:
        blocks[block.stream.name].append(block)
        if sum(map(len, blocks[first])) >= samples:
            await driver.stop()
    return blocks
