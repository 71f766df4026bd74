"""Servos on a serial line against their emulators: arm, move, stop, refuse, and what is told when something fails."""

from __future__ import annotations

import asyncio
import struct
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
from heft.drivers.block import Block, Validity
from heft.drivers.codecs.servo_status import Status
from heft.drivers.devices.bus.servo_clock import ServoClock
from heft.drivers.devices.bus.servo_drives import ServoDrives
from heft.drivers.devices.dynamixel import Dynamixel
from heft.drivers.driver import Context
from heft.drivers.emulators.base.emulator import Emulator
from heft.drivers.errors import CommandError, ConnectError, DeviceFault, DeviceLost
from heft.drivers.plant.bench import Bench
from heft.drivers.plant.faults import DriveFault, Silence, Stuck
from heft.drivers.setpoints import Setpoints

AXES = ("joint1", "joint2")
RESTS = "the emulated arm lies where it is put"

DRIVERS: Mapping[str, Mapping[str, Any]] = {
    "dynamixel": {
        "axes": {
            "joint1": {"id": 1, "model": "XM430-W350"},
            "joint2": {"id": 7, "model": "XM430-W350", "gear": -1.0, "zero": 2000.0},
        },
        "watchdog_s": 0.5,
    },
    "feetech": {
        "axes": {"joint1": {"id": 1}, "joint2": {"id": 7, "gear": -1.0, "zero": 2000.0}},
        "without_watchdog": "an emulated arm that nobody stands beside",
    },
    "scs": {
        "series": "scs",
        "effort": "load",
        "axes": {"joint1": {"id": 1}, "joint2": {"id": 7, "gear": -1.0, "zero": 500.0}},
        "without_watchdog": "an emulated arm that nobody stands beside",
    },
}
EMULATORS: Mapping[str, Mapping[str, Any]] = {
    "dynamixel": {"servos": ({"id": 1}, {"id": 7, "gear": -1.0, "zero": 2000.0})},
    "feetech": {"servos": ({"id": 1}, {"id": 7, "gear": -1.0, "zero": 2000.0})},
    "scs": {"series": "scs", "servos": ({"id": 1}, {"id": 7, "gear": -1.0, "zero": 500.0})},
}


@dataclass
class Stand:
    """Emulated servos on a bench, their driver, and what it yields."""

    clock: RealClock
    plant: Bench
    emulator: Emulator[Any, Any]
    arm: ServoDrives[Any]
    blocks: dict[str, list[Block]] = field(default_factory=lambda: defaultdict(list))
    error: Exception | None = None

    @property
    def on(self) -> NDArray[np.bool_]:
        on: NDArray[np.bool_] = self.emulator._stages.on
        return on

    def truth(self) -> NDArray[np.float64]:
        return self.plant.joint_positions(np.array([self.plant.now()]))[0]

    def speed(self) -> float:
        return float(np.abs(self.plant.motor(np.array([self.plant.now()])).v).max())

    def inject(self, kind: type[Any], **facts: Any) -> None:
        self.plant.inject(kind(device="arm", at_s=self.plant.now(), **facts))

    async def sleep(self, seconds: float) -> None:
        await self.clock.sleep_until(self.clock.now_ns() + round(seconds * 1e9))

    async def until(self, condition: Callable[[], bool], seconds: float = 20.0) -> None:
        async with asyncio.timeout(seconds):
            while not condition():
                await self.sleep(0.005)

    async def send(self, seconds: float, way: float) -> NDArray[np.float64]:
        """All joints go by `way` [rad] in a cosine. Where they end, shape (n,)."""
        start = np.asarray(self.arm._follower.reference[:2])
        n = round(seconds * 200)
        t = np.arange(n + 1)[:, None] / n
        rate = np.pi / seconds
        q = start + 0.5 * way * (1.0 - np.cos(np.pi * t)) * np.ones(2)
        v = 0.5 * way * rate * np.sin(np.pi * t) * np.ones(2)
        a = 0.5 * way * rate**2 * np.cos(np.pi * t) * np.ones(2)
        times = self.clock.now_ns() + 50_000_000 + np.arange(n + 1, dtype=np.int64) * 5_000_000
        await self.arm.play(Setpoints(0, times, q, v, a, last=True))
        return q[-1]

    async def read(self) -> None:
        try:
            async for block in self.arm:
                self.blocks[block.stream.name].append(block)
        except Exception as exc:
            self.error = exc

    def si(self, stream: str) -> NDArray[np.float64]:
        return np.concatenate([block.si for block in self.blocks[f"arm.{stream}"]])


