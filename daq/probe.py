"""What every device of a rig says when it is asked once: who it is, how fast, by which clock, and one value."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass

from daq.rig import Rig
from drivers.block import Block
from drivers.driver import Counters, Driver, Identity
from drivers.errors import DriverError
from drivers.stream import Role, Stream

__all__ = ["Finding", "Listening", "probe"]


@dataclass(slots=True)
class Listening:
    """What has been heard of one stream: samples, over which time [ns, host clock], and the last block."""

    stream: Stream
    samples: int = 0
    first_ns: int = 0
    last_ns: int = 0
    last: Block | None = None

    def hear(self, block: Block) -> None:
        """One more block."""
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
        """Which clock tells the time of a sample."""
        stream = self.stream
        if stream.tick_hz is not None:
            return f"its own, {stream.tick_hz:g} Hz, {stream.tick_bits} bit"
        return "host, at the request" if stream.at_request else "host, at arrival"


@dataclass(frozen=True, slots=True)
class Finding:
    """One device: who answered, its streams, and what its line was like."""

    device: str
    identity: Identity
    streams: tuple[Listening, ...]
    counters: Counters


async def probe(rig: Rig, seconds: float) -> list[Finding]:
    """Listen to every device of a connected rig at once, for so long [s]; nothing moves.

    Raises ConnectError with a line for every device where one of them fails meanwhile.
    """
    failures: dict[str, Exception] = {}

    async def ask(driver: Driver) -> Finding | None:
        try:
            return await _listen(driver, seconds)
        except DriverError as exc:
            failures[driver.name] = exc
            return None

    findings = await asyncio.gather(*(ask(driver) for driver in rig))
    if failures:
        raise rig.failure(failures, "failed while they were read", "read")
    return [finding for finding in findings if finding is not None]


async def _listen(driver: Driver, seconds: float) -> Finding:
    measured = [stream for stream in driver.streams if stream.role is Role.MEASURED]
    heard = {stream.name: Listening(stream) for stream in measured}
    end_ns = driver.clock.now_ns() + round(seconds * 1e9)
    async with aclosing(driver.__aiter__()) as blocks:  # type: ignore[type-var]
        async for block in blocks:
            if block.stream.name in heard:
                heard[block.stream.name].hear(block)
            if driver.clock.now_ns() >= end_ns:
                await driver.stop()
    return Finding(driver.name, driver.identity, tuple(heard.values()), driver.counters)
