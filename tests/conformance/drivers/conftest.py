"""A driver and its emulator on a bench, and what a process holds."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from heft.daq.clock import RealClock
from heft.drivers import registry
from heft.drivers.block import Block
from heft.drivers.clock import Clock
from heft.drivers.driver import Context, Driver
from heft.drivers.emulators.base.emulator import Emulator
from heft.drivers.plant.bench import Bench
from heft.drivers.registry import KINDS


def _cases() -> ModuleType:
    """`cases.py` beside this file; tests are no package."""
    spec = importlib.util.spec_from_file_location("driver_cases", Path(__file__).with_name("cases.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["driver_cases"] = module
    spec.loader.exec_module(module)
    return module


CASES: Mapping[str, Any] = _cases().CASES


@dataclass
class Stand:
    """A device on the bench: plant, emulator, and drivers for it as often as needed."""

    kind: str
    case: Any
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
        self.plant._faults.clear()

    async def sleep(self, seconds: float) -> None:
        await self.clock.sleep_until(self.clock.now_ns() + round(seconds * 1e9))


Make = Callable[..., Any]


@pytest.fixture(params=[name for name, kind in KINDS.items() if not kind.simulated])
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def case(kind: str) -> Any:
    return CASES[kind]


@pytest.fixture
def stand(kind: str, case: Any) -> Make:
    """Puts an emulator on the bench; options besides those of the case."""

    @asynccontextmanager
    async def make(**options: Any) -> AsyncIterator[Stand]:
        clock = RealClock()
        plant = Bench(clock, axes=case.axes, posture=np.array(case.posture), sway_hz=0.02)
        model = registry.emulator_options(kind)
        chosen = model.model_validate({**case.emulator, **options})
        async with registry.create_emulator(kind, "device", chosen, plant) as emulator:
            await asyncio.sleep(0.01)  # all its tasks have begun
            yield Stand(kind, case, clock, plant, emulator)

    return make


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


@pytest.fixture
def held() -> type[Held]:
    return Held


async def take(driver: Driver, samples: int) -> dict[str, list[Block]]:
    """Blocks by stream, until the first stream has so many samples; then the driver is stopped."""
    blocks: dict[str, list[Block]] = {stream.name: [] for stream in driver.streams}
    first = driver.streams[0].name
    async for block in driver:
        blocks[block.stream.name].append(block)
        if sum(map(len, blocks[first])) >= samples:
            await driver.stop()
    return blocks


@pytest.fixture(name="take")
def take_fixture() -> Callable[[Driver, int], Any]:
    return take
