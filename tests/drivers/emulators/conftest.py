"""Emulators on a bench, and the host's end of their wires."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import serial

from heft.daq.clock import RealClock
from heft.drivers import registry
from heft.drivers.plant.bench import Bench

QUIET = dict.fromkeys(
    ("force_noise", "torque_noise", "force_bias", "torque_bias", "force_bias_drift", "torque_bias_drift"), 0.0
)


@pytest.fixture
def quiet() -> dict[str, float]:
    """Options of a wrench sensor without errors."""
    return dict(QUIET)


@pytest.fixture
def bench() -> Bench:
    return Bench(RealClock(), sway_hz=0.02)


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


class SerialHost:
    """The host's end of an emulated serial line: pyserial, read and written without blocking."""

    def __init__(self, path: str, baud: int) -> None:
        self._port = serial.Serial(path, baud, timeout=0, write_timeout=0)

    def close(self) -> None:
        self._port.close()

    def write(self, data: bytes) -> None:
        self._port.write(data)

    async def read(self, n: int, timeout_s: float = 1.0) -> bytes:
        """At least n bytes, fewer if no more come."""
        data, loop = b"", asyncio.get_running_loop()
        end = loop.time() + timeout_s
        while len(data) < n and loop.time() < end:
            data += self._port.read(65536)
            await asyncio.sleep(0.002)
        return data


@pytest.fixture
def host() -> Iterator[Callable[[Any, int], SerialHost]]:
    """Opens the emulator's port at a baud rate."""
    opened: list[SerialHost] = []

    def open_(emulator: Any, baud: int) -> SerialHost:
        opened.append(SerialHost(emulator.endpoint["pty"], baud))
        return opened[-1]

    yield open_
    for end in opened:
        end.close()
