"""What only MIT actuators do."""

from __future__ import annotations

import numpy as np
import pytest

from heft.drivers.block import Validity
from heft.drivers.errors import CommandError, ConnectError
from heft.drivers.setpoints import Setpoints
from heft.drivers.transports.can_link import CanLink

OVERRIDE = "AK motors have no watchdog; test bench with an emergency stop"
MIXED = {
    "joint1": {"model": "AK80-9", "motor": 1, "kp": 100, "kd": 2},
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
MOTORS = ({"model": "AK80-9", "motor": 1}, {"model": "DM8009", "motor": 2, "direction": -1, "zero": 0.5})


@pytest.fixture
def kind():
    return "mit_can"


async def test_ak_and_damiao_on_one_bus(stand):
    async with stand({"motors": MOTORS}, axes=MIXED, without_watchdog=OVERRIDE) as bench:
        assert bench.arm.identity.vendor == "Damiao, T-Motor"
        await bench.arm.arm()
        end = await bench.send(0.6, 0.3)
        await bench.until(lambda: np.abs(bench.truth() - end).max() < 0.06)
        await bench.arm.disarm()
        assert not bench.on.any()


async def test_one_frame_for_every_motor_and_cycle(stand):
    """Orders take the place of a cycle's command: every motor is spoken to once, and answers once."""
    async with stand() as bench, CanLink("bystander", bench.clock, bench.emulator.wire.settings) as link:
        await bench.sleep(0.2)
        await bench.arm.arm()
        await bench.sleep(0.2)
        await bench.arm.disarm()
        frames = await link.receive()
    commands = sum(f.id in (1, 2, 0x7FF) for f in frames)
    answers = sum(f.id in (0x11, 0x12) for f in frames)
    assert abs(commands - answers) <= 2  # one cycle may be under way
    assert bench.arm.counters.duplicate == 0
    orders = [f.data[7] for f in frames if f.id in (1, 2) and f.data[:7] == b"\xff" * 7]
    assert orders[:4] == [0xFB, 0xFB, 0xFC, 0xFC]
    assert set(orders[4:]) == {0xFD}


async def test_values_near_the_ends_of_their_range_are_not_believed(stand):
    async with stand({"motors": MOTORS}, axes=MIXED, without_watchdog=OVERRIDE) as bench:
        bench.plant._q[0] = 12.4
        await bench.until(lambda: any(b.validity.any() for b in bench.blocks["arm.motion"]))
    flagged = next(b for b in bench.blocks["arm.motion"] if b.validity.any())
    assert flagged.validity[-1].tolist() == [Validity.SATURATED, 0, 0, 0, 0, 0]


async def test_setpoints_outside_the_range_are_refused(stand):
    async with stand() as bench:
        await bench.arm.arm()
        here = await bench.arm.position()
        times = bench.clock.now_ns() + np.array([200_000_000, 210_000_000])
        still = np.zeros((2, 2))
        with pytest.raises(
            CommandError, match=r"joint1: MIT: position 13.3 is outside -12.5 to 12.5; change"
        ):
            await bench.arm.play(Setpoints(0, times, np.array([here, [13.3, 0.0]]), still, still))


async def test_an_ak_motor_goes_on_when_the_host_hangs(stand):
    """Why arming one needs a reason: nothing stops it."""
    axes = {joint: {**MIXED["joint1"], "motor": i} for i, joint in enumerate(MIXED, 1)}
    motors = tuple({"model": "AK80-9", "motor": i} for i in (1, 2))
    async with stand({"motors": motors}, axes=axes, without_watchdog=OVERRIDE) as bench:
        await bench.arm.arm()
        for task in bench.arm._tasks:
            task.cancel()
        await bench.sleep(0.8)
        assert bench.on.all()


def test_motors_that_cannot_be(make_driver):
    for axis, says in (
        ({**MIXED["joint1"], "model": "AK99"}, "'AK99' is not in the table"),
        ({**MIXED["joint2"], "motor": 17}, "a Damiao motor tells only 4 bits of its number"),
        ({**MIXED["joint2"], "kp": 501}, "kp"),
    ):
        with pytest.raises(ValueError, match=says):
            make_driver(axes={**MIXED, "joint2": axis})


async def test_a_range_of_ones_own(stand):
    """A motor that was set otherwise, and a rig's file that says so."""
    axes = {
        **MIXED,
        "joint2": {**MIXED["joint2"], "range": {"position": 6.0, "velocity": 10.0, "torque": 20.0}},
    }
    motors = (MOTORS[0], {**MOTORS[1], "limits": (6.0, 10.0, 20.0)})
    async with stand({"motors": motors}, axes=axes, without_watchdog=OVERRIDE) as bench:
        assert await bench.arm.position() == pytest.approx(bench.truth(), abs=1e-3)
    with pytest.raises(
        ConnectError, match=r"range of position is 12.5 rad in the rig's file, but the motor says 6 rad"
    ):
        async with stand({"motors": motors}, axes=MIXED, without_watchdog=OVERRIDE):
            pass


def ak(**more):
    """One AK80-9 and one Damiao motor."""
    return {
        "joint1": {"model": "AK80-9", "motor": 1, "kp": 100, "kd": 2, **more},
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


AK_MOTORS = ({"model": "AK80-9", "motor": 1}, {"model": "DM8009", "motor": 2, "direction": -1, "zero": 0.5})
ALONE = {"without_watchdog": "an emulated motor moves nothing"}


async def test_an_ak80_9_reports_a_third_too_much(stand):
    """True torque is 0.746 of it (TMotorCANControl): masses would come out a third too high."""
    async with stand({"motors": AK_MOTORS}, axes=ak(), weight=2.0, **ALONE) as bench:
        await bench.arm.arm()
        await bench.sleep(1.0)
        torque = bench.si("torque")[-20:, 0].mean()
        truth = bench.plant.mean_torque(np.array([bench.plant.now() - 0.1]), 0.1)[0, 0]
        assert torque == pytest.approx(truth, abs=0.05)
        assert abs(truth) > 0.5
        scale = bench.arm.streams[1].columns[0].scale
        assert scale == pytest.approx(36 / 4095 * 0.59 * 0.115 / 0.091)
    async with stand({"motors": AK_MOTORS}, axes=ak(torque_gain=0.8), **ALONE) as bench:
        assert bench.arm.streams[1].columns[0].scale == pytest.approx(36 / 4095 * 0.8)


async def test_an_ak_motor_that_is_mute_while_it_is_off_is_enabled_to_be_read(stand):
    async with stand({"motors": AK_MOTORS, "answers_off": False}, axes=ak(), **ALONE) as bench:
        await bench.until(lambda: bool(bench.blocks["arm.motion"]))
        await bench.arm.arm()
        await bench.arm.disarm()
        seen = len(bench.blocks["arm.motion"])
        await bench.until(lambda: len(bench.blocks["arm.motion"]) > seen + 2)
    assert bench.error is None
    assert not bench.on.any()


async def test_an_ak_motor_without_a_brake_is_not_even_read_unasked(stand):
    """It may have been left switched on, and the command that reads it takes its torque away."""
    with pytest.raises(
        ConnectError, match=r"motor 1 \(joint1\) has no brake, and can be read only by a command"
    ):
        async with stand({"motors": AK_MOTORS}, axes=ak(brake=False)):
            pass
