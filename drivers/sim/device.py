"""What all simulated devices have in common: they sample by their own clock and send over a line.

A device takes sample k at (k + phase) periods of its own clock, and its frames arrive later, in order, a little
jittered. The driver cuts blocks by sample count and yields a block when its last sample would have arrived, so equal
runs yield equal blocks. A lost sample splits its block in two.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from heft.drivers.block import Block, Validity
from heft.drivers.driver import Context, Driver, Identity
from heft.drivers.errors import DeviceLost, OptionError
from heft.drivers.options import NonNegative, Options, Positive, RateHz
from heft.drivers.plant.faults import Fault
from heft.drivers.plant.plant import DeviceTruth
from heft.drivers.plant.sensor import Sensor
from heft.drivers.plant.ticker import Ticker
from heft.drivers.sim.frame_faults import FrameFaults
from heft.drivers.sim.sim_line import Arrivals, SimLine
from heft.drivers.sim.world import World
from heft.drivers.stream import Stream

__all__ = ["DeviceOptions", "SimDevice"]


class DeviceOptions(Options):
    """Of every simulated device. Sizes are given; values are drawn by the world's seed and are in its truth file."""

    rate_hz: RateHz = 1000.0
    #: Samples per block; left out: 10 ms worth.
    block: Annotated[int, Field(gt=0)] | None = None
    #: Bound of the device's clock drift [ppm]: crystals are that good.
    clock_drift_ppm: NonNegative = 50.0
    tick_hz: Positive = 1e6
    tick_bits: Annotated[int, Field(ge=8, le=52)] = 32
    #: Shortest time from a sample to its arrival [s]; part of the total delay, for the host cannot tell it apart.
    latency_s: NonNegative = 0.0
    #: Mean of the exponentially distributed time that comes on top [s].
    jitter_s: NonNegative = 0.0002
    #: A device that has been silent for this long is lost [s].
    timeout_s: Positive = 0.25


@dataclass(frozen=True, slots=True, eq=False)
class _Channel:
    """One stream of a device and the sensor behind it."""

    stream: Stream
    sensor: Sensor | None
    delay_s: float
    rng: np.random.Generator

    def read(
        self, truth: NDArray[np.float64], t: NDArray[np.float64]
    ) -> tuple[NDArray[np.generic], NDArray[np.uint8]]:
        """The device's numbers and their validity, shape (N, k) each."""
        if self.sensor is None:
            return truth, np.zeros(truth.shape, dtype=np.uint8)
        counts, saturated = self.sensor.read(truth, t, self.rng)
        return counts.astype(self.stream.dtype), saturated * np.uint8(Validity.SATURATED)


