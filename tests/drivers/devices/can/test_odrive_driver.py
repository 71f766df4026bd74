"""What only ODrives do."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest

from heft.drivers.block import Validity
from heft.drivers.errors import CommandError, ConnectError
from heft.drivers.setpoints import Setpoints
from heft.drivers.transports.can_frame import CanFrame
from heft.drivers.transports.can_link import CanLink


@pytest.fixture
def kind():
    return "odrive_can"


async def test_nothing_is_sent_to_an_axis_before_it_is_armed(stand):
    """Whatever is sent feeds the watchdog."""
    async with stand() as bench, CanLink("bystander", bench.clock, bench.emulator.wire.settings) as link:
        axes = bench.emulator._axes
        fed = [axis.fed for axis in axes]
        await bench.sleep(0.3)
        assert [axis.fed for axis in axes] == fed
        await bench.arm.arm()
        await bench.sleep(0.2)
        await bench.arm.disarm()
        sent = {frame.id & 0x1F for frame in await link.receive() if not frame.remote} - {0x01, 0x09, 0x14}
        # State, mode, input position, clear errors; the supply's voltage was asked for to feed the watchdog while
        # arming.
        assert sent - {0x17} == {0x07, 0x0B, 0x0C, 0x18}
        fed = [axis.fed for axis in axes]
        await bench.sleep(0.3)
        assert [axis.fed for axis in axes] == fed


async def test_the_mode_is_told_once_for_each_axis(stand):
    """Firmware 0.5 sets its setpoint anew whenever it is told."""
    async with stand() as bench, CanLink("bystander", bench.clock, bench.emulator.wire.settings) as link:
        await bench.arm.arm()
        await bench.sleep(0.2)
        told = [frame.id >> 5 for frame in await link.receive() if frame.id & 0x1F == 0x0B]
        assert len(told) == len(set(told)) == len(bench.arm.axes)
        await bench.arm.disarm()


async def test_ages_tell_how_axes_differ_in_time(stand):
    async with stand({"encoder_rate_ms": 20, "iq_rate_ms": 20}, feedback_hz=50.0) as bench:
        bench.emulator._axes[0].phase, bench.emulator._axes[1].phase = 0.0, 0.5
        await bench.sleep(0.8)
    motion = bench.arm.streams[0]
    assert [c.name for c in motion.columns[4:]] == ["joint1.age", "joint2.age"]
    ages = bench.si("motion")[:, 4:]
    assert (ages >= 0.0).all()
    assert (ages.min(axis=1) == 0.0).all()  # the stamp is that of the youngest
    assert ages.max() < 0.5


@pytest.mark.parametrize("firmware", ["0.5", "0.6"])
async def test_both_firmwares(stand, words, firmware):
    axes = {joint: {**axis, "cpr": 8192} for joint, axis in words.driver["axes"].items()}
    async with stand({"firmware": firmware}, firmware=firmware, axes=axes) as bench:
        assert await bench.arm.position() == pytest.approx(bench.truth(), abs=2e-4)  # 0.5 would say 0
        await bench.arm.arm()
        assert {axis.modes_set for axis in bench.emulator._axes} == {1}
        end = await bench.send(0.5, 0.2)
        await bench.until(lambda: np.abs(bench.truth() - end).max() < 0.02)
        await bench.arm.disarm()
    assert bench.error is None


async def test_firmware_0_5_tells_zeros_until_its_loop_was_closed_once(stand):
    """They are no position: nothing may be planned from there, and no limit be checked there."""
    async with stand({"firmware": "0.5"}, firmware="0.5") as bench:
        with pytest.raises(
            CommandError, match=r"tells position 0, as firmware 0\.5 does until.*give its encoder's `cpr`"
        ):
            await bench.arm.position()
        await bench.until(lambda: bool(bench.blocks["arm.motion"]))
    assert all((b.validity[:, :4] == Validity.FAULT).all() for b in bench.blocks["arm.motion"])
    async with stand({"firmware": "0.5", "closed_before": True}, firmware="0.5") as bench:
        assert await bench.arm.position() == pytest.approx(bench.truth(), abs=2e-4)


@pytest.mark.parametrize(
    ("firmware", "setting"), [("0.5", "before 0.5.6 cannot"), ("0.6", "set iq_msg_rate_ms on it")]
)
async def test_an_axis_that_sends_no_current_is_refused(stand, firmware, setting):
    with pytest.raises(ConnectError, match=rf"sends no Iq within .*{setting}"):
        async with stand({"firmware": firmware, "iq_rate_ms": 0}, firmware=firmware):
            pass


async def test_the_wrong_firmware_is_refused(stand):
    with pytest.raises(ConnectError, match=r"says that it has firmware 0.6, the rig's file says 0.5"):
        async with stand({"firmware": "0.6"}, firmware="0.5"):
            pass


async def test_the_watchdog_can_be_read_instead_of_seen(stand):
    endpoints = {"enable_watchdog": 241, "watchdog_timeout": 242}
    async with stand(endpoints=endpoints) as bench:
        assert bench.arm.watchdog_s == 0.5
    async with stand({"watchdog_timeout": 2.0}, endpoints=endpoints) as bench:
        assert bench.arm.watchdog_s is None  # slower than the rig's file says
    async with stand({"watchdog_timeout": None}, endpoints=endpoints) as bench:
        assert bench.arm.watchdog_s is None


async def test_filtered_input(stand):
    async with stand(input_mode="filter") as bench:
        await bench.arm.arm()
        assert bench.emulator._axes[0].mode == (3, 3)
        end = await bench.send(0.5, 0.2)
        await bench.until(lambda: np.abs(bench.truth() - end).max() < 0.02)


async def test_an_axis_without_an_estimate_is_flagged(stand):
    async with stand() as bench:
        await bench.until(lambda: len(bench.blocks["arm.motion"]) > 2)
        frame = CanFrame(5 << 5 | 0x09, struct.pack("<ff", math.nan, 0.0))
        await bench.until_sent(frame, lambda: any(b.validity.any() for b in bench.blocks["arm.motion"]))
    flagged = next(b for b in bench.blocks["arm.motion"] if b.validity.any())
    assert flagged.validity[0].tolist() == [0, Validity.FAULT, 0, Validity.FAULT, 0, 0]


async def test_a_velocity_that_the_feed_forward_cannot_say_is_refused(stand):
    async with stand() as bench:
        await bench.arm.arm()
        here = await bench.arm.position()
        times = bench.clock.now_ns() + np.array([200_000_000, 210_000_000])
        fast = Setpoints(0, times, np.array([here, here]), np.full((2, 2), 30.0), np.zeros((2, 2)))
        with pytest.raises(
            CommandError, match=r"joint1 is sent on at 38.197 turns/s of its motor, bound 32.767"
        ):
            await bench.arm.play(fast)


def test_endpoints_are_for_firmware_0_6(make_driver):
    with pytest.raises(ValueError, match=r"firmware 0\.5 cannot be asked"):
        make_driver(firmware="0.5", endpoints={"enable_watchdog": 1, "watchdog_timeout": 2})
