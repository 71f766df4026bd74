"""Probing: identity, rate, clock and one value of every device of a rig, without moving anything."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass

from heft.daq.rig import Rig
from heft.drivers.block import Block
from heft.drivers.driver import Counters, Driver, Identity
from heft.drivers.errors import DriverError
from heft.drivers.stream import Role, Stream

__all__ = ["DeviceProbe", "StreamProbe", "probe"]


@dataclass(slots=True)
class StreamProbe:
    """What was received of one stream: number of samples, first and last receive time [ns, host clock], last block."""

    stream: Stream
    samples: int = 0
    first_ns: int = 0
    last_ns: int = 0
    last: Block | None = None

    def add(self, block: Block) -> None:
        """Count one more block."""
        if not self.samples:
            self.first_ns = int(block.host_ns[0])
        self.samples += len(block)
        self.last_ns = int(block.host_ns[-1])
        self.last = block

    @property
    def rate_hz(self) -> float:
        """Samples per second as received; 0: too few."""
        span_s = (self.last_ns - self.first_ns) * 1e-9
        return (self.samples - 1) / span_s if span_s > 0 else 0.0

    @property
    def clock(self) -> str:
        """Which clock stamps a sample, in words."""
        stream = self.stream
        if stream.tick_hz is not None:
            return f"its own, {stream.tick_hz:g} Hz, {stream.tick_bits} bit"
        return "host, at the request" if stream.at_request else "host, at arrival"


@dataclass(frozen=True, slots=True)
class DeviceProbe:
    """One device: identity, streams, and the counters of its line."""

    device: str
    identity: Identity
    streams: tuple[StreamProbe, ...]
    counters: Counters


async def probe(rig: Rig, seconds: float) -> list[DeviceProbe]:
    """Read every device of a connected rig at the same time, for `seconds`; nothing moves.

    Raises ConnectError with a line for every device where one of them fails meanwhile.
    """
    failures: dict[str, Exception] = {}

    async def ask(driver: Driver) -> DeviceProbe | None:
        try:
            return await _listen(driver, seconds)
        except DriverError as exc:
            failures[driver.name] = exc
            return None

    probes = await asyncio.gather(*(ask(driver) for driver in rig))
    if failures:
        raise rig.failure(failures, "failed while they were read", "read")
    return [device for device in probes if device is not None]


async def _listen(driver: Driver, seconds: float) -> DeviceProbe:
    measured = [stream for stream in driver.streams if stream.role is Role.MEASURED]
    probes = {stream.name: StreamProbe(stream) for stream in measured}
    end_ns = driver.clock.now_ns() + round(seconds * 1e9)
    async with aclosing(driver.__aiter__()) as blocks:  # type: ignore[type-var]
        async for block in blocks:
            if block.stream.name in probes:
                probes[block.stream.name].add(block)
            if driver.clock.now_ns() >= end_ns:
                await driver.stop()
    return DeviceProbe(driver.name, driver.identity, tuple(probes.values()), driver.counters)
