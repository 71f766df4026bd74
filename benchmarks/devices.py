"""Drivers against emulators: how fast they make blocks of bytes, what they cost, what they lose, how late they are.

    python benchmarks/drivers.py [--part making|live|inside|dead] [--seconds 10] [KIND ...]

Everything takes five minutes; the exit code is 1 where a bound is missed. Run it on a machine that does nothing else.

*Making*: bytes as they come off the line through the driver's own path into Blocks, as fast as it goes.
*Live*: the emulator is a process of its own, started by `heft devices emulate`; the driver reads it in real time. Core:
processor time of the driver's process over real time. Latency: from the host stamp of a sample (the kernel's where it
has one) to its Block in hand, of which up to 5 ms are the gathering of blocks (10 ms on CAN). CAN buses are
`udp_multicast` (time-to-live 0), and drives move all the time.
*Inside*: driver and emulator in this process, on python-can's `virtual` bus or a pseudo-terminal, which must lose
nothing; core is that of both.
*Dead*: the line dies while the arm moves: is it named, and how long does the arm still move? Of drives that LIVE tells.

*Host*: how late this host wakes a program that does nothing else, just before the live runs: no driver can be better.

Skipped are cycles that this host came too late for: nothing was asked, so nothing is lost.

A kind is added to LIVE by what its driver needs besides the endpoint, and to MAKING by a function that measures it.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from heft.daq.clock import RealClock
from heft.daq.priority import ahead_of_others
from heft.drivers import registry
from heft.drivers.codecs import ati_rdt, bota, cia402
from heft.drivers.driver import Actuator, Context, Driver, Limits
from heft.drivers.errors import DriverError
from heft.drivers.plant.bench import AXES, Bench
from heft.drivers.plant.faults import Silence
from heft.drivers.setpoints import Setpoints
from heft.drivers.transports.can_frame import CanFrame
from heft.drivers.transports.transport import Chunk, Datagram

FRAMES = 20_000
#: Part of one core that a driver may take.
CORE = 0.4
PARTS = ("making", "live", "inside", "dead")
#: How long an arm may move after its line died [s].
STOPPED_S = 0.5


@dataclass(frozen=True)
class Live:
    """One kind: options of its driver and emulator, for how long [s], and the bound of lost samples (part of all)."""

    driver: Mapping[str, Any]
    emulator: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 10.0
    lost: float = 1e-4


def _axes(**first: Any) -> dict[str, dict[str, Any]]:
    """An entry for every joint; numbers on the bus (node, number, motor, reply, id) count up."""
    counted = ("node", "number", "motor", "reply", "id")
    return {
        axis: {key: value + i if key in counted else value for key, value in first.items()}
        for i, axis in enumerate(AXES)
    }


#: With them drives make up for time that a busy host takes; without, it adds up.
LIMITS = Limits(velocity=np.full(len(AXES), 2.0), acceleration=np.full(len(AXES), 10.0))
LIES = "an emulated arm, which lies where it is put"
ENCODERS = {"encoders": {"joint1": {"address": 0x54}, "joint2": {"address": 0x58}}}
LIVE: dict[str, Live] = {
    "ati_rdt": Live({"host": "127.0.0.1"}),
    "onrobot_hex": Live({"host": "127.0.0.1", "rate_hz": 500.0}),
    "bota_serial": Live({"port": "x", "sinc": 64}),
    "robotiq_ft300": Live({"port": "x"}),
    "amt21": Live({"port": "x", "rate_hz": 250.0, "answer_s": 0.1, **ENCODERS}, ENCODERS),
    "robotiq_2f": Live({"port": "x", "answer_s": 0.2}),
    # Seven joints each. The bounds of loss are of cycles, of which each has 14 frames (CiA 402) or 7: stricter.
    "cia402": Live({"axes": _axes(node=1, counts_per_turn=524288, rated_current=10.0)}, seconds=60.0),
    "cia406": Live({"encoders": _axes(node=11, counts_per_turn=1 << 18, range=1 << 18)}),
    "odrive_can": Live(
        {"axes": _axes(node=0), "feedback_hz": 250.0},
        {"encoder_rate_ms": 4, "iq_rate_ms": 4},
    ),
    "mit_can": Live({"axes": _axes(motor=1, reply=0x11, model="DM10010", kp=100, kd=5)}),
    "moteus": Live({"axes": _axes(number=1)}),
    # At 1 Mbit/s a cycle of seven takes 2.6 ms of 5 on the line, once nobody waits before answering.
    "dynamixel": Live(
        {
            "port": "x",
            "axes": _axes(id=1, model="XM430-W350"),
            "return_delay_us": 0,
            "off_without_brake": LIES,
            "watchdog_s": 0.5,
            "catch_up": 4,
        },
        seconds=60.0,
    ),
    "feetech": Live(
        {
            "port": "x",
            "axes": _axes(id=1),
            "return_delay_us": 0,
            "off_without_brake": LIES,
            "without_watchdog": LIES,
        }
    ),
}
try:
    import cyclonedds  # noqa: F401 - there is no wheel for every Python
except ImportError:
    pass
else:
    # Seven joints at 1 kHz, moved by trajectories.
    ahead = {"ahead_s": 0.2, "watchdog_s": 0.5}  # as in the emulated rig: for a busy host
    LIVE["ros2"] = Live({"state_hz": 1000.0, "effort": "torque", **ahead}, seconds=60.0, lost=0.0)
#: Part of one core that driver and emulator may take together.
INSIDE = {
    "cia402": CORE,
    "cia406": CORE,
    "odrive_can": 0.6,
    "mit_can": 0.6,
    "moteus": 0.6,
    "dynamixel": 0.5,
    "feetech": 0.5,
}


# -- making blocks -----------------------------------------------------------------------------------------------------


def make(kind: str, **options: Any) -> Any:
    model = registry.driver_options(kind)
    return registry.create_driver(
        kind, "device", model.model_validate(options), Context(RealClock(), axes=AXES, limits=LIMITS)
    )


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


def make_cia402(batch: int) -> float:
    """CAN frames per second: answers of seven drives to `batch` SYNCs, into rows of both streams."""
    arm = make("cia402", **LIVE["cia402"].driver)
    arm._reading = True
    words = [cia402.Feedback(0x1237, 1000).encode(), cia402.Motion(20, 0, 30).encode()]
    ids = [(base + node, words[i]) for i, base in enumerate((0x180, 0x280)) for node in range(1, 8)]

    def work(start: int) -> None:
        for cycle in range(batch):
            t_ns = 4_000_000 * (start // 14 + cycle)
            arm._cycles.begin(t_ns)
            for identifier, data in ids:
                arm._on_frame(CanFrame(identifier, data, host_ns=t_ns + 1))
        arm._outbox._items.clear()

    return rate(work, 14 * batch)


MAKING: dict[str, tuple[Callable[[int], float], int, float]] = {
    "bota_serial": (make_bota, 1000, 100_000.0),
    "bota_serial ": (make_bota, 5, 1245.0),
    "ati_rdt": (make_rdt, 200, 50_000.0),
    "ati_rdt ": (make_rdt, 5, 7000.0),
    "cia402": (make_cia402, 5, 14 * 250.0),
}


# -- live --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """What one driver did: samples, losses, processor time over real time, and latencies [ms]."""

    samples: int
    rate_hz: float
    lost: int
    skipped: int
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


async def inside(kind: str, live: Live, seconds: float) -> Measured:
    """Driver and emulator in this process, on one bus or one pseudo-terminal."""
    model = registry.emulator_options(kind)
    bus = {"interface": "virtual"} if "interface" in model.model_fields else {}
    options = model.model_validate({**live.emulator, **bus})
    async with registry.create_emulator(kind, "device", options, Bench(RealClock())) as emulator:
        driver = make(kind, **live.driver)
        driver.redirect(emulator.endpoint)
        return await listen(driver, seconds)


def run_inside(kind: str, live: Live, seconds: float) -> Measured:
    """The same, from outside of an event loop."""
    return asyncio.run(inside(kind, live, seconds))


@dataclass
class Death:
    """What happened after a line died: what the driver said, and when the arm stood [s]."""

    said: str = ""
    rest_s: float = float("inf")


async def dead(kind: str, live: Live) -> Death:
    """Let the line of a moving arm die; the arm is watched by its plant."""
    model = registry.emulator_options(kind)
    bus = {"interface": "virtual"} if "interface" in model.model_fields else {}
    plant, death = Bench(RealClock()), Death()
    options = model.model_validate({**live.emulator, **bus})
    async with registry.create_emulator(kind, "device", options, plant) as emulator:
        arm = make(kind, **live.driver)
        arm.redirect(emulator.endpoint)

        async def read() -> None:
            try:
                async for _ in arm:
                    pass
            except DriverError as exc:
                death.said = str(exc)

        async with arm:
            reader = asyncio.create_task(read())
            motion = asyncio.create_task(sway(arm))
            for _ in range(1000):  # until it is on its way
                await asyncio.sleep(0.005)
                plant.now()
                if np.abs(plant.present()[1]).max() > 0.5:
                    break
            died = plant.now()
            plant.inject(Silence(device="device", at_s=died))
            await asyncio.sleep(2.0)
            plant.now()
            t = np.arange(died, died + 1.9, 0.001)
            moving = np.abs(plant.motor(t).v).max(axis=1) > 0.02
            death.rest_s = float(t[moving][-1] - died) if moving.any() else 0.0
            motion.cancel()
            await asyncio.gather(motion, reader, return_exceptions=True)
    return death


def report_dead(kinds: Collection[str]) -> bool:
    """Print the table; is every line's death named, and every arm at rest in time?"""
    print(f"\n{'dead line':16}{'at rest s':>10}{'bound':>8}  said")
    kept = True
    for kind in kinds:
        if registry.moves_axes(kind):
            death = asyncio.run(dead(kind, LIVE[kind]))
            kept &= death.rest_s <= STOPPED_S and bool(death.said)
            print(f"{kind:16}{death.rest_s:10.3f}{STOPPED_S:8.1f}  {death.said.split(';')[0]}", flush=True)
    return kept


