"""A Universal Robots arm: armed only where it may move, moved by its program, stopped by all that must stop it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import asynccontextmanager

import numpy as np
import pytest

from heft.daq.clock import RealClock
from heft.drivers import registry
from heft.drivers.codecs.ur_rtde import Package, Type
from heft.drivers.driver import Context
from heft.drivers.errors import CommandError, DeviceFault, DeviceLost
from heft.drivers.flange_load import FlangeLoad, LoadHolder
from heft.drivers.plant.bench import Bench
from heft.drivers.plant.faults import DriveFault, Silence
from heft.drivers.setpoints import Setpoints
from heft.drivers.transports.transport import Chunk

AXES = tuple(f"joint{i}" for i in range(1, 7))
POSTURE = np.array([0.3, -1.2, 0.5, 0.1, -0.2, 0.7])
#: Slower than the controller, for a host that other tests keep busy: its program bridges what is missing.
CALM = {"host": "192.0.2.1", "rate_hz": 100.0, "watchdog_s": 0.5, "timeout_s": 0.4}
PORTS = {"port": 0, "script_port": 0, "realtime_port": None, "dashboard_port": 0, "gripper_port": None}


class Stand:
    """An emulated controller on a bench, its driver, and what it yields."""

    def __init__(self, plant, emulator, arm):
        self.plant, self.emulator, self.arm = plant, emulator, arm
        self.controller = emulator.controller
        self.blocks = defaultdict(list)
        self.error = None

    def truth(self):
        return self.plant.joint_positions(np.array([self.plant.now()]))[0]

    def speed(self):
        return float(np.abs(self.plant.motor(np.array([self.plant.now()])).v).max())

    def si(self, what):
        return np.concatenate([block.si for block in self.blocks[f"arm.{what}"]])

    async def read(self):
        try:
            async for block in self.arm:
                self.blocks[block.stream.name].append(block)
        except Exception as exc:
            self.error = exc

    async def send(self, seconds, by):
        """All joints to and by `by` [rad], in minimum jerk; where they will be."""
        clock, start = self.arm.clock, np.array(await self.arm.position())
        t = np.arange(1, round(seconds * 500) + 1) / 500.0
        u = t / seconds
        s = (u**3 * (10 - 15 * u + 6 * u * u))[:, None]
        v = ((30 * u**2 - 60 * u**3 + 30 * u**4) / seconds)[:, None]
        a = ((60 * u - 180 * u**2 + 120 * u**3) / seconds**2)[:, None]
        ones = np.full((1, 6), by)
        times = clock.now_ns() + 200_000_000 + np.round(t * 1e9).astype(np.int64)
        await self.arm.play(Setpoints(0, times, start + s * ones, v * ones, a * ones, last=True))
        return start + by

    async def until(self, condition, seconds=20.0, *, expected=True):
        async with asyncio.timeout(seconds):
            while not condition():
                assert self.error is None or expected, self.error
                await asyncio.sleep(0.005)


@pytest.fixture
def stand():
    @asynccontextmanager
    async def make(driver=None, **emulator):
        clock = RealClock()
        plant = Bench(clock, axes=AXES, posture=POSTURE, sway_hz=0.02)
        chosen = registry.emulator_options("ur_rtde").model_validate({**PORTS, **emulator})
        options = registry.driver_options("ur_rtde").model_validate({**CALM, **(driver or {})})
        async with registry.create_emulator("ur_rtde", "arm", chosen, plant) as controller:
            arm = registry.create_driver("ur_rtde", "arm", options, Context(clock=clock, axes=AXES))
            arm.redirect(controller.endpoint)
            async with arm:
                bench = Stand(plant, controller, arm)
                reading = asyncio.create_task(bench.read())
                try:
                    yield bench
                finally:
                    reading.cancel()
                    await asyncio.gather(reading, return_exceptions=True)

    return make


async def test_arms_moves_holds_and_disarms(stand):
    async with stand() as bench:
        arm, start = bench.arm, bench.truth()
        assert arm.unreferenced == {}
        assert await arm.position() == pytest.approx(start, abs=1e-9)
        await arm.arm()
        assert bench.controller.runtime_state == 2
        await asyncio.sleep(0.1)
        assert bench.truth() == pytest.approx(start, abs=1e-3), "arming moved the arm"
        end = await bench.send(1.0, 0.4)
        await bench.until(lambda: arm._follower.at_rest and bench.speed() < 0.01, expected=False)
        await asyncio.sleep(0.3)
        assert bench.truth() == pytest.approx(end, abs=5e-3)
        await arm.hold()
        assert arm.holding
        await arm.disarm()
        await arm.disarm()  # twice is no harm
        assert bench.controller.runtime_state == 1
        assert bench.truth() == pytest.approx(end, abs=5e-3)
        await arm.arm()  # and again
        await arm.disarm()
    assert bench.error is None
    assert np.ptp(bench.si("played")[:, 0]) == pytest.approx(0.4, abs=0.01)
    assert np.ptp(bench.si("motion")[:, 0]) == pytest.approx(0.4, abs=0.02)
    motion, current = bench.si("motion"), bench.si("current")
    k = min(len(motion), len(current))
    assert current[:k, 0] @ np.gradient(motion[:k, 6]) > 0.0  # the bench's joints are inertias


async def test_at_the_rate_of_a_cb3(stand):
    async with stand(
        {"rate_hz": 125, "wrench": False, "dashboard_port": None}, version=(3, 15, 0, 0)
    ) as bench:
        await bench.arm.arm()
        end = await bench.send(0.8, -0.3)
        await bench.until(lambda: bench.arm._follower.at_rest and bench.speed() < 0.01, expected=False)
        await asyncio.sleep(0.3)
        assert bench.truth() == pytest.approx(end, abs=5e-3)
        await bench.arm.disarm()
    assert bench.error is None


@pytest.mark.parametrize(
    ("emulator", "says"),
    [
        ({"remote": False}, "not in remote control .*choose remote control at the pendant"),
        ({"speed_fraction": 0.5}, "speed slider at 50%"),
    ],
)
async def test_arming_is_refused(stand, emulator, says):
    async with stand(**emulator) as bench:
        with pytest.raises(CommandError, match=says):
            await bench.arm.arm()
        assert bench.controller.runtime_state == 1


async def test_arming_is_refused_in_a_protective_stop_and_beside_another_program(stand):
    async with stand() as bench:
        bench.controller.stop_protectively(0.0, "for the test")
        await bench.until(lambda: bench.arm._modes[1] == 3)
        with pytest.raises(CommandError, match=r"safety mode protective stop \(3\)"):
            await bench.arm.arm()
        bench.controller.unlock()
        await bench.until(lambda: bench.arm._modes[1] == 1)
        bench.controller.submit("def other():\n  while True:\n    sync()\n  end\nend\n", 0.0)
        await bench.until(lambda: bench.arm._modes[2] == 2)
        with pytest.raises(CommandError, match="a program is there"):
            await bench.arm.arm()
        assert bench.controller.runtime_state == 2, "the other program was ended"


async def test_without_its_dashboard_a_local_controller_takes_no_program(stand):
    async with stand(dashboard_port=None, remote=False) as bench:
        bench.arm.options = bench.arm.options.model_copy(update={"dashboard_port": None})
        with pytest.raises(DeviceFault, match=r"does not run 2 s after .*in remote control"):
            await bench.arm.arm()


async def moving(bench):
    await bench.arm.arm()
    await bench.send(5.0, 2.0)
    await bench.until(lambda: bench.speed() > 0.3, expected=False)


async def test_a_protective_stop_is_a_fault_and_the_arm_rests(stand):
    async with stand() as bench:
        await moving(bench)
        bench.plant.inject(DriveFault(device="arm", at_s=bench.plant.now(), joint="joint2"))
        await bench.until(lambda: bench.error is not None)
        assert isinstance(bench.error, DeviceFault)
        assert "protective stop (3)" in str(bench.error)
        await bench.until(lambda: bench.speed() < 0.01, 2.0)


async def test_a_program_that_ends_is_a_fault(stand):
    async with stand() as bench:
        await moving(bench)
        bench.controller.stop(bench.plant.now())
        await bench.until(lambda: bench.error is not None)
        assert "its program has ended (runtime state stopped (1))" in str(bench.error)
        await bench.until(lambda: bench.speed() < 0.01, 2.0)


async def test_a_dead_link_stops_the_arm_by_the_watchdog_of_the_program(stand):
    async with stand() as bench:
        await moving(bench)
        bench.plant.inject(Silence(device="arm", at_s=bench.plant.now()))
        await bench.until(lambda: bench.error is not None)
        assert isinstance(bench.error, DeviceLost)
        assert "silent for more than 0.4 s" in str(bench.error)
        await bench.until(lambda: bench.controller.runtime_state == 1 and bench.speed() < 0.01, 3.0)
        assert bench.controller.outputs["output_int_register_24"] == -1


async def test_a_hung_host_is_stopped_by_the_watchdog(stand):
    async with stand() as bench:
        await moving(bench)
        program, bench.arm._program = bench.arm._program, None  # nothing feeds it any more
        await bench.until(lambda: bench.error is not None)
        assert "the watchdog of its program has stopped the arm" in str(bench.error)
        await bench.until(lambda: bench.speed() < 0.01, 3.0)
        program.close()


async def test_the_controllers_own_watchdog_acts_where_the_script_hangs(stand):
    async with stand() as bench:
        script = (
            "def hangs():\n"
            '  rtde_set_watchdog("input_int_register_24", 5, "stop")\n'
            "  while True:\n    sync()\n  end\nend\n"
        )
        bench.controller.submit(script, bench.plant.now())
        await bench.until(lambda: bench.controller.runtime_state == 1, 3.0)
        assert "no input_int_register_24 for 0.2 s: program stopped" in bench.controller.said


async def test_registers_that_another_client_feeds_are_refused(stand):
    async with stand() as bench:
        await bench.arm.arm()
        other = registry.create_driver(
            "ur_rtde", "other", bench.arm.options, Context(clock=bench.arm.clock, axes=AXES)
        )
        async with other:
            await asyncio.sleep(0.05)
            line = other._program_line()
            with pytest.raises(CommandError, match="input_int_register_24 is IN_USE"):
                await line.open()
            line.close()
        await bench.arm.disarm()


async def test_the_load_goes_to_the_controller_and_comes_back(stand):
    async with stand(payload=0.9, payload_cog=(0.0, 0.0, 0.05)) as bench:
        arm = bench.arm
        assert isinstance(arm, LoadHolder)
        assert (await arm.load()).mass == 0.9
        wanted = FlangeLoad(1.53, (0.01, -0.02, 0.0801), (0.01, 0.02, 0.03, 0.001, -0.002, 0.003))
        await arm.arm()
        await bench.send(2.0, 0.2)
        await arm.set_load(wanted)
        assert await arm.load() == wanted
        assert bench.controller.load[0] == 1.53
        assert bench.controller.runtime_state == 2, "the program that moves the arm was ended"
        await arm.hold()
        await arm.disarm()
    assert bench.error is None


async def test_a_controller_that_is_not_in_remote_control_takes_no_load(stand):
    async with stand(remote=False) as bench:
        with pytest.raises(CommandError, match="not in remote control"):
            await bench.arm.set_load(FlangeLoad(1.0, (0.0, 0.0, 0.1)))
        assert bench.controller.load[0] == 0.0


def test_what_a_controller_says_unasked_is_not_kept():
    options = registry.driver_options("ur_rtde").model_validate(CALM)
    arm = registry.create_driver("ur_rtde", "arm", options, Context(clock=RealClock(), axes=AXES))
    said = Chunk(Package(Type.TEXT, b"\x05hello\x02me\x03").encode(), 10)
    for _ in range(100):
        arm._on_received(said)
    assert arm._answers == []
