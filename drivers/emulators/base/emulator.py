"""Base of every emulator: a device model, its wire, and faults on command.

A new one says what its options are, makes its wire, and serves:

    class Thermometer(Emulator):
        Options = ThermometerOptions

        def _make_wire(self) -> SerialWire:
            return SerialWire(self.name, self.plant, self.options.baud)

        async def serve(self) -> None:
            async for samples in self.sampling(self.options.rate_hz).due():
                for t in samples.t:
                    await self.wire.send(frame(self.plant.temperature(t), self.ticker.ticks(t)))

`serve` runs as one named task (add more in a TaskGroup) from entering to leaving `async with`; when the cable is pulled
(`wire.unplug()`), it ends. Wire faults happen to whatever goes through `wire.send`; what belongs into the device model
asks `self.active(Stuck)`, `self.status`.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar

from pydantic import Field

from heft.drivers.emulators.base.sampling import Sampling
from heft.drivers.emulators.wires.wire import Wire
from heft.drivers.emulators.wires.wire_faults import Status, active
from heft.drivers.errors import DeviceLost
from heft.drivers.options import Options
from heft.drivers.plant.faults import Fault
from heft.drivers.plant.plant import DeviceTruth, Plant
from heft.drivers.plant.sensor import Sensor
from heft.drivers.plant.ticker import Ticker

__all__ = ["Emulator", "EmulatorOptions"]

_log = logging.getLogger("heft.emulators")

O = TypeVar("O", bound="EmulatorOptions")  # noqa: E741 - options
W = TypeVar("W", bound=Wire[Any, Any])
F = TypeVar("F", bound=Fault)


class EmulatorOptions(Options):
    """Of every emulated device. Sizes are given, values are drawn by the plant's seed."""

    #: Bound of the device's clock drift [ppm]: crystals are that good.
    clock_drift_ppm: Annotated[float, Field(ge=0)] = 50.0
    #: Where the device's counter stands at the start, to see it wrap; left out: anywhere.
    counter: Annotated[int, Field(ge=0)] | None = None
    #: Samples that fall due within so long [s] are worked out and sent together: less work on a busy host.
    batch_s: Annotated[float, Field(ge=0, le=0.02)] = 0.0


class Emulator(ABC, Generic[O, W]):
    """One emulated device. `async with` puts it on its wire and takes it off.

    TICK_HZ, TICK_BITS   the device's own counter, also where it is not sent
    """

    Options: ClassVar[type[EmulatorOptions]]
    TICK_HZ: ClassVar[float] = 1e6
    TICK_BITS: ClassVar[int] = 32

    def __init__(self, name: str, options: O, plant: Plant) -> None:
        self.name = name
        self.options = options
        self.plant = plant
        self.clock = plant.clock
        self.ticker = self._make_ticker()
        self.wire = self._make_wire()
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    def _make_wire(self) -> W:
        """The line to be on."""

    @abstractmethod
    async def serve(self) -> None:
        """Be the device, for ever."""

    @property
    def endpoint(self) -> Mapping[str, str | int]:
        """How to reach it, as plain JSON values; valid inside `async with`."""
        return self.wire.endpoint

    async def __aenter__(self) -> Self:
        await self.wire.__aenter__()
        self._task = asyncio.create_task(self._run(), name=f"emulator {self.name}")
        return self

    async def __aexit__(self, *exc: object) -> None:
        try:
            if self._task is not None:
                self._task.cancel()
                await asyncio.gather(self._task, return_exceptions=True)
                self._task = None
        finally:
            await self.wire.__aexit__()

    async def _run(self) -> None:
        try:
            await self.serve()
        except* DeviceLost:
            pass  # unplugged
        except* Exception as group:
            _log.error("emulator %s failed", self.name, exc_info=group)
            raise

    # -- what device models use ---------------------------------------------------------------------------------------

    def active(self, kind: type[F]) -> list[F]:
        """Faults of one kind that act on this device now."""
        faults = self.plant.faults(self.name)
        return active(faults, kind, self.plant.seconds(self.clock.now_ns())) if faults else []

    @property
    def status(self) -> int:
        """Bits that faults set in the device's status or error word."""
        bits = 0
        for fault in self.active(Status):
            bits |= fault.bits
        return bits

    def sampling(self, rate_hz: float) -> Sampling:
        """Samples by the device's own clock, at a phase of its own."""
        phase = float(self.plant.rng(self.name, "phase").random())
        return Sampling(self.plant, self.ticker, rate_hz, phase, self.options.batch_s)

    def declare(self, sensors: Mapping[str, Sensor], delays: Mapping[str, float]) -> None:
        """Tell the plant's truth file about this device, by what its driver's streams are called after the dot."""
        self.plant.declare(
            self.name,
            DeviceTruth(
                clock=self.ticker.truth(),
                delays={f"{self.name}.{what}": delay_s for what, delay_s in delays.items()},
                sensors={f"{self.name}.{what}": sensor.truth() for what, sensor in sensors.items()},
            ),
        )

    def _make_ticker(self) -> Ticker:
        drawn = Ticker.draw(
            self.plant.rng(self.name, "clock"), self.options.clock_drift_ppm, self.TICK_HZ, self.TICK_BITS
        )
        counter = self.options.counter
        if counter is None:
            return drawn
        return Ticker(counter / self.TICK_HZ, drawn.drift, self.TICK_HZ, self.TICK_BITS)