async def sway(arm: Actuator) -> None:
    """All joints swing to and fro until this is cancelled."""
    await arm.arm()
    start, clock = await arm.position(), arm.clock
    begin_ns, sequence, n = clock.now_ns() + 200_000_000, 0, 50
    while True:
        k = np.arange(sequence, sequence + n)
        t = k[:, None] * 0.004
        w = np.pi * np.ones(len(start))
        q, v, a = start + 0.2 * (1 - np.cos(w * t)), 0.2 * w * np.sin(w * t), 0.2 * w**2 * np.cos(w * t)
        await arm.play(Setpoints(sequence, begin_ns + k * 4_000_000, q, v, a))
        sequence += n
        await clock.sleep_until(begin_ns + sequence * 4_000_000 - 400_000_000)


async def listen(driver: Driver, seconds: float) -> Measured:
    """Read the first stream for so long; what moves, moves."""
    gc.collect()
    gc.freeze()  # as `heft run` does: a collection of all that is loaded stalls the loop
    with ahead_of_others():
        return await _listen(driver, seconds)


async def _listen(driver: Driver, seconds: float) -> Measured:
    ages: list[Any] = []
    async with driver, asyncio.TaskGroup() as tasks:
        motion = tasks.create_task(sway(driver)) if isinstance(driver, Actuator) else None
        stream, clock = driver.streams[0], driver.clock
        began, used, stopped = time.perf_counter(), time.process_time(), False
        async for block in driver:
            if block.stream is not stream or stopped:
                continue
            ages.append(clock.now_ns() - block.host_ns)
            if (elapsed := time.perf_counter() - began) > seconds:
                used, stopped = time.process_time() - used, True
                if isinstance(driver, Actuator) and motion is not None:
                    motion.cancel()
                    await driver.hold()
                    await driver.disarm()
                await driver.stop()
    age_ms = np.concatenate(ages) * 1e-6
    p50, p99 = np.percentile(age_ms, [50, 99])
    counters, n = driver.counters, len(age_ms)
    return Measured(n, n / elapsed, counters.lost, counters.skipped, used / elapsed, p50, p99)


