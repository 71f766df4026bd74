"""Drivers and emulators on a bench."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from daq.clock import RealClock
from drivers import emulators, registry
from drivers.driver import Context
from drivers.emulators.bench import Bench


@pytest.fixture
def bench() -> Bench:
    return Bench(RealClock(), axes=("joint1", "joint2"), posture=np.array([0.3, -1.2]), sway_hz=0.02)


@pytest.fixture
def emulated(bench: Bench) -> Callable[..., Any]:
    """An emulator on the bench."""

    @asynccontextmanager
    async def make(kind: str, **options: Any) -> AsyncIterator[Any]:
        chosen = emulators.options_model(kind).model_validate(options)
        async with emulators.create(kind, "device", chosen, bench) as emulator:
            await asyncio.sleep(0.01)
            yield emulator

    return make


@pytest.fixture
def driver(bench: Bench) -> Callable[..., Any]:
    """A driver that speaks to an emulator (or to where its options say, without one)."""

    def make(kind: str, emulator: Any = None, **options: Any) -> Any:
        chosen = registry.options_model(kind).model_validate(options)
        made = registry.create(kind, "device", chosen, Context(bench.clock, axes=bench.axes))
        if emulator is not None:
            made.redirect(emulator.endpoint)
        return made

    return make
