"""An arm of ROS 2 against its emulator: what it tells, how it moves, and what stops it."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

pytest.importorskip("cyclonedds")

from heft.daq.clock import RealClock
from heft.drivers import registry
from heft.drivers.block import Block
from heft.drivers.codecs.ros2 import JointState
from heft.drivers.devices.base.publisher_clock import PublisherClock
from heft.drivers.devices.bus.stamped_rows import StampedRows
from heft.drivers.devices.bus.trajectory_window import TrajectoryWindow
from heft.drivers.devices.ros2 import Ros2
from heft.drivers.driver import Context, Counters
from heft.drivers.emulators.ros2 import Ros2 as EmulatedRos2
from heft.drivers.errors import CommandError, ConnectError, DeviceFault, DeviceLost
from heft.drivers.plant.bench import Bench
from heft.drivers.plant.faults import Silence, Stuck
from heft.drivers.setpoints import Setpoints
from heft.drivers.stream import Column, Role, Stream

AXES = ("joint1", "joint2")
KNOWN = "the emulated joints count from zero"


@dataclass
class Stand:
    """An emulated arm, its driver, and what it yields."""

    clock: RealClock
    plant: Bench
    emulator: EmulatedRos2
    arm: Ros2
    blocks: list[Block] = field(default_factory=list)
    error: Exception | None = None

    def position(self) -> np.ndarray[Any, Any]:
        return self.plant.joint_positions(np.array([self.plant.now()]))[0]

    def speed(self) -> float:
        return float(np.abs(self.plant.motor(np.array([self.plant.now()])).v).max())

    def inject(self, kind: type[Any], **facts: Any) -> None:
        self.plant.inject(kind(device="arm", at_s=self.plant.now(), **facts))

    async def read(self) -> None:
        try:
            async for block in self.arm:
                self.blocks.append(block)
        except Exception as exc:
            self.error = exc

    async def play(self, seconds: float, distance: float = 0.6, *, last: bool = True) -> None:
        """A swing of both joints to and fro, told ahead of time."""
        start = await self.arm.position()
        t = np.arange(1, round(seconds * 250) + 1) * 0.004
        w = 2.0 * np.pi / seconds
        q = start + 0.5 * distance * (1 - np.cos(w * t))[:, None]
        v = np.repeat(0.5 * distance * w * np.sin(w * t)[:, None], 2, axis=1)
        a = np.repeat(0.5 * distance * w**2 * np.cos(w * t)[:, None], 2, axis=1)
        begin_ns = self.clock.now_ns() + 300_000_000
        times = begin_ns + (t * 1e9).astype(np.int64)
        await self.arm.play(Setpoints(0, times, q, v, a, last=last))

    async def until(self, condition: Any, seconds: float) -> bool:
        for _ in range(round(seconds / 0.01)):
            if condition():
                return True
            await asyncio.sleep(0.01)
        return bool(condition())


@asynccontextmanager
async def stand(emulated: dict[str, Any] | None = None, **options: Any) -> AsyncIterator[Stand]:
    clock = RealClock()
    plant = Bench(clock, axes=AXES, posture=np.array([0.3, -1.2]))
    chosen = registry.emulator_options("ros2").model_validate({"state_hz": 500.0, **(emulated or {})})
    async with registry.create_emulator("ros2", "arm", chosen, plant) as emulator:
        model = registry.driver_options("ros2")
        wanted = model.model_validate(
            {"state_hz": 500.0, "effort": "torque", "ahead_s": 0.2, "discovery_s": 2.0, **options}
        )
        arm = registry.create_driver("ros2", "arm", wanted, Context(clock, axes=AXES))
        arm.redirect(emulator.endpoint)
        assert isinstance(arm, Ros2)
        assert isinstance(emulator, EmulatedRos2)
        async with arm:
            one = Stand(clock, plant, emulator, arm)
            reader = asyncio.create_task(one.read(), name="reader")
            await asyncio.sleep(0.01)  # it reads
            try:
                yield one
            finally:
                await arm.stop()
                await asyncio.wait([reader])


async def test_it_plays_a_trajectory_tells_it_and_holds_at_its_end():
    async with stand() as one:
        await one.arm.arm()
        start = one.position()
        await one.play(1.0)
        await asyncio.sleep(0.8)
        half = one.position() - start
        await one.until(lambda: one.arm.holding, 3.0)
        await one.arm.hold()
        np.testing.assert_allclose(one.position(), start, atol=2e-3)
        assert half.min() > 0.3
        await one.arm.disarm()
        assert one.arm.holding  # the controller does, without this host
        assert not one.emulator.refused
        assert one.emulator.axes.aborted == 0
    played = [b for b in one.blocks if b.stream.role is Role.PLAYED]
    rows = np.concatenate([b.values for b in played])
    assert rows[:, 0].max() == pytest.approx(start[0] + 0.6, abs=2e-3)
    # what was told to be in force is what the controller had in force then
    t = np.concatenate([b.host_ns for b in played])
    wanted = one.plant.reference((t - one.plant.start_ns) * 1e-9)
    moving = np.abs(rows[:, 2]) > 0.1
    assert np.abs(wanted[moving, :2] - rows[moving, :2]).max() < 0.02


async def test_positions_move_it_too_with_a_controller_that_has_a_timeout():
    late = {"catch_up": 10, "watchdog_s": 1.0}  # a busy host
    async with stand({"command_timeout_s": 0.5}, command="positions", command_timeout_s=0.5, **late) as one:
        assert one.arm.watchdog_s == 0.5
        await one.arm.arm()
        start = one.position()
        await one.play(1.0, 0.2)
        assert await one.until(lambda: one.position()[0] > start[0] + 0.1, 2.0)
        await one.arm.hold()
        await one.arm.disarm()


async def test_positions_are_not_armed_where_nothing_stops_the_arm_when_this_host_dies():
    async with stand(command="positions") as one:
        with pytest.raises(CommandError, match=r"without a watchdog of its own.*`without_watchdog`"):
            await one.arm.arm()


async def test_a_silent_arm_is_named_and_stands_within_half_a_second():
    async with stand(timeout_s=0.2) as one:
        await one.arm.arm()
        await one.play(1.0, last=False)
        await one.until(lambda: one.speed() > 0.5, 2.0)
        one.inject(Silence)
        at = one.plant.now()
        assert await one.until(lambda: one.error is not None, 2.0)
        assert await one.until(lambda: one.speed() < 0.02, 2.0)
        named_and_stopped_s = one.plant.now() - at
        assert isinstance(one.error, DeviceLost)
        assert "/joint_states is silent for more than 0.2 s" in str(one.error)
        assert named_and_stopped_s < 1.5  # on a busy host; `benchmarks/drivers.py --part dead` has the bound


async def test_an_arm_whose_stamps_stand_still_is_lost():
    async with stand(timeout_s=0.2) as one:
        one.inject(Stuck)
        assert await one.until(lambda: one.error is not None, 2.0)
        assert "tells nothing new (its stamps stand still)" in str(one.error)
        assert one.arm.counters.duplicate > 0


async def test_a_publisher_that_leaves_is_told_at_once():
    async with stand() as one:
        one.emulator.wire.unplug()
        assert await one.until(lambda: one.error is not None, 2.0)
        assert "the publisher of /joint_states has left" in str(one.error)


async def test_simulated_time_is_taken_where_it_is_said():
    async with stand({"sim_time": True}, sim_time=True) as one:
        await asyncio.sleep(0.6)
        await one.arm.arm()
        start = one.position()
        await one.play(0.8, 0.3)
        assert await one.until(lambda: one.position()[0] > start[0] + 0.2, 2.0)
        await one.arm.hold()
        await one.arm.disarm()


async def test_simulated_time_that_runs_slower_moves_nothing():
    async with stand({"sim_time": True, "sim_rate": 0.8}, sim_time=True) as one:
        await asyncio.sleep(0.7)
        with pytest.raises(CommandError, match=r"run 0\.[78]\d* times as fast as this host's clock"):
            await one.arm.arm()


async def test_simulated_time_that_nobody_tells_is_missed():
    with pytest.raises(ConnectError, match=r"sim_time is set, but nobody publishes /clock"):
        async with stand(sim_time=True):
            pass


async def test_a_second_publisher_of_the_same_joints_is_named():
    async with stand() as one:
        domain = int(one.emulator.endpoint["domain"])
        options = registry.emulator_options("ros2").model_validate({"state_hz": 100.0, "domain": domain})
        second = registry.create_emulator("ros2", "second", options, Bench(one.clock, axes=AXES))
        async with second:
            assert await one.until(lambda: one.error is not None, 3.0)
        assert isinstance(one.error, DeviceFault)
        assert "two publishers of /joint_states tell the same joints" in str(one.error)


async def test_a_controller_that_nobody_started_is_named():
    async with stand(command_topic="/another_controller/joint_trajectory") as one:
        with pytest.raises(
            DeviceFault, match=r"/another_controller/joint_trajectory: nobody listens; load and activate"
        ):
            await one.arm.arm()


def test_an_effort_from_which_gravity_was_taken_off_is_refused():
    model = registry.driver_options("ros2")
    with pytest.raises(ValidationError, match="is no measurement"):
        model.model_validate({"state_hz": 500, "effort": "compensated"})
    with pytest.raises(ValidationError, match="effort"):
        model.model_validate({"state_hz": 500})  # it must be said


async def test_a_host_that_dies_leaves_an_arm_that_stands():
    """A process of its own moves the arm and is killed: the last trajectory ends at rest."""
    clock = RealClock()
    plant = Bench(clock, axes=AXES, posture=np.array([0.3, -1.2]))
    options = registry.emulator_options("ros2").model_validate({"state_hz": 500.0})
    async with registry.create_emulator("ros2", "arm", options, plant) as emulator:
        program = textwrap.dedent(_HOST).replace("ENDPOINT", json.dumps(dict(emulator.endpoint)))
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=subprocess.PIPE)
        try:
            assert process.stdout is not None
            assert (await process.stdout.readline()).strip() == b"playing"
            for _ in range(500):
                await asyncio.sleep(0.01)
                plant.now()
                if np.abs(plant.present()[1]).max() > 0.5:
                    break
            fast = np.abs(plant.present()[1]).max()
            process.send_signal(signal.SIGKILL)
            killed = plant.now()
            for _ in range(200):
                await asyncio.sleep(0.01)
                plant.now()
                if np.abs(plant.present()[1]).max() < 0.02:
                    break
            stopped_s = plant.now() - killed
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
        assert fast > 0.5
        assert stopped_s < 1.0
        stood = plant.present()[0].copy()
        await asyncio.sleep(0.1)
        plant.now()
        np.testing.assert_allclose(plant.present()[0], stood, atol=1e-3)


_HOST = """
    import asyncio, numpy as np
    from heft.daq.clock import RealClock
    from heft.drivers import registry
    from heft.drivers.driver import Context
    from heft.drivers.setpoints import Setpoints

    async def main():
        clock = RealClock()
        wanted = registry.driver_options("ros2").model_validate({"state_hz": 500.0, "effort": "torque", "ahead_s": 0.2})
        arm = registry.create_driver("ros2", "arm", wanted, Context(clock, axes=("joint1", "joint2")))
        arm.redirect(ENDPOINT)
        async with arm:
            await arm.arm()
            start = await arm.position()
            t = np.arange(1, 2001) * 0.004
            q = start + 0.3 * (1 - np.cos(np.pi * t))[:, None]
            v = np.repeat(0.3 * np.pi * np.sin(np.pi * t)[:, None], 2, axis=1)
            a = np.repeat(0.3 * np.pi**2 * np.cos(np.pi * t)[:, None], 2, axis=1)
            times = clock.now_ns() + 300_000_000 + (t * 1e9).astype(np.int64)
            await arm.play(Setpoints(0, times, q, v, a))
            print("playing", flush=True)
            async for _ in arm:
                pass

    asyncio.run(main())