@pytest.fixture(params=DRIVERS)
def name(request: pytest.FixtureRequest) -> str:
    made: str = request.param
    return made


def kind(name: str) -> str:
    return "feetech" if name == "scs" else name


@asynccontextmanager
async def bench(
    name: str, clock: RealClock, emulator: Mapping[str, Any] | None = None, **options: Any
) -> AsyncIterator[Stand]:
    plant = Bench(clock, axes=AXES, posture=np.array((0.3, -0.5)))
    chosen = registry.emulator_options(kind(name)).model_validate(
        {"bandwidth_hz": 8.0, **EMULATORS[name], **(emulator or {})}
    )
    patient = {"port": "x", "rate_hz": 50.0, "timeout_s": 0.3, "answer_s": 0.2, "off_without_brake": RESTS}
    model = registry.driver_options(kind(name)).model_validate({**patient, **DRIVERS[name], **options})
    async with registry.create_emulator(kind(name), "arm", chosen, plant) as device:
        arm = registry.create_driver(kind(name), "arm", model, Context(clock, axes=AXES))
        assert isinstance(arm, ServoDrives)
        arm.redirect(device.endpoint)
        async with arm:
            stand = Stand(clock, plant, device, arm)
            reader = asyncio.create_task(stand.read())
            try:
                yield stand
            finally:
                await stand.sleep(0.0)
                await arm.stop()
                await reader


async def test_arms_moves_holds_and_disarms(name: str, steady_clock: Callable[[], RealClock]) -> None:
    async with bench(name, steady_clock()) as stand:
        arm, start = stand.arm, stand.truth()
        assert await arm.position() == pytest.approx(start, abs=6e-3)
        await arm.arm()
        assert stand.on.all()
        end = await stand.send(1.0, 0.4)
        await stand.until(lambda: arm._follower.at_rest and stand.speed() < 0.02)
        await stand.sleep(0.3)
        assert stand.truth() == pytest.approx(end, abs=0.03)
        await arm.hold()
        assert arm.holding
        await arm.disarm()
        assert not stand.on.any()
    assert stand.error is None
    assert np.ptp(stand.si("motion")[:, 0]) == pytest.approx(0.4, abs=0.06)
    assert np.ptp(stand.si("played")[:, 1]) == pytest.approx(0.4, abs=0.02)
    effort = "current" if name != "scs" else "load"
    assert np.abs(stand.si(effort)).max() > 0.0


async def test_a_failed_servo_is_named_and_the_other_one_stops(
    name: str, steady_clock: Callable[[], RealClock]
) -> None:
    async with bench(name, steady_clock()) as stand:
        await stand.arm.arm()
        await stand.send(5.0, 2.0)
        await stand.until(lambda: stand.speed() > 0.3)
        stand.inject(DriveFault, joint="joint2")
        await stand.until(lambda: stand.error is not None)
        assert isinstance(stand.error, DeviceFault)
        assert "servo 7 (joint2) tells " in str(stand.error)
        assert "overload" in str(stand.error)
        await stand.until(lambda: stand.speed() < 0.05)
        await stand.arm.disarm()
        assert not stand.on.any()


async def test_a_host_that_stalls_for_a_moment_makes_up_for_its_cycles(
    name: str, steady_clock: Callable[[], RealClock]
) -> None:
    """Two and a half cycles late, three times in a motion: all rows are there, and the arm is not told to hurry."""
    async with bench(name, steady_clock()) as stand:
        await stand.arm.arm()
        await stand.until(lambda: stand.arm._steady)
        lost = stand.arm.counters.lost
        await stand.send(2.0, 0.4)
        for _ in range(3):
            await stand.sleep(0.45)
            await stand.until(lambda: not stand.arm._waiting)  # the servos are not late
            stand.clock._steady_ns += 50_000_000  # type: ignore[attr-defined]
        await stand.until(lambda: stand.arm._follower.at_rest)
        await stand.sleep(0.1)
        assert (stand.arm.counters.lost - lost, stand.arm.counters.skipped) == (0, 0)
    played, times = stand.si("played"), np.concatenate([b.host_ns for b in stand.blocks["arm.played"]]) * 1e-9
    assert np.ptp(played[:, 0]) == pytest.approx(0.4, abs=0.02)
    ways = np.abs(played[None, :, 0] - played[:, None, 0])
    most = (
        0.4 * np.pi / 4.0 * (np.abs(times[None] - times[:, None]) + 0.01)
    )  # half a period early at the most
    assert (ways <= 1.1 * most + 2e-3).all()


