"""A Universal Robots arm at the controller's rate: samples lost, processor time, and how soon a dead link stops it.

    python benchmarks/universal_robots.py [--seconds 60] [--command-hz 500]

The emulated controller is a process of its own; the driver moves all joints through it for `--seconds`, at 500 Hz both
ways, in this process. Then, with the controller in this process so that the true speed is known, the link dies both
ways in the middle of a motion: the program's watchdog stops the arm. Ratios are of this run's own time; the exit code
is 1 where a bound is missed: 0 lost, 50 % of a core, 0.5 s.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import json
import sys
import time
from typing import Any

import numpy as np

from heft.daq.clock import RealClock
from heft.daq.config.robot import load_robot
from heft.daq.config.shipped import CONFIGS
from heft.daq.priority import ahead_of_others
from heft.drivers import registry
from heft.drivers.block import Block
from heft.drivers.driver import Context, Limits
from heft.drivers.plant.bench import Bench
from heft.drivers.plant.faults import Silence
from heft.drivers.setpoints import Setpoints

AXES = tuple(f"joint{i}" for i in range(1, 7))
PORTS = {"port": 0, "script_port": 0, "realtime_port": None, "dashboard_port": 0, "gripper_port": None}
RATE_HZ = 500.0
SHARE, STOP_S = 0.5, 0.5
CHUNK = 50


def driver(clock: RealClock, endpoint: dict[str, Any], **options: Any) -> Any:
    chosen = registry.driver_options("ur_rtde").model_validate({"host": "127.0.0.1", **options})
    joints = load_robot(CONFIGS / "robots/ur10e.yaml").joints.values()
    limits = Limits(np.array([j.velocity for j in joints]), np.array([j.acceleration for j in joints]))
    # Without limits it could not make up for time that a busy host takes, which would add up.
    arm = registry.create_driver("ur_rtde", "arm", chosen, Context(clock=clock, axes=AXES, limits=limits))
    arm.redirect(endpoint)
    return arm


async def play(arm: Any, seconds: float) -> None:
    """Every joint swings by 0.3 rad at 0.25 Hz, faded in and out; chunks 300 ms ahead."""
    start, clock = np.array(await arm.position()), arm.clock
    t = np.arange(1, round(seconds * RATE_HZ) + 1) / RATE_HZ
    fade = np.clip(np.minimum(t, seconds - t) / 2.0, 0.0, 1.0)
    fade = fade**3 * (10 - 15 * fade + 6 * fade**2)
    q = start + (0.3 * fade * np.sin(2 * np.pi * 0.25 * t))[:, None]
    v = np.gradient(q, 1.0 / RATE_HZ, axis=0)
    a = np.gradient(v, 1.0 / RATE_HZ, axis=0)
    begin_ns = clock.now_ns() + 400_000_000
    times = begin_ns + np.round(t * 1e9).astype(np.int64)
    for k in range(0, len(t), CHUNK):
        end = min(k + CHUNK, len(t))
        await clock.sleep_until(int(times[k]) - 300_000_000)
        await arm.play(Setpoints(k, times[k:end], q[k:end], v[k:end], a[k:end], last=end == len(t)))
    await clock.sleep_until(int(times[-1]) + 300_000_000)


async def stream(seconds: float, command_hz: float) -> bool:
    """60 s at 500 Hz; whether the bounds hold."""
    sets = [f"--set={key}={json.dumps(value)}" for key, value in PORTS.items()]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "heft", "devices", "emulate", "ur_rtde", *sets, stdout=-1
    )
    assert process.stdout is not None
    endpoint = json.loads(await process.stdout.readline())
    received: dict[str, int] = {}
    try:
        arm = driver(
            RealClock(), endpoint, rate_hz=RATE_HZ, command_hz=command_hz, catch_up=25, timeout_s=1.0
        )
        async with arm:

            async def read() -> None:
                block: Block
                async for block in arm:
                    received[block.stream.name] = received.get(block.stream.name, 0) + len(block)

            reading = asyncio.create_task(read())
            await arm.arm()
            cpu, wall = time.process_time(), time.monotonic()
            lost = arm.counters.lost
            await play(arm, seconds)
            share = (time.process_time() - cpu) / (time.monotonic() - wall)
            lost = arm.counters.lost - lost
            await arm.hold()
            await arm.disarm()
            reading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reading
    finally:
        process.terminate()
        await process.wait()
    print(f"{seconds:g} s at {RATE_HZ:g} Hz, setpoints at {command_hz:g} Hz")
    print(
        f"  samples   {received.get('arm.motion', 0)} received, {lost} lost (bound 0), {arm.counters.corrupt} corrupt"
    )
    print(f"  setpoints {received.get('arm.played', 0)} sent, {arm.counters.skipped} skipped by this host")
    print(f"  processor {share:.1%} of a core (bound {SHARE:.0%})")
    return lost == 0 and share < SHARE


async def dead_link(watchdog_s: float = 0.15) -> bool:
    """How long the arm moves on after its link has died; whether that is within the bound, and named."""
    clock = RealClock()
    plant = Bench(clock, axes=AXES, posture=np.zeros(6))
    chosen = registry.emulator_options("ur_rtde").model_validate(PORTS)
    async with registry.create_emulator("ur_rtde", "arm", chosen, plant) as controller:
        arm = driver(
            clock,
            dict(controller.endpoint),
            command_hz=125.0,
            watchdog_s=watchdog_s,
            catch_up=12,
            timeout_s=0.2,
        )
        async with arm:
            failure: list[Exception] = []

            async def read() -> None:
                try:
                    async for _ in arm:
                        pass
                except Exception as exc:
                    failure.append(exc)

            reading = asyncio.create_task(read())
            await arm.arm()
            playing = asyncio.create_task(play(arm, 20.0))

            def speed() -> float:
                return float(np.abs(plant.motor(np.array([plant.now()])).v).max())

            while speed() < 0.4 and not failure:
                await clock.sleep_until(clock.now_ns() + 1_000_000)
            dead = plant.now()
            plant.inject(Silence(device="arm", at_s=dead))
            while speed() > 0.01 and plant.now() - dead < 5.0:
                await clock.sleep_until(clock.now_ns() + 1_000_000)
            took = plant.now() - dead
            while not failure and plant.now() - dead < 5.0:
                await clock.sleep_until(clock.now_ns() + 10_000_000)
            for task in (playing, reading):
                task.cancel()
            await asyncio.gather(playing, reading, return_exceptions=True)
    print(
        f"dead link: at rest after {took:.3f} s (bound {STOP_S:g} s); {failure[0] if failure else 'not named'}"
    )
    return took < STOP_S and bool(failure)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--command-hz", type=float, default=RATE_HZ)
    chosen = parser.parse_args()
    gc.collect()
    gc.freeze()  # as `heft run` does: a collection of all that is loaded stalls the loop
    with ahead_of_others():
        good = [asyncio.run(stream(chosen.seconds, chosen.command_hz)), asyncio.run(dead_link())]
    return int(not all(good))


if __name__ == "__main__":
    sys.exit(main())