"""


# -- parts -------------------------------------------------------------------------------------------------------------


def rows_of(stamps_ms: list[float], rate_hz: float = 1000.0) -> tuple[list[int], Counters, StampedRows]:
    """Sequence numbers of rows with these stamps, received then."""
    blocks: list[Block] = []
    stream = Stream("a.b", (Column("x", "position", "rad"),), rate_hz, tick_hz=1e9, tick_bits=63)
    rows, counters = StampedRows([stream], 5, blocks.append), Counters()
    rows.count_in(counters)
    rows.restart(0)
    for stamp in stamps_ms:
        rows.take(10**18 + round(stamp * 1e6), round(stamp * 1e6) + 1, [[stamp]], [[0]])
    rows.flush()
    return [k for b in blocks for k in range(b.sequence, b.next_sequence)], counters, rows


def test_gaps_are_counted_by_stamps_and_jitter_is_none():
    steady = [float(i) for i in range(40)]
    assert rows_of(steady)[0] == list(range(40))
    missing = [s for s in steady if s not in (10.0, 11.0, 25.0)]
    numbers, counters, _ = rows_of(missing)
    assert numbers == [int(s) for s in missing]
    assert counters.lost == 3
    late = [s + 0.9 if i in (7, 20) else s for i, s in enumerate(steady)]  # a publisher that was held up
    numbers, counters, _ = rows_of(late)
    assert numbers == list(range(40))
    assert counters.lost == 0


def test_rows_that_come_again_or_late_are_counted_and_left_out():
    numbers, counters, _ = rows_of([0.0, 1.0, 2.0, 2.0, 3.0, 2.0, 4.0, 5.0])
    assert numbers == list(range(6))
    assert (counters.duplicate, counters.late, counters.lost) == (1, 1, 0)


def test_a_clock_that_is_set_makes_no_thousand_gaps():
    stream = Stream("a.b", (Column("x", "position", "rad"),), 1000.0, tick_hz=1e9, tick_bits=63)
    blocks: list[Block] = []
    rows, counters = StampedRows([stream], 5, blocks.append), Counters()
    rows.count_in(counters)
    rows.restart(0)
    for i in range(40):
        set_by = 3600 * 10**9 if i >= 20 else 0
        rows.take(10**18 + i * 1_000_000 - set_by, i * 1_000_000 + 1, [[0.0]], [[0]])
    rows.flush()
    numbers = [k for b in blocks for k in range(b.sequence, b.next_sequence)]
    assert rows.jumps == 1
    assert numbers == list(range(40))
    assert counters.lost == 0


def test_a_window_ends_at_rest_without_leaving_the_deceleration():
    window = TrajectoryWindow(20_000_000, np.array([10.0, 20.0]))
    for k in range(12):
        q = np.array([0.01 * k, -0.02 * k])
        window.add(k * 10_000_000, np.concatenate([q, [1.0, -2.0], [0.0, 0.0]]), now_ns=60_000_000)
    points = window.points()
    times = [t for t, _ in points]
    assert times == sorted(set(times))
    assert times[0] <= 60_000_000 - 20_000_000 + 10_000_000  # begins in the past
    end = points[-1][1]
    np.testing.assert_allclose(end[2:], 0.0, atol=1e-12)
    assert all(np.abs(p[4:]).max() <= 20.0 + 1e-9 for _, p in points)
    assert end[0] > 0.11


def test_the_publishers_clock_is_that_of_the_fastest_message():
    clock = PublisherClock()
    for i in range(1000):
        delay_ns = 200_000 if i % 100 == 0 else 3_000_000
        clock.take(10**18 + i * 1_000_000, i * 1_000_000 + delay_ns)
    assert clock.at(5_000_000_000) == 10**18 + 5_000_000_000 - 200_000
    assert clock.rate == pytest.approx(1.0, abs=0.01)


class LateClock:
    """Each cycle begins later than asked by the next of these times [ns]; after the last, never."""

    def __init__(self, late_ns: Sequence[int]) -> None:
        self._late_ns, self._now_ns = iter(late_ns), 0

    def now_ns(self) -> int:
        return self._now_ns

    async def sleep_until(self, t_ns: int) -> None:
        late_ns = next(self._late_ns, None)
        if late_ns is None:
            raise asyncio.CancelledError
        self._now_ns = max(self._now_ns, t_ns) + late_ns


class HeardLine:
    """A controller that listens, and what it was sent."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def subscribers(self, topic: str) -> int:
        return 1

    async def send(self, item: bytes) -> int:
        self.sent.append(item)
        return 0