async def test_a_servo_that_has_lost_its_line_is_named(
    name: str, steady_clock: Callable[[], RealClock]
) -> None:
    async with bench(name, steady_clock()) as stand:
        del stand.emulator._by_id[7]
        await stand.until(lambda: stand.error is not None)
        assert isinstance(stand.error, DeviceLost)
        assert "servo 7 (joint2) is silent for more than 0.3 s (timeout_s); check" in str(stand.error)


async def test_a_silent_line_stops_the_arm(name: str, steady_clock: Callable[[], RealClock]) -> None:
    async with bench(name, steady_clock()) as stand:
        await stand.arm.arm()
        await stand.send(5.0, 2.0)
        await stand.until(lambda: stand.speed() > 0.3)
        stand.inject(Silence)
        await stand.until(lambda: stand.error is not None)
        assert "every axis is silent for more than 0.3 s" in str(stand.error)
        await stand.until(lambda: stand.speed() < 0.05)


async def test_without_a_brake_arming_wants_a_reason(
    name: str, steady_clock: Callable[[], RealClock]
) -> None:
    async with bench(name, steady_clock(), off_without_brake=None) as stand:
        with pytest.raises(CommandError, match="has no brake, and nothing holds it"):
            await stand.arm.arm()


async def test_a_line_that_is_too_slow_is_refused_with_its_numbers(
    name: str, steady_clock: Callable[[], RealClock]
) -> None:
    with pytest.raises(
        ConnectError, match=r"a cycle takes [\d.]+ ms on the line .* set return_delay_us to 0"
    ):
        async with bench(name, steady_clock(), {"baud": 115_200}, baud=115_200, rate_hz=150.0):
            pass


async def test_the_return_delay_is_set_where_the_file_says_so(
    name: str, steady_clock: Callable[[], RealClock]
) -> None:
    async with bench(name, steady_clock()) as stand:
        address = 9 if name == "dynamixel" else 7
        assert [servo.memory[address] for servo in stand.emulator._servos] == [250, 250]
    async with bench(name, steady_clock(), return_delay_us=20) as stand:
        assert [servo.memory[address] for servo in stand.emulator._servos] == [10, 10]


async def test_servos_that_are_still_booting_are_asked_again(
    name: str, steady_clock: Callable[[], RealClock]
) -> None:
    async with bench(name, steady_clock(), {"boot_s": 0.25}) as stand:
        assert stand.arm.identity.vendor in ("ROBOTIS", "Feetech")


async def test_setpoints_beyond_what_a_servo_obeys_are_refused(
    name: str, steady_clock: Callable[[], RealClock]
) -> None:
    async with bench(name, steady_clock()) as stand:
        await stand.arm.arm()
        with pytest.raises(CommandError, match=r"servo \d \(joint\d\): setpoint at .* obeys only 0 to"):
            await stand.send(5.0, 8.0)


async def test_the_bus_watchdog_stops_dynamixels_when_the_host_hangs(
    steady_clock: Callable[[], RealClock],
) -> None:
    async with bench("dynamixel", steady_clock()) as stand:
        await stand.arm.arm()
        assert [servo.memory[98] for servo in stand.emulator._servos] == [25, 25]
        await stand.send(5.0, 2.0)
        await stand.until(lambda: stand.speed() > 0.3)
        for task in stand.arm._tasks:
            task.cancel()
        await stand.until(lambda: {servo.memory[98] for servo in stand.emulator._servos} == {255})
        await stand.until(lambda: stand.speed() < 0.05)
        assert stand.on.all(), "it stops with torque, and does not fall"


