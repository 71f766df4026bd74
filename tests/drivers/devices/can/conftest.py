"""Two joints behind emulated drives of each kind, and a hand to move them with."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from heft.daq.clock import RealClock
from heft.drivers import registry
from heft.drivers.block import Block
from heft.drivers.devices.bus.can_drives import CanDrives
from heft.drivers.driver import Context
from heft.drivers.emulators.base.emulator import Emulator
from heft.drivers.plant.bench import Bench
from heft.drivers.setpoints import Setpoints
from heft.drivers.transports.can_frame import CanFrame

AXES = ("joint1", "joint2")
POSTURE = (0.3, -0.8)


@dataclass(frozen=True)
class Kind:
    """Options of one kind of drive, and its words: how it calls joint2, and what it says of a broken one."""

    driver: Mapping[str, Any]
    emulator: Mapping[str, Any]
    who: str
    fault: str
    near: float = 0.02  # how well it follows [rad]


KINDS = {
    "cia402": Kind(
        {
            "axes": {
                "joint1": {"node": 1, "counts_per_turn": 524288, "rated_current": 8.0},
                "joint2": {"node": 2, "counts_per_turn": -200_000, "zero": 5000, "rated_current": 4.0},
            }
        },
        {
            "nodes": (
                {"node": 1, "rated_current": 8.0},
                {"node": 2, "rated_current": 4.0, "counts_per_turn": -200_000, "zero": 5000},
            )
        },
        r"node 2 \(joint2\)",
        r"0x5000 \(device hardware\)",
    ),
    "odrive_can": Kind(
        {
            "axes": {"joint1": {"node": 3, "gear": 8.0}, "joint2": {"node": 5, "gear": -6.0, "zero": 1.25}},
            "watchdog_s": 0.5,
        },
        {
            "nodes": ({"node": 3, "gear": 8.0}, {"node": 5, "gear": -6.0, "zero": 1.25}),
            "watchdog_timeout": 0.5,
        },
        r"node 5 \(joint2\)",
        "current limit violated",
    ),
    "mit_can": Kind(
        {
            "axes": {
                "joint1": {"model": "DM10010", "motor": 1, "reply": 0x11, "kp": 200, "kd": 5},
                "joint2": {
                    "model": "DM8009",
                    "motor": 2,
                    "reply": 0x12,
                    "direction": -1,
                    "zero": 0.5,
                    "kp": 100,
                    "kd": 5,
                },
            }
        },
        {
            "motors": (
                {"model": "DM10010", "motor": 1},
                {"model": "DM8009", "motor": 2, "direction": -1, "zero": 0.5},
            )
        },
        r"motor 2 \(joint2\)",
        "over-current",
        near=0.06,
    ),
    "moteus": Kind(
        {"axes": {"joint1": {"number": 1}, "joint2": {"number": 9, "gear": -2.0, "zero": 0.25}}},
        {"controllers": ({"number": 1}, {"number": 9, "gear": -2.0, "zero": 0.25})},
        r"controller 9 \(joint2\)",
        r"mode 1 \(fault\), fault 33",
    ),
}


@dataclass
class Stand:
    """Emulated drives on a bench, their driver, and what it yields."""

    clock: RealClock
    plant: Bench
    emulator: Emulator[Any, Any]
    arm: CanDrives[Any]
    blocks: dict[str, list[Block]] = field(default_factory=lambda: defaultdict(list))
    error: Exception | None = None

    @property
    def on(self) -> NDArray[np.bool_]:
        """Which axes have power."""
        stages = getattr(self.emulator, "_stages", None) or self.emulator._model.axes
        on: NDArray[np.bool_] = stages.on
        return on

    def truth(self) -> NDArray[np.float64]:
        """Where the joints are [rad]."""
        return self.plant.joint_positions(np.array([self.plant.now()]))[0]

    def speed(self) -> float:
        """Of the fastest joint [rad/s]."""
        return float(np.abs(self.plant.motor(np.array([self.plant.now()])).v).max())

    def inject(self, kind: type[Any], **facts: Any) -> None:
        self.plant.inject(kind(device="arm", at_s=self.plant.now(), **facts))

    async def sleep(self, seconds: float) -> None:
        await self.clock.sleep_until(self.clock.now_ns() + round(seconds * 1e9))

    async def until(self, condition: Callable[[], bool], seconds: float = 40.0) -> None:
        """A bound that only a broken driver reaches."""
        async with asyncio.timeout(seconds):
            while not condition():
                await self.sleep(0.005)

    async def until_sent(self, frame: CanFrame, condition: Callable[[], bool]) -> None:
        """Let the emulator say something besides, again and again, until it has been noticed."""
        async with asyncio.timeout(40.0):
            while not condition():
                await self.emulator.wire.send(frame)
                await self.sleep(0.01)

    async def send(
        self, seconds: float, way: float, *, last: bool = True, sequence: int = 0
    ) -> NDArray[np.float64]:
        """All joints go by `way` [rad] in a cosine; everything is sent ahead at once. Where they end, shape (n,)."""
        start = np.asarray(self.arm._follower.reference[: len(AXES)])
        n = round(seconds * 200)
        t = np.arange(n + 1)[:, None] / n
        ones = np.ones(len(AXES))
        rate = np.pi / seconds
        q = start + 0.5 * way * (1.0 - np.cos(np.pi * t)) * ones
        v = 0.5 * way * rate * np.sin(np.pi * t) * ones
        a = 0.5 * way * rate**2 * np.cos(np.pi * t) * ones
        times = self.clock.now_ns() + 50_000_000 + np.arange(n + 1, dtype=np.int64) * 5_000_000
        await self.arm.play(Setpoints(sequence, times, q, v, a, last=last))
        return q[-1]

    async def read(self) -> None:
        try:
            async for block in self.arm:
                self.blocks[block.stream.name].append(block)
        except Exception as exc:
            self.error = exc

    def si(self, stream: str) -> NDArray[np.float64]:
        return np.concatenate([block.si for block in self.blocks[f"arm.{stream}"]])


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def words(kind: str) -> Kind:
    return KINDS[kind]


def driver(kind: str, clock: RealClock, **options: Any) -> CanDrives[Any]:
    """Slow and patient: tests share their machine."""
    patient = {"rate_hz": 100.0, "timeout_s": 0.3, "watchdog_s": 0.5, "interface": "virtual"}
    model = registry.driver_options(kind).model_validate({**patient, **KINDS[kind].driver, **options})
    made = registry.create_driver(kind, "arm", model, Context(clock, axes=AXES))
    assert isinstance(made, CanDrives)
    return made


@pytest.fixture
def make_driver(kind: str) -> Callable[..., CanDrives[Any]]:
    """A driver that is not connected to anything."""
    return lambda **options: driver(kind, RealClock(), **options)


@pytest.fixture
def stand(kind: str, steady_clock: Callable[[], RealClock]) -> Callable[..., Any]:
    """Puts a driver and its emulator on the bench; options besides those of the kind."""

    @asynccontextmanager
    async def make(
        emulator: Mapping[str, Any] | None = None, *, weight: float = 0.0, **options: Any
    ) -> AsyncIterator[Stand]:
        clock = steady_clock()
        plant = Bench(clock, axes=AXES, posture=np.array(POSTURE), weight=weight)
        model = registry.emulator_options(kind)
        chosen = model.model_validate(
            {"interface": "virtual", "bandwidth_hz": 8.0, **KINDS[kind].emulator, **(emulator or {})}
        )
        async with registry.create_emulator(kind, "arm", chosen, plant) as device:
            arm = driver(kind, clock, **options)
            arm.redirect(device.endpoint)
            async with arm:
                bench = Stand(clock, plant, device, arm)
                reader = asyncio.create_task(bench.read())
                try:
                    yield bench
                finally:
                    await bench.sleep(0.0)  # the reader may not have begun
                    await arm.stop()
                    await reader

    return make