async def _wake_ups(period_s: float, seconds: float) -> tuple[int, int, float]:
    """Wake-ups on a grid: how many, how many of them late by half a period, and the latest one [s]."""
    clock, late = RealClock(), []
    begin_ns, number = clock.now_ns(), round(seconds / period_s)
    with ahead_of_others():
        for k in range(1, number + 1):
            due_ns = begin_ns + round(k * period_s * 1e9)
            await clock.sleep_until(due_ns)
            late.append((clock.now_ns() - due_ns) * 1e-9)
    return number, sum(x > 0.5 * period_s for x in late), max(late)


def report_host() -> None:
    """Print how late this host wakes a program that does nothing: what no driver can be better than."""
    for rate_hz in (200.0, 1000.0):
        number, late, worst_s = asyncio.run(_wake_ups(1.0 / rate_hz, 5.0))
        print(
            f"host            of {number} wake-ups at {rate_hz:g} Hz {late} came late by half a period, the worst by "
            f"{1e3 * worst_s:.1f} ms",
            flush=True,
        )


def report_making(kinds: Collection[str]) -> bool:
    """Print the table; is every bound kept?"""
    print(f"{'making':28}{'per second':>14}{'needed':>12}{'ratio':>8}")
    kept = True
    for name, (work, batch, needed) in MAKING.items():
        if name.strip() in kinds:
            got = work(batch)
            kept &= got >= needed
            print(f"{name.strip() + f', {batch} per read':28}{got:14.0f}{needed:12.0f}{got / needed:8.1f}")
    return kept