async def test_a_fired_watchdog_and_a_restart_are_told(steady_clock: Callable[[], RealClock]) -> None:
    for value, says in ((255, "was stopped by its bus watchdog after 0.5 s"), (0, "was it restarted?")):
        async with bench("dynamixel", steady_clock()) as stand:
            await stand.arm.arm()
            stand.emulator._by_id[7].memory[98] = value
            await stand.until(lambda stand=stand: stand.error is not None)
            assert f"servo 7 (joint2) {'' if value else 'has its bus watchdog at 0, '}" in str(stand.error)
            assert says in str(stand.error)


async def test_a_servo_that_switched_itself_off_is_named(
    name: str, steady_clock: Callable[[], RealClock]
) -> None:
    """Neither an error nor a restart: it only has no torque any more."""
    async with bench(name, steady_clock()) as stand:
        await stand.arm.arm()
        await stand.send(5.0, 2.0)
        stand.emulator._switch(stand.emulator._by_id[7], False, stand.plant.now())
        await stand.until(lambda: stand.error is not None)
        assert isinstance(stand.error, DeviceFault)
        assert "servo 7 (joint2) has its torque off" in str(stand.error)
        await stand.until(lambda: stand.speed() < 0.05)


async def test_dynamixels_that_count_turns_are_not_referenced(steady_clock: Callable[[], RealClock]) -> None:
    turning = {"servos": ({"id": 1}, {"id": 7, "mode": 4})}
    async with bench("dynamixel", steady_clock(), turning) as stand:
        stand.arm._pose_confirmed = False  # as on a real line
        assert list(stand.arm.unreferenced) == ["joint2"]
        with pytest.raises(CommandError, match=r"servo 7 \(joint2\) may be relative.*operating mode 4"):
            await stand.arm.arm()
        stand.arm.confirm_pose()
        await stand.arm.arm()


async def test_models_whose_watchdog_fails_want_a_reason(steady_clock: Callable[[], RealClock]) -> None:
    axes = {"joint1": {"id": 1, "model": "XM430-W350"}, "joint2": {"id": 7, "model": "XL330-M288"}}
    servos = {"servos": ({"id": 1}, {"id": 7, "model": "XL330-M288"})}
    async with bench("dynamixel", steady_clock(), servos, axes=axes) as stand:
        with pytest.raises(CommandError, match=r"servo 7 \(joint2\), of a model whose bus watchdog"):
            await stand.arm.arm()


async def test_an_old_firmware_has_no_watchdog(steady_clock: Callable[[], RealClock]) -> None:
    old = {"servos": ({"id": 1}, {"id": 7, "firmware": 37})}
    async with bench("dynamixel", steady_clock(), old) as stand:
        with pytest.raises(CommandError, match="a servo with firmware older than 38 is without a watchdog"):
            await stand.arm.arm()


async def test_feetech_wants_a_reason_to_move_without_a_watchdog(
    steady_clock: Callable[[], RealClock],
) -> None:
    async with bench("feetech", steady_clock(), without_watchdog=None) as stand:
        with pytest.raises(CommandError, match="Feetech servos are without a watchdog of its own"):
            await stand.arm.arm()


async def test_a_clock_that_stands_still_flags_its_values(steady_clock: Callable[[], RealClock]) -> None:
    async with bench("dynamixel", steady_clock()) as stand:
        await stand.until(lambda: len(stand.blocks["arm.motion"]) > 3)
        stand.inject(Stuck)
        await stand.until(lambda: bool((stand.blocks["arm.motion"][-1].validity == Validity.STALE).all()))


def test_a_clock_of_milliseconds_tells_requests_that_were_held_up() -> None:
    """Asked every 5 ms, through the wrap of its counter; each hundredth request comes 7 ms late to the servo."""
    clock, begun_ms = ServoClock(), 32_000.3
    for k in range(1000):
        asked_ms = 5.0 * k
        late_ms = 7.0 if k % 100 == 99 else 0.0
        tick = int(begun_ms + (asked_ms + late_ms) * (1.0 + 2e-5)) % 32_768
        heard_ns = round((asked_ms + late_ms + 2.0) * 1e6)
        said_ms = clock.off_ns(tick, round(asked_ms * 1e6), heard_ns) * 1e-6
        assert abs(said_ms - late_ms) <= 0.6, k
    old = clock.off_ns(int(begun_ms + 5010.0) % 32_768, 5_050_000_000, 5_052_000_000)
    assert old * 1e-6 == pytest.approx(-40.0, abs=1.1), "it answers an earlier request"
    restarted = clock.off_ns(17_000, 5_060_000_000, 5_062_000_000)
    assert restarted == 0, "another clock tells nothing"


