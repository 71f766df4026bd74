"""Drivers against emulators: how fast they make blocks of bytes, what they cost, what they lose, how late they are.

    python benchmarks/drivers.py [--seconds 10] [KIND ...]

*Making blocks*: bytes as they come off the line through the driver's own path into Blocks, as fast as it goes.
*Live*: the emulator is a process of its own, started by `heft devices emulate`; the driver reads it in real time. Core:
processor time of the driver's process over real time. Latency: from the host stamp of a sample (the kernel's where it
has one) to its Block in hand, of which up to 5 ms are the gathering of blocks.

A kind is added to LIVE by what its driver needs besides the endpoint, and to MAKING by a function that measures it.
"""

# ruff: noqa: E402 - this file has the name of a package, and must get out of its way before anything is imported
from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

HERE = str(Path(__file__).resolve().parent)
if __name__ == "drivers":  # a neighbour wants the package, and found this file first
    sys.path.remove(HERE)
    del sys.modules["drivers"]
    sys.modules["drivers"] = import_module("drivers")
    sys.path.insert(0, HERE)
elif sys.path[0] == HERE:
    del sys.path[0]

import argparse
import asyncio
import json
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from daq.clock import RealClock
from drivers import Block, registry
from drivers.codecs import ati_rdt, bota
from drivers.driver import Context, Driver
from drivers.emulators.bench import AXES
from drivers.transports import Chunk, Datagram

FRAMES = 20_000


@dataclass(frozen=True)
class Live:
    """One kind: options of its driver and emulator, and the bounds [core: part of one; lost: part of all]."""

    driver: Mapping[str, Any]
    emulator: Mapping[str, Any] = field(default_factory=dict)
    core: float = 0.4
    lost: float = 1e-4


ENCODERS = {"encoders": {"joint1": {"address": 0x54}, "joint2": {"address": 0x58}}}
LIVE: dict[str, Live] = {
    "ati_rdt": Live({"host": "127.0.0.1"}),
    "onrobot_hex": Live({"host": "127.0.0.1", "rate_hz": 500.0}),
    "bota_serial": Live({"port": "x", "sinc": 64}),
    "robotiq_ft300": Live({"port": "x"}),
    "amt21": Live({"port": "x", "rate_hz": 250.0, "answer_s": 0.1, **ENCODERS}, ENCODERS),
    "robotiq_2f": Live({"port": "x"}),
}


# -- making blocks -----------------------------------------------------------------------------------------------------


def make(kind: str, **options: Any) -> Any:
    model = registry.options_model(kind)
    return registry.create(kind, "device", model.model_validate(options), Context(RealClock(), axes=AXES))


def rate(work: Callable[[int], object], items: int) -> float:
    """Items per second of `work(start)`, done over and over on new ones for half a second."""
    start, began = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - began) < 0.5:
        work(start)
        start += items
    return start / elapsed


def make_bota(batch: int) -> float:
    """Frames per second from reads of `batch` frames."""
    frames = b"".join(
        bota.Sample(0, (1.0, 2.0, 3.0, 0.1, 0.2, 0.3), 1250 * i % (1 << 32), 25.0).encode()
        for i in range(FRAMES)
    )
    sensor, size = make("bota_serial", port="x", sinc=64), batch * bota.FRAME_BYTES
    pieces = [frames[i : i + size] for i in range(0, len(frames), size)]

    def work(start: int) -> None:
        number = start // batch
        list(sensor._blocks([Chunk(pieces[number % len(pieces)], number * 1_250_000 * batch)]))

    return rate(work, batch)


def make_rdt(batch: int) -> float:
    """Records per second from batches of datagrams with one record each."""
    records = [ati_rdt.Record(i, 7 * i, 0, (1, 2, 3, 4, 5, 6)).encode() for i in range(FRAMES)]
    box = make("ati_rdt", host="x")

    def work(start: int) -> None:
        at = start % FRAMES
        arrived = [
            Datagram(r, (start + i) * 1_000_000, ("", 0)) for i, r in enumerate(records[at : at + batch])
        ]
        list(box._blocks(arrived))

    return rate(work, batch)


MAKING: dict[str, tuple[Callable[[int], float], int, float]] = {
    "bota_serial": (make_bota, 1000, 100_000.0),
    "bota_serial ": (make_bota, 5, 1245.0),
    "ati_rdt": (make_rdt, 200, 50_000.0),
    "ati_rdt ": (make_rdt, 5, 7000.0),
}


# -- live --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """What one driver did: samples, losses, processor time over real time, and latencies [ms]."""

    samples: int
    rate_hz: float
    lost: int
    core: float
    p50_ms: float
    p99_ms: float


def measure(kind: str, live: Live, seconds: float) -> Measured:
    """One driver against an emulator in a process of its own."""
    settings = [f"--set={key}={json.dumps(value)}" for key, value in live.emulator.items()]
    command = [sys.executable, "-m", "heft.main", "devices", "emulate", kind, *settings]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            endpoint = json.loads(process.stdout.readline())
            driver = make(kind, **live.driver)
            driver.redirect(endpoint)
            return asyncio.run(listen(driver, seconds))
        finally:
            process.terminate()


async def listen(driver: Driver, seconds: float) -> Measured:
    ages: list[Any] = []
    first: Block | None = None
    async with driver:
        stream, clock = driver.streams[0], driver.clock
        began, used = time.perf_counter(), time.process_time()
        async for block in driver:
            if block.stream is not stream:
                continue
            ages.append(clock.now_ns() - block.host_ns)
            first = first or block
            if (elapsed := time.perf_counter() - began) > seconds:
                used = time.process_time() - used
                await driver.stop()
    age_ms = np.concatenate(ages) * 1e-6
    p50, p99 = np.percentile(age_ms, [50, 99])
    return Measured(len(age_ms), len(age_ms) / elapsed, driver.counters.lost, used / elapsed, p50, p99)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="of every live run")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(LIVE)}")
    arguments = parser.parse_args()
    failed = False
    print(f"{'making blocks':28}{'per second':>14}{'needed':>12}{'ratio':>8}")
    for name, (work, batch, needed) in MAKING.items():
        if arguments.kinds and name.strip() not in arguments.kinds:
            continue
        got = work(batch)
        failed |= got < needed
        print(f"{name.strip() + f', {batch} per read':28}{got:14.0f}{needed:12.0f}{got / needed:8.1f}")
    print(
        f"\n{'live':16}{'Hz':>9}{'samples':>9}{'lost':>6}{'core %':>8}{'bound':>7}{'p50 ms':>8}{'p99 ms':>8}"
    )
    for kind, live in LIVE.items():
        if arguments.kinds and kind not in arguments.kinds:
            continue
        m = measure(kind, live, arguments.seconds)
        failed |= m.core > live.core or m.lost > live.lost * m.samples
        counts = f"{m.rate_hz:9.1f}{m.samples:9}{m.lost:6}{100 * m.core:8.1f}{100 * live.core:7.0f}"
        print(f"{kind:16}{counts}{m.p50_ms:8.2f}{m.p99_ms:8.2f}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
