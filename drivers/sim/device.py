"""What all simulated devices have in common: they sample by their own clock and send over a line.

A device takes sample k at (k + phase) periods of its own clock, and its frames arrive later, in order, a little
jittered. The driver cuts blocks by sample count and yields a block when its last sample would have arrived, so equal
runs yield equal blocks. A lost sample splits its block in two.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from drivers.block import Block, Validity
from drivers.driver import Context, Driver, Identity
from drivers.errors import DeviceLost, OptionError
from drivers.sim.faults import Corrupt, Fault, Saturate, Stuck
from drivers.sim.line import Line
from drivers.sim.ticker import Ticker
from drivers.sim.truth import DeviceTruth
from drivers.sim.world import World
from drivers.stream import Stream

__all__ = ["DeviceOptions", "Reading", "SimDevice"]

NonNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Reading = tuple[NDArray[np.generic], NDArray[np.bool_] | None]


class DeviceOptions(BaseModel):
    """Of every simulated device. Sizes are given, values are drawn by the world's seed and told by its truth."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rate_hz: Positive = 1000.0
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
        self._line = Line(options.latency_s, options.jitter_s, self._rng)
        self._flips = self._rng("corruption")
        self._block = options.block or max(1, round(0.01 * options.rate_hz))
        self._streaming = False
        self._stuck_ticks: int | None = None

    @property
    def identity(self) -> Identity:
        return Identity(
            vendor="Heft", model=self.MODEL, serial=f"{self.name}-{self.world.seed}", firmware="simulated"
        )

    async def __aenter__(self) -> Self:
        self.world.declare(self.name, self._truth())
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._streaming = False

    async def stop(self) -> None:
        self._streaming = False

    async def __aiter__(self) -> AsyncIterator[Block]:
        world, n = self.world, self._block
        self._streaming = True
        with self.clock.participant(self.name):
            origin = math.ceil(world.seconds(self.clock.now_ns()) / self._period - self._phase - 1e-6)
            heard = world.seconds(self.clock.now_ns())
            first = 0
            while self._streaming:
                number = np.arange(origin + first, origin + first + n, dtype=np.float64)
                t = (number + self._phase) * self._period
                faults = world.faults(self.name)
                arrivals = self._line.carry(t, faults)
                await self.clock.sleep_until(world.nanoseconds(float(arrivals.t[-1])))
                if not self._streaming:
                    return
                self._alive()
                world.advance(world.nanoseconds(float(t[-1])))
                self.counters.duplicate += arrivals.duplicates
                for block in self._blocks(first, t, arrivals.t, arrivals.kept, faults):
                    yield block
                first += n
                heard = float(arrivals.t[arrivals.kept][-1]) if arrivals.kept.any() else heard
                if arrivals.t[-1] - heard > self.options.timeout_s:
                    silence = f"silent for {arrivals.t[-1] - heard:.3f} s, bound {self.options.timeout_s:g} s"
                    raise DeviceLost(self.name, f"{silence}; check its cable and power")
                self._check()

    # -- what the devices add -----------------------------------------------------------------------------------------

    @abstractmethod
    def _measure(self, t: NDArray[np.float64]) -> Sequence[Reading]:
        """Per stream the device's numbers for samples at t [s], and where they are at full scale; shape (N, k)."""

    @abstractmethod
    def _truth(self) -> DeviceTruth:
        """What is true of this device."""

    def _full_scale(self, stream: Stream) -> NDArray[np.generic]:
        """Numbers that a saturated sample shows, shape (k,)."""
        return np.full(stream.width, np.iinfo(np.dtype(stream.dtype)).max, dtype=stream.dtype)

    def _alive(self) -> None:
        """The host is about to read."""

    def _check(self) -> None:
        """Raise if the device has said that it is in trouble."""

    def _rng(self, purpose: str) -> np.random.Generator:
        return self.world.rng(self.name, purpose)

    # -- from samples to blocks ---------------------------------------------------------------------------------------

    def _blocks(
        self,
        first: int,
        t: NDArray[np.float64],
        arrival: NDArray[np.float64],
        kept: NDArray[np.bool_],
        faults: Sequence[Fault],
    ) -> list[Block]:
        ticks, stale = self._stuck(self.ticker.ticks(t), t, faults)
        corrupt = self._corrupt(t, faults)
        host_ns = self.world.start_ns + np.ceil(arrival * 1e9).astype(np.int64)
        runs = _runs(kept)
        self.counters.lost += len(t) - int(np.count_nonzero(kept))
        self.counters.received += int(np.count_nonzero(kept))
        self.counters.corrupt += int(np.count_nonzero(kept & corrupt))
        blocks = []
        for stream, (values, saturated) in zip(self.streams, self._measure(t), strict=True):
            validity = np.zeros(values.shape, dtype=np.uint8)
            if saturated is not None:
                validity[saturated] = Validity.SATURATED
            if faults:
                values, validity = self._spoil(stream, values, validity, t, faults, stale, corrupt)
            for run in runs:
                blocks.append(
                    Block(
                        stream, first + run.start, host_ns[run], values[run], validity[run], ticks=ticks[run]
                    )
                )
        return blocks

    def _stuck(
        self, ticks: NDArray[np.int64], t: NDArray[np.float64], faults: Sequence[Fault]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        stale = np.zeros(len(t), dtype=np.bool_)
        for fault in faults:
            if isinstance(fault, Stuck):
                stale |= fault.active(t)
        if not stale.any():
            self._stuck_ticks = None
            return ticks, stale
        if self._stuck_ticks is None:
            self._stuck_ticks = int(ticks[np.argmax(stale)])
        return np.where(stale, self._stuck_ticks, ticks), stale

    def _corrupt(self, t: NDArray[np.float64], faults: Sequence[Fault]) -> NDArray[np.bool_]:
        corrupt = np.zeros(len(t), dtype=np.bool_)
        for fault in faults:
            if isinstance(fault, Corrupt):
                corrupt |= fault.active(t) & (self._flips.random(len(t)) < fault.rate)
        return corrupt

    def _spoil(
        self,
        stream: Stream,
        values: NDArray[Any],
        validity: NDArray[np.uint8],
        t: NDArray[np.float64],
        faults: Sequence[Fault],
        stale: NDArray[np.bool_],
        corrupt: NDArray[np.bool_],
    ) -> tuple[NDArray[np.generic], NDArray[np.uint8]]:
        """Faults that change values, or what may be believed of them."""
        integer = np.issubdtype(values.dtype, np.integer)
        for fault in faults:
            if isinstance(fault, Saturate) and integer:
                columns = slice(None) if fault.column is None else slice(fault.column, fault.column + 1)
                active = fault.active(t)
                values[active, columns] = self._full_scale(stream)[columns]
                validity[active, columns] = Validity.SATURATED
        for row in np.flatnonzero(corrupt):
            if integer:
                column, bit = (
                    self._flips.integers(values.shape[1]),
                    self._flips.integers(8 * values.itemsize - 1),
                )
                values[row, column] ^= values.dtype.type(1 << int(bit))
            validity[row] = Validity.CORRUPT
        validity[stale] = Validity.STALE
        return values, validity


def _runs(kept: NDArray[np.bool_]) -> list[slice]:
    """Slices of consecutive samples that arrived."""
    if kept.all():
        return [slice(0, len(kept))]
    edges = np.flatnonzero(np.diff(np.concatenate([[False], kept, [False]]).astype(np.int8)))
    return [slice(int(a), int(b)) for a, b in edges.reshape(-1, 2)]