async def test_rows_are_stamped_with_when_the_servos_sampled(steady_clock: Callable[[], RealClock]) -> None:
    """Requests that an adapter or a busy host holds up: by this host's clock alone, 20 mrad would be 20 ms off."""
    async with bench("dynamixel", steady_clock(), {"bandwidth_hz": 20.0}) as stand:
        served, count = stand.emulator._serve_request, 0

        async def held_up(request: Any, t: float) -> None:
            nonlocal count
            count += 1
            late_s = 0.02 if count % 12 == 0 else 0.0
            await stand.sleep(late_s)
            await served(request, t + late_s)

        stand.emulator._serve_request = held_up  # type: ignore[method-assign]
        await stand.arm.arm()
        await stand.send(3.0, 1.5)
        await stand.until(lambda: stand.arm._follower.at_rest)
        await stand.arm.disarm()
    rows = [block for block in stand.blocks["arm.motion"] if block.request_ns is not None]
    times = np.concatenate([block.request_ns for block in rows if block.request_ns is not None])
    error = stand.si("motion")[:, :2] - stand.plant.joint_positions((times - stand.plant.start_ns) * 1e-9)
    moved = np.concatenate([block.host_ns for block in rows]) - times
    assert (moved[20:] >= 0).all()
    assert (np.diff(times) > 0).all()
    assert np.abs(error[20:]).max() < 4e-3  # two counts, and a millisecond


async def test_answers_to_earlier_requests_are_left_out() -> None:
    """They lay in a buffer, and come when three further requests have gone: by number none is told from another."""
    model = registry.driver_options("dynamixel").model_validate(
        {"port": "x", "block": 1, **DRIVERS["dynamixel"]}
    )
    arm = registry.create_driver("dynamixel", "arm", model, Context(RealClock(), axes=AXES))
    assert isinstance(arm, Dynamixel)
    arm._reading = True
    told: list[tuple[int, int]] = []  # ticks of the first servo, and when they were asked for [ms]
    answers = lambda ms: [Status(i, 0, struct.pack("<H4xhii", ms, 0, 0, 2048)) for i in (1, 7)]  # noqa: E731

    def come(ms: int, at_ms: int, *, old: bool = False) -> None:
        for axis, status in enumerate(answers(ms)):
            assert arm._take(axis, status, at_ms * 1_000_000) != old, (
                "an earlier one's answer ends the waiting"
            )

    for ms in (*range(0, 200, 5), 200, 220, 240, 260, 300, 305, 310):
        arm._cycles.begin(ms * 1_000_000, sampled_ns=ms * 1_000_000)
        if not 200 <= ms <= 260:
            come(ms, ms + 2)
        elif ms == 260:
            for late in (200, 220, 240, 260):
                come(late, 290, old=late < 260)
    arm._cycles.begin(400_000_000)
    for block in arm._outbox._items:
        if block.stream.name == "arm.clock":
            assert block.request_ns is not None
            told += zip(block.values[:, 0].tolist(), (block.request_ns // 1_000_000).tolist(), strict=True)
    assert [tick for tick, _ in told] == [asked for _, asked in told]
    assert 260 in dict(told)
    assert arm.counters.late == 6


def test_effort_must_be_what_the_models_tell() -> None:
    model = registry.driver_options("dynamixel")
    axes = {"joint1": {"id": 1, "model": "XL430-W250"}}
    with pytest.raises(ValueError, match=r"XL430-W250 \(joint1\) has no current sensor"):
        model.model_validate({"port": "x", "axes": axes})
    model.model_validate({"port": "x", "axes": axes, "effort": "load"})
    with pytest.raises(ValueError, match="SCS servos tell no current"):
        registry.driver_options("feetech").model_validate(
            {"port": "x", "series": "scs", "axes": {"joint1": {"id": 1}}}
        )
    with pytest.raises(ValueError, match="id 1 is used twice"):
        model.model_validate(
            {"port": "x", "axes": {n: {"id": 1, "model": "XM430-W350"} for n in ("joint1", "joint2")}}
        )
