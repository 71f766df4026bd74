"""The bus under a session's traffic: latency, throughput, and a subscriber that stalls.

Seven-joint blocks leave one process at 1 kHz and arrive in another. Run: `python benchmarks/bus.py [seconds]`.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import dataclass

import numpy as np

from heft.daq import topics
from heft.daq.bus import (
    ControlClient,
    ControlServer,
    Publisher,
    Request,
    Subscriber,
    private_endpoints,
    setpoint_codec,
)
from heft.drivers import Block, Column, Setpoints, Stream

COLUMNS = tuple(Column(f"joint{j}", q, "rad") for q in ("position", "velocity") for j in range(1, 8))
STREAM = Stream("arm.motion", COLUMNS, rate_hz=1000.0, tick_hz=1e6, tick_bits=32)
RATE_HZ = 1000


@dataclass(frozen=True)
class Measured:
    """What a subscriber in another process saw; latency [s] from `publish` to the Block in hand.

    `published` is how many blocks had left when the last one that arrived did.
    """

    published: int
    received: int
    lost: int
    p50_s: float
    p99_s: float


def make_block(sequence: int, samples: int) -> Block:
    """A block whose host time is now, so that its reader knows how long it took."""
    host_ns = np.full(samples, time.monotonic_ns(), np.int64)
    values = np.zeros((samples, STREAM.width))
    return Block(
        STREAM, sequence, host_ns, values, np.zeros((samples, STREAM.width), np.uint8), ticks=host_ns
    )


async def reader(endpoint: str, stall_s: float) -> None:
    """The other process: reads until the event `end`, having first stalled for a while, and reports."""
    ages, received, published = [], 0, 0
    async with Subscriber(endpoint) as subscriber:
        message = await subscriber.receive()
        sys.stdout.write("joined\n")
        sys.stdout.flush()
        if stall_s:
            time.sleep(stall_s)  # noqa: ASYNC251 - this is the stall
        while message.topic != topics.EVENT or message.json != "end":
            message = await subscriber.receive()
            if message.block is not None:
                received, published = received + 1, message.sequence + 1
                ages.append(time.monotonic_ns() - int(message.block.host_ns[-1]))
        lost = subscriber.gaps.get(topics.block(STREAM.name), 0)
    p50, p99 = np.percentile(ages or [0], [50, 99]) * 1e-9
    report = {"published": published, "received": received, "lost": lost, "p50_s": p50, "p99_s": p99}
    sys.stdout.write(json.dumps(report) + "\n")


async def measure(
    endpoint: str, *, blocks: int, samples: int, rate_hz: float | None, stall_s: float = 0.0
) -> Measured:
    """Publish `blocks` blocks to a reader in a process of its own."""
    async with Publisher(endpoint) as publisher:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            __file__,
            "--reader",
            str(publisher.endpoint),
            str(stall_s),
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        joined = asyncio.create_task(process.stdout.readline())
        while not joined.done():
            publisher.publish_json(topics.STATE, "join")
            await asyncio.sleep(0.01)
        start = time.monotonic()
        for index in range(blocks):
            if rate_hz is not None:
                await asyncio.sleep(max(0.0, start + index / rate_hz - time.monotonic()))
            publisher.publish(make_block(index * samples, samples))
        report = asyncio.create_task(process.stdout.readline())
        while not report.done():
            publisher.publish(make_block(blocks * samples, 1))  # shows a gap that the last blocks fell into
            publisher.publish_json(topics.EVENT, "end")
            await asyncio.sleep(0.01)
        await process.wait()
    return Measured(**json.loads(report.result()))


async def publish_cost(samples: int, count: int = 5000) -> float:
    """Seconds that one `publish` takes the session, with a subscriber connected."""
    with private_endpoints() as endpoints:
        async with Publisher(endpoints.telemetry) as publisher, Subscriber(endpoints.telemetry) as subscriber:
            first = asyncio.create_task(subscriber.receive())
            while not first.done():
                publisher.publish_json(topics.STATE, "join")
                await asyncio.sleep(0.001)
            block = make_block(0, samples)
            start = time.perf_counter()
            for _ in range(count):
                publisher.publish(block)
            return (time.perf_counter() - start) / count


async def control_round_trip(count: int = 2000) -> tuple[float, float]:
    """p50 and p99 [s] of a request with 100 setpoints of 7 joints, both ends in this process."""

    async def play(request: Request) -> None:
        setpoint_codec.decode(request.payload, request.buffers)

    zeros = np.zeros((100, 7))
    chunk = Setpoints(0, np.arange(100) * 1_000_000, zeros, zeros, zeros)
    times = []
    with private_endpoints() as endpoints:
        async with (
            ControlServer(endpoints.control, {"play": play}),
            ControlClient(endpoints.control) as client,
        ):
            for _ in range(count):
                start = time.perf_counter()
                await client.request("play", *setpoint_codec.encode(chunk))
                times.append(time.perf_counter() - start)
    p50, p99 = np.percentile(times, [50, 99])
    return float(p50), float(p99)


async def main(seconds: float) -> int:
    """Print what was measured; 1 if a subscriber lost what it should not, or did not know what it lost."""
    failed = False
    say = sys.stdout.write
    for transport in ("ipc", "tcp"):
        for samples in (1, 10):
            with private_endpoints(
                telemetry="tcp://127.0.0.1:*" if transport == "tcp" else None
            ) as endpoints:
                count = int(seconds * RATE_HZ)
                got = await measure(str(endpoints.telemetry), blocks=count, samples=samples, rate_hz=RATE_HZ)
            failed |= got.lost > 0
            say(
                f"{transport} 1 kHz, {samples:2d} samples a block: latency p50 {got.p50_s * 1e3:.3f} ms "
                f"p99 {got.p99_s * 1e3:.3f} ms, {got.received} received, lost {got.lost}\n"
            )
    for samples in (1, 10, 100):
        cost = await publish_cost(samples)
        say(f"publish, {samples:3d} samples a block: {cost * 1e6:.1f} us, {samples / cost:,.0f} samples/s\n")
    p50, p99 = await control_round_trip()
    say(f"control, 100 setpoints: round trip p50 {p50 * 1e3:.3f} ms p99 {p99 * 1e3:.3f} ms\n")
    with private_endpoints() as endpoints:
        got = await measure(
            str(endpoints.telemetry), blocks=20_000, samples=10, rate_hz=None, stall_s=seconds
        )
    knows = got.received + got.lost == got.published >= 20_000
    failed |= got.lost == 0 or not knows
    say(
        f"stalled subscriber: of {got.published} blocks {got.received} received, {got.lost} lost and counted "
        f"({'all accounted for' if knows else 'NOT ALL ACCOUNTED FOR'})\n"
    )
    return int(failed)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--reader"]:
        asyncio.run(reader(sys.argv[2], float(sys.argv[3])))
    else:
        sys.exit(asyncio.run(main(float(sys.argv[1]) if len(sys.argv) > 1 else 5.0)))