class SimDevice(Driver):
    """Base of the simulated drivers; each one adds its streams and how to measure them."""

    Options: ClassVar[type[DeviceOptions]] = DeviceOptions
    MODEL: ClassVar[str]
    RANDOM_PHASE: ClassVar[bool] = True  # False: samples coincide with the world's ticks

    def __init__(self, name: str, options: DeviceOptions, context: Context) -> None:
        super().__init__(name, context)
        if not isinstance(context.world, World):
            raise OptionError(
                f"{name}: a simulated device needs a simulated plant; add `simulation` to the rig's file"
            )
        self.world: World = context.world
        self.options = options
        self.ticker = Ticker.draw(
            self._rng("clock"), options.clock_drift_ppm, options.tick_hz, options.tick_bits
        )
        self._period = self.ticker.period(options.rate_hz)
        self._phase = float(self._rng("phase").random()) if self.RANDOM_PHASE else 0.0
        self._line = SimLine(options.latency_s, options.jitter_s, self._rng)
        self._spoiler = FrameFaults(self._rng("corruption"))
        self._block = options.block or max(1, round(0.01 * options.rate_hz))
        self._stopped = False
        self._channels: dict[str, _Channel] = {}

    def _add_sensor(self, stream: Stream, sensor: Sensor | None, delay_s: float) -> None:
        """A stream, the sensor behind it (None: exact numbers), and its delay besides the line's latency [s]."""
        self._channels[stream.name] = _Channel(stream, sensor, delay_s, self._rng(f"{stream.name} noise"))

    @property
    def streams(self) -> tuple[Stream, ...]:
        return tuple(channel.stream for channel in self._channels.values())

    @property
    def identity(self) -> Identity:
        return Identity(
            vendor="Heft", model=self.MODEL, serial=f"{self.name}-{self.world.seed}", firmware="simulated"
        )

    async def __aenter__(self) -> Self:
        self._stopped = False
        latency_s = self.options.latency_s
        self.world.declare(
            self.name,
            DeviceTruth(
                clock=self.ticker.truth(),
                delays={name: channel.delay_s + latency_s for name, channel in self._channels.items()},
                sensors={
                    name: c.sensor.truth() for name, c in self._channels.items() if c.sensor is not None
                },
            ),
        )
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._stopped = True

    async def stop(self) -> None:
        self._stopped = True

    async def __aiter__(self) -> AsyncIterator[Block]:
        world, n = self.world, self._block
        with self.clock.participant(self.name):
            origin = math.ceil(world.seconds(self.clock.now_ns()) / self._period - self._phase - 1e-6)
            heard = world.seconds(self.clock.now_ns())
            first = 0
            while not self._stopped:
                number = np.arange(origin + first, origin + first + n, dtype=np.float64)
                t = (number + self._phase) * self._period
                faults = world.faults(self.name)
                arrivals = self._line.carry(t, faults)
                await self.clock.sleep_until(world.nanoseconds(float(arrivals.t[-1])))
                if self._stopped:
                    return
                self._alive()
                world.advance(world.nanoseconds(float(t[-1])))
                for block in self._blocks(first, t, arrivals, faults):
                    yield block
                first += n
                heard = float(arrivals.t[arrivals.kept][-1]) if arrivals.kept.any() else heard
                if arrivals.t[-1] - heard > self.options.timeout_s:
                    silence = f"silent for {arrivals.t[-1] - heard:.3f} s, bound {self.options.timeout_s:g} s"
                    raise DeviceLost(self.name, f"{silence}; check its cable and power")
                self._check()

    # -- what the devices add -----------------------------------------------------------------------------------------

    @abstractmethod
    def _measure(self, t: NDArray[np.float64]) -> Sequence[NDArray[np.float64]]:
        """What is true at samples taken at t [s]: for each stream SI values, shape (N, k)."""

    def _alive(self) -> None:
        """The host is about to read."""

    def _check(self) -> None:
        """Raise if the device has said that it is in trouble."""

    def _rng(self, purpose: str) -> np.random.Generator:
        return self.world.rng(self.name, purpose)

    # -- from samples to blocks ---------------------------------------------------------------------------------------

    def _blocks(
        self, first: int, t: NDArray[np.float64], arrivals: Arrivals, faults: Sequence[Fault]
    ) -> list[Block]:
        """The samples that arrived, `first` being the number of the first that was taken."""
        kept = arrivals.kept
        damage = self._spoiler.inspect(t, self.ticker.ticks(t), faults)
        host_ns = self.world.start_ns + np.ceil(arrivals.t * 1e9).astype(np.int64)
        received = int(np.count_nonzero(kept))
        self.counters.received += received
        self.counters.lost += len(t) - received
        self.counters.duplicate += arrivals.duplicates
        self.counters.corrupt += int(np.count_nonzero(kept & damage.corrupt))
        runs = _runs(kept)
        blocks = []
        for channel, truth in zip(self._channels.values(), self._measure(t), strict=True):
            values, validity = channel.read(truth, t)
            if faults:
                full_scale = None if channel.sensor is None else channel.sensor.full_scale
                self._spoiler.spoil(values, validity, damage, full_scale)
            blocks += [
                Block(
                    channel.stream, first + r.start, host_ns[r], values[r], validity[r], ticks=damage.ticks[r]
                )
                for r in runs
            ]
        return blocks


def _runs(kept: NDArray[np.bool_]) -> list[slice]:
    """Slices of consecutive samples that arrived."""
    if kept.all():
        return [slice(0, len(kept))]
    edges = np.flatnonzero(np.diff(np.concatenate([[False], kept, [False]]).astype(np.int8)))
    return [slice(int(a), int(b)) for a, b in edges.reshape(-1, 2)]
