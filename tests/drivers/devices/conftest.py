"""Drivers and emulators on a bench."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from heft.daq.clock import RealClock
from heft.drivers import registry
from heft.drivers.driver import Context
from heft.drivers.plant.bench import Bench


@pytest.fixture
def bench(steady_clock: Callable[[], RealClock]) -> Bench:
    return Bench(steady_clock(), axes=("joint1", "joint2"), posture=np.array([0.3, -1.2]), sway_hz=0.02)


@pytest.fixture
def emulated(bench: Bench) -> Callable[..., Any]:
    """An emulator on the bench."""

    @asynccontextmanager
    async def make(kind: str, **options: Any) -> AsyncIterator[Any]:
        chosen = registry.emulator_options(kind).model_validate(options)
        async with registry.create_emulator(kind, "device", chosen, bench) as emulator:
            await asyncio.sleep(0.01)
            yield emulator

    return make


@pytest.fixture
def driver(bench: Bench) -> Callable[..., Any]:
    """A driver that speaks to an emulator (or to where its options say, without one)."""

    def make(kind: str, emulator: Any = None, **options: Any) -> Any:
        chosen = registry.driver_options(kind).model_validate(options)
        made = registry.create_driver(kind, "device", chosen, Context(bench.clock, axes=bench.axes))
        if emulator is not None:
            made.redirect(emulator.endpoint)
        return made

    return make