@pytest.mark.parametrize("late_ms", [7, 9, 23, 47])
async def test_a_late_host_tells_the_same_trajectory(late_ms):
    """Setpoints carry their instants: however late a cycle is told, the arm is there at the same time."""
    lateness = [late_ms * 1_000_000 if cycle % 10 == 5 else 0 for cycle in range(60)]
    clock = LateClock(lateness)
    wanted = registry.driver_options("ros2").model_validate(
        {"state_hz": 500.0, "effort": "torque", "ahead_s": 0.1}
    )
    arm = registry.create_driver("ros2", "arm", wanted, Context(clock, axes=AXES))  # type: ignore[arg-type]
    assert isinstance(arm, Ros2)
    arm._link = line = HeardLine()  # type: ignore[assignment]
    arm._reported, arm._sending = {0, 1}, True
    arm._publisher_clock.take(0, 0)
    rows: list[tuple[int, list[float], int]] = []
    arm._played.add = lambda number, values, host_ns: rows.append((number, values, host_ns))  # type: ignore[method-assign,assignment,misc]
    speed = np.array([0.5, -0.3])
    t = np.arange(1, 301) * 0.004
    times = 200_000_000 + np.rint(t * 1e9).astype(np.int64)
    arm._follower.arm(np.zeros(2))
    ramp = t[:, None] * speed
    await arm.play(Setpoints(0, times, ramp, 0 * ramp + speed, 0 * ramp))
    with pytest.raises(asyncio.CancelledError):
        await arm._run_cycle()
    assert arm.counters.skipped == 0
    assert len(line.sent) == 60
    numbers = [number for number, _, _ in rows]
    assert numbers == list(range(len(rows)))
    moving = [(values, at_ns) for _, values, at_ns in rows if at_ns >= 204_000_000]
    assert len(moving) > 20
    for values, at_ns in moving:
        np.testing.assert_allclose(values[:2], (at_ns * 1e-9 - 0.2) * speed, atol=1e-9)


