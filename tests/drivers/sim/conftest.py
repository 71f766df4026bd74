"""The WAM on a simulated clock, and a bench that plays a script and keeps what its devices yield."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from heft.daq.clock import SimulatedClock
from heft.daq.config.robot import load_robot
from heft.drivers import registry
from heft.drivers.block import Block
from heft.drivers.driver import Context, Driver
from heft.drivers.plant.faults import Fault
from heft.drivers.setpoints import Setpoints
from heft.drivers.sim.drives import SimDrives
from heft.drivers.sim.robot import SimJoint, SimRobot
from heft.drivers.sim.world import World, WorldOptions

ROOT = Path(__file__).parents[3]
Motion = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]

#: Devices that are as good as devices can be; tests spoil what they look at.
CLEAN: Mapping[str, Mapping[str, Any]] = {
    "sim_drives": {"velocity_noise": 0.0, "bandwidth_hz": (8, 10, 8, 8, 20, 20, 20)},
    "sim_encoders": {},
    "sim_wrench": dict.fromkeys(
        ("force_noise", "torque_noise", "force_bias", "torque_bias", "force_bias_drift", "torque_bias_drift"),
        0.0,
    ),
    "sim_gripper": {"current_noise": 0.0},
    "sim_imu": dict.fromkeys(
        (
            *("gyro_noise", "accelerometer_noise", "orientation_noise"),
            *("gyro_bias", "accelerometer_bias", "orientation_bias"),
            *("gyro_bias_drift", "accelerometer_bias_drift"),
        ),
        0.0,
    ),
}


class Bench:
    """A world with devices; `play` runs a script beside their readers and leaves blocks and errors behind."""

    def __init__(self, robot: SimRobot, *, seed: int = 0, options: Mapping[str, Any] | None = None) -> None:
        self.clock = SimulatedClock()
        self.world = World(robot, WorldOptions(**(options or {})), self.clock, seed)
        self.drivers: dict[str, Driver] = {}
        self.blocks: dict[str, list[Block]] = defaultdict(list)
        self.errors: dict[str, Exception] = {}

    def add(self, kind: str, name: str, **options: Any) -> Bench:
        model = registry.driver_options(kind)(**{**CLEAN[kind], **options})
        context = Context(self.clock, self.world.robot.axes, self.world)
        self.drivers[name] = registry.create_driver(kind, name, model, context)
        return self

    @property
    def arm(self) -> SimDrives:
        arm = self.drivers["arm"]
        assert isinstance(arm, SimDrives)
        return arm

    async def sleep(self, seconds: float) -> None:
        await self.clock.sleep_until(self.clock.now_ns() + round(seconds * 1e9))

    async def run(self, script: Callable[[Bench], Awaitable[None]]) -> Bench:
        """As the session does it: readers as tasks, the script as a participant."""
        async with AsyncExitStack() as stack:
            for driver in self.drivers.values():
                await stack.enter_async_context(driver)
            await asyncio.create_task(self._conduct(script))
        return self

    async def _conduct(self, script: Callable[[Bench], Awaitable[None]]) -> None:
        with self.clock.participant("script"):
            readers = [asyncio.create_task(self._read(driver)) for driver in self.drivers.values()]
            try:
                await script(self)
            finally:
                for driver in self.drivers.values():
                    await driver.stop()
        await asyncio.gather(*readers)

    async def _read(self, driver: Driver) -> None:
        try:
            async for block in driver:
                self.blocks[block.stream.name].append(block)
        except OSError as exc:
            self.errors[driver.name] = exc

    async def follow(
        self, motion: Motion, *, last: bool = True, ahead_s: float = 0.4, sequence: int = 0
    ) -> int:
        """Play setpoints at 1 kHz, sent ahead in chunks; returns when the last is due: its host time [ns]."""
        start_ns = self.clock.now_ns() + round((ahead_s + 0.01) * 1e9)
        n = len(motion[0])
        times = start_ns + np.arange(n) * 1_000_000
        for i in range(0, n, 100):
            piece = slice(i, i + 100)
            await self.clock.sleep_until(int(times[i]) - round(ahead_s * 1e9))
            parts = (array[piece].copy() for array in motion)
            await self.arm.play(
                Setpoints(sequence + i, times[piece].copy(), *parts, last=last and i + 100 >= n)
            )
        await self.clock.sleep_until(int(times[-1]))
        return int(times[-1])

    def values(self, stream: str) -> NDArray[np.float64]:
        """SI values of everything that came, shape (N, k)."""
        return np.concatenate([block.si for block in self.blocks[stream]])

    def times(self, stream: str) -> NDArray[np.float64]:
        """True instants of the samples, from their ticks and the true clock [s since the start], shape (N,)."""
        blocks = self.blocks[stream]
        ticks = np.concatenate([block.ticks for block in blocks if block.ticks is not None])
        truth = self.world.truth()["clocks"][stream.split(".")[0]]
        span = 1 << truth["tick_bits"]
        elapsed = (ticks - round(truth["offset_s"] * truth["tick_hz"])) % span
        return elapsed / truth["tick_hz"] / (1.0 + truth["drift_ppm"] * 1e-6)

    def inject(self, fault: Fault) -> None:
        self.world.inject(fault)


def swing(start: NDArray[np.float64], amplitude: float, seconds: float, hz: float = 0.5) -> Motion:
    """All joints swing at once with slightly different frequencies, from rest; 1 kHz, shape (T, n) each."""
    t = np.arange(0.0, seconds, 0.001)[:, None]
    omega = 2.0 * np.pi * hz * (1.0 + 0.15 * np.arange(len(start)))
    q = start + amplitude * (1.0 - np.cos(omega * t))
    return q, amplitude * omega * np.sin(omega * t), amplitude * omega**2 * np.cos(omega * t)


def sim_robot(name: str) -> SimRobot:
    """What the simulated rig is told of a shipped robot's file."""
    config = load_robot(ROOT / "configs" / "robots" / f"{name}.yaml")
    keys = [field.name for field in fields(SimJoint) if field.name != "name"]
    return SimRobot(
        name=config.name,
        model=config.model_file,
        joints=tuple(SimJoint(name, **{k: getattr(j, k) for k in keys}) for name, j in config.joints.items()),
        gravity=config.gravity,
        flange=config.flange,
        sensor=config.sensor,
        hand=config.hand,
        locked=config.locked,
        places={name: place.frame for name, place in {**config.wrench_sensors, **config.imu}.items()},
        free=config.base == "free",
    )


@pytest.fixture(scope="session")
def wam() -> SimRobot:
    return sim_robot("wam7")


@pytest.fixture
def bench(wam: SimRobot) -> Callable[..., Bench]:
    """A maker of benches, with the WAM unless another robot is named or given."""

    def make(robot: SimRobot | str | None = None, **keywords: Any) -> Bench:
        return Bench(sim_robot(robot) if isinstance(robot, str) else robot or wam, **keywords)

    return make


@pytest.fixture(name="swing")
def _swing() -> Callable[..., Motion]:
    return swing