def report_measured(title: str, runs: Iterable[tuple[str, float, float, Callable[[], Measured]]]) -> bool:
    """Print the table of runs: kind, bounds of loss and core, and what does it; is every bound kept?"""
    columns = ("Hz", "samples", "lost", "skipped", "core %", "bound", "p50 ms", "p99 ms")
    print(f"\n{title:16}" + "".join(f"{column:>9}" for column in columns))
    kept = True
    for kind, lost, core, run in runs:
        try:
            m = run()
        except ExceptionGroup as failed:
            print(f"{kind:16}{failed.exceptions[0]}", flush=True)
            kept = False
            continue
        kept &= m.core <= core and m.lost <= lost * m.samples
        counts = f"{m.rate_hz:9.1f}{m.samples:9}{m.lost:9}{m.skipped:9}{100 * m.core:9.1f}{100 * core:9.0f}"
        print(f"{kind:16}{counts}{m.p50_ms:9.2f}{m.p99_ms:9.2f}", flush=True)
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=PARTS, action="append", help="only this (may be given again)")
    parser.add_argument("--seconds", type=float, help="of every live run (default: 10; cia402 60)")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(LIVE)}")
    arguments = parser.parse_args()
    kinds, parts = arguments.kinds or list(LIVE), arguments.part or PARTS
    unknown = [kind for kind in kinds if kind not in LIVE]
    if unknown:
        parser.error(f"{', '.join(unknown)}: no such kind; one of {', '.join(LIVE)}")

    def seconds(kind: str) -> float:
        return arguments.seconds or LIVE[kind].seconds

    kept = True
    if "making" in parts:
        kept &= report_making(kinds)
    if "live" in parts:
        report_host()
        runs = [(k, LIVE[k].lost, CORE, partial(measure, k, LIVE[k], seconds(k))) for k in LIVE if k in kinds]
        kept &= report_measured("live", runs)
    if "dead" in parts:
        kept &= report_dead(kinds)
    if "inside" in parts:
        runs = [
            (k, 0.0, core, partial(run_inside, k, LIVE[k], seconds(k)))
            for k, core in INSIDE.items()
            if k in kinds
        ]
        kept &= report_measured("inside", runs)
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