def test_joints_are_found_by_name_whatever_their_order():
    clock = RealClock()
    wanted = registry.driver_options("ros2").model_validate({"state_hz": 500.0, "effort": "torque"})
    arm = registry.create_driver("ros2", "arm", wanted, Context(clock, axes=AXES))
    assert isinstance(arm, Ros2)
    told = JointState(5, ("finger", "joint2", "joint1"), (9.0, 2.0, 1.0), (9.0, 4.0, 3.0), (9.0, 6.0, 5.0))
    from heft.drivers.transports.dds import DdsMessage

    arm._on_received(DdsMessage("/joint_states", told.encode(), 10, 1))
    assert arm._raw_position == [1.0, 2.0]
    assert arm._raw_velocity == [3.0, 4.0]
    arm._on_received(DdsMessage("/joint_states", JointState(6, ("finger",), (9.0,), (), ()).encode(), 11, 1))
    assert arm.counters.refused == 1


@pytest.mark.parametrize("numbers", [(float("inf"), float("-inf")), (1e308, 1e308), (float("nan"), 0.0)])
def test_numbers_that_are_none_are_marked_and_huge_ones_are_numbers(numbers):
    """They end no task: the sum of both infinities is an error, and that of huge numbers is none."""
    clock = RealClock()
    wanted = registry.driver_options("ros2").model_validate({"state_hz": 500.0, "effort": "torque"})
    arm = registry.create_driver("ros2", "arm", wanted, Context(clock, axes=AXES))
    told = JointState(5, ("joint1", "joint2"), (1.0, 2.0), (3.0, 4.0), numbers)
    from heft.drivers.transports.dds import DdsMessage

    arm._on_received(DdsMessage("/joint_states", told.encode(), 10, 1))
    assert arm._raw_position == [1.0, 2.0]
