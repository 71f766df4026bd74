"""The recorder and the reader by themselves, as ratios to what a session asks of them.

Seven joints (position, velocity, current) and a force/torque sensor at 1 kHz, in the simulated rig's blocks of 10 ms,
go through the recorder as fast as it takes them, and are read back. Run: `python benchmarks/recording.py [seconds]`.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from heft.daq.clock import SimulatedClock
from heft.daq.record import Recorder
from heft.daq.recording import Recording
from heft.drivers import Block, Column, Stream

RATE_HZ = 1000
BLOCK = 10
#: What is asked for: recording at 50 times real time, reading 500 000 samples per second.
RECORD_GOAL = 50.0
READ_GOAL = 500_000.0

JOINTS = tuple(f"joint{i}" for i in range(1, 8))
STREAMS = (
    Stream(
        "arm.motion",
        tuple(Column(j, "position", "rad", 1.2e-5, raw_unit="count") for j in JOINTS)
        + tuple(Column(j, "velocity", "rad/s", 1e-4, raw_unit="count") for j in JOINTS),
        RATE_HZ,
        "<i4",
        tick_hz=1e6,
        tick_bits=32,
    ),
    Stream(
        "arm.current",
        tuple(Column(j, "current", "A", 1e-3, raw_unit="mA") for j in JOINTS),
        RATE_HZ,
        "<i4",
        tick_hz=1e6,
        tick_bits=32,
    ),
    Stream(
        "wrist.wrench",
        tuple(Column(a, q, u, 1e-3) for q, u in (("force", "N"), ("torque", "N m")) for a in "xyz"),
        RATE_HZ,
        "<i4",
        tick_hz=1e6,
        tick_bits=32,
        frame="wrist",
    ),
)


@dataclass(frozen=True)
class Recorded:
    """`seconds` of session took `wall_s`, of them `cpu_s` on a processor; the file has `size` bytes."""

    seconds: float
    wall_s: float
    cpu_s: float
    size: int

    @property
    def speed(self) -> float:
        """Times real time."""
        return self.seconds / self.wall_s


@dataclass(frozen=True)
class Read:
    """All streams as columns: `samples` rows in `wall_s`."""

    samples: int
    wall_s: float

    @property
    def rate_hz(self) -> float:
        return self.samples / self.wall_s


def make_blocks(seconds: float) -> list[list[Block]]:
    """All blocks, made before the clock runs: per 10 ms, one of each stream."""
    rng = np.random.default_rng(0)
    steps = []
    for first in range(0, int(seconds * RATE_HZ), BLOCK):
        sequence = np.arange(first, first + BLOCK)
        steps.append(
            [
                Block(
                    stream,
                    first,
                    1_000_000_000 + sequence * 1_000_000,
                    rng.integers(-(2**18), 2**18, (BLOCK, stream.width)).astype(stream.dtype),
                    np.zeros((BLOCK, stream.width), np.uint8),
                    ticks=sequence * 1000,
                )
                for stream in STREAMS
            ]
        )
    return steps


def record(path: Path, seconds: float) -> Recorded:
    """Through the recorder, thread and disk and all, on a simulated clock that waits for nothing else."""
    steps = make_blocks(seconds)
    clock = SimulatedClock()

    async def session() -> tuple[float, float]:
        start, start_cpu = time.perf_counter(), time.process_time()
        async with Recorder(path, clock) as recorder:
            with clock.participant("devices"):
                for i, blocks in enumerate(steps):
                    await clock.sleep_until(1_000_000_000 + i * 10_000_000)
                    for block in blocks:
                        recorder.block(block)
        if sum(recorder.counts.values()) != len(STREAMS) * len(steps) * BLOCK:
            raise RuntimeError(f"recorded {recorder.counts}")
        return time.perf_counter() - start, time.process_time() - start_cpu

    return Recorded(seconds, *asyncio.run(session()), path.stat().st_size)


def read(path: Path) -> Read:
    """Every stream of a recording as columns in SI units; every CRC is checked."""
    start = time.perf_counter()
    recording = Recording.open(path)
    samples = sum(len(recording.columns(name).si) for name in recording.streams)
    return Read(samples, time.perf_counter() - start)


def main(seconds: float) -> int:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "benchmark.mcap"
        recorded = record(path, seconds)
        back = read(path)
    sys.stdout.write(
        f"recorder alone: {seconds:g} s of session in {recorded.wall_s:.2f} s "
        f"({recorded.cpu_s:.2f} s of CPU): {recorded.speed:.0f} x real time "
        f"(goal {RECORD_GOAL:g}), {recorded.size / seconds / 1e6:.2f} MB/s of session\n"
        f"reading back: {back.samples} samples in {back.wall_s:.2f} s: {back.rate_hz / 1e3:.0f} k samples/s "
        f"(goal {READ_GOAL / 1e3:g}), {back.samples / len(STREAMS) / RATE_HZ / back.wall_s:.0f} x real time\n"
    )
    return 0 if recorded.speed >= RECORD_GOAL and back.rate_hz >= READ_GOAL else 1


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0))
