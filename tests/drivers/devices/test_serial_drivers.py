"""What the serial drivers do besides what all drivers do."""

from __future__ import annotations

import asyncio
import time

import numpy as np
import pytest

from heft.drivers.block import Validity
from heft.drivers.codecs.robotiq_2f import Fault
from heft.drivers.emulators.wires.wire_faults import Status
from heft.drivers.errors import CommandError, ConnectError, DeviceFault, OptionError
from heft.drivers.plant.faults import Corrupt, Silence

BOTTLE = {"mass": 0.53, "com": (0, 0, 0.16), "inertia": (0.002, 0.002, 0.0003, 0, 0, 0), "width": 0.06}


async def read(driver, samples):
    blocks = []
    async for block in driver:
        blocks.append(block)
        if sum(map(len, blocks)) >= samples:
            await driver.stop()
    return blocks


# -- Bota --------------------------------------------------------------------------------------------------------------


async def test_bota_as_it_is_set_must_be_as_the_file_says(emulated, driver):
    async with emulated("bota_serial", sinc=512, boot_s=0.02) as sensor:
        options = {"port": "x", "configure": False}
        with pytest.raises(
            ConnectError, match=r"sends every 10000 us, but sinc 64 means 1250 us; correct sinc"
        ):
            await driver("bota_serial", sensor, **options).__aenter__()
        async with driver("bota_serial", sensor, sinc=512, **options) as wrist:
            assert wrist.streams[0].rate_hz == 100.0


async def test_bota_without_acknowledgement(emulated, driver):
    async with (
        emulated("bota_serial", acknowledges=False, runs=False, boot_s=0.1) as sensor,
        driver("bota_serial", sensor, port="x", configure_wait_s=0.02) as wrist,
    ):
        blocks = await read(wrist, 200)
    temperature = [b for b in blocks if b.stream.name == "device.temperature"]
    assert temperature[0].si[0, 0] == pytest.approx(300.15)
    assert temperature[0].stream.rate_hz == pytest.approx(20.0)


async def test_bota_that_restarts_when_its_port_is_opened(emulated, driver):
    """As real ones do: whoever asks at once, and gives up a second later, never hears from it."""
    async with (
        emulated("bota_serial", boot_s=1.4) as sensor,
        driver("bota_serial", sensor, port="x", configure_wait_s=0.1) as wrist,
    ):
        assert sum(map(len, await read(wrist, 50))) >= 50


async def test_bota_reports_what_its_load_does_to_it(emulated, driver, bench):
    """The force of a weight on a SensONE points down (force_torque_tools, pull request 18)."""
    async with (
        emulated("bota_serial", boot_s=0.02) as sensor,
        driver("bota_serial", sensor, port="x", configure_wait_s=0.1) as wrist,
    ):
        (block, *_) = await read(wrist, 1)
    truth = bench.wrench(np.array([bench.now()]), 0.0)[0]
    assert block.values[0, :3] == pytest.approx(-truth[:3], abs=3.0)
    assert block.si[0, :3] == pytest.approx(truth[:3], abs=3.0)


@pytest.mark.parametrize("sinc", [63, 2049])
def test_bota_takes_only_filters_that_the_maker_allows(driver, sinc):
    with pytest.raises(ValueError, match="sinc"):
        driver("bota_serial", port="x", sinc=sinc)


def test_bota_rate_that_the_line_cannot_carry(driver):
    with pytest.raises(OptionError, match=r"device: sinc 64 makes 800 frames/s, but 115200 baud carry 311"):
        driver("bota_serial", port="x", baud=115200)


async def test_bota_that_says_nothing(emulated, driver, bench):
    async with emulated("bota_serial", boot_s=0.0) as sensor:
        bench.inject(Silence(device="device"))
        with pytest.raises(ConnectError, match=r"no byte within 1 s of the start; check its cable and power"):
            await driver("bota_serial", sensor, port="x", configure=False, boot_s=0.1).__aenter__()


async def test_an_older_rokubi_is_named(emulated, driver, monkeypatch):
    """It sends FF FA FA FF, and 22 bytes more."""
    async with emulated("bota_serial", boot_s=0.0, runs=True) as sensor:
        send = sensor.wire.send

        async def old(item: bytes, to: object = None, *, at: float | None = None) -> None:
            await send(b"\xff\xfa\xfa\xff" + bytes(22), to, at=at)

        monkeypatch.setattr(sensor.wire, "send", old)
        with pytest.raises(ConnectError, match=r"this is an older Rokubi, which sends frames of 26 bytes"):
            await driver("bota_serial", sensor, port="x", configure=False, boot_s=0.1).__aenter__()


# -- AMT21 -------------------------------------------------------------------------------------------------------------


async def test_amt21_knows_its_turns(emulated, driver, bench):
    encoder = {"address": 0x54, "ratio": -30.0, "zero": 0.1, "multi_turn": True}
    async with (
        emulated("amt21", encoders={"joint2": encoder}) as line,
        driver("amt21", line, port="x", encoders={"joint2": encoder}, max_speed=0.3) as encoders,
    ):
        (block, *_) = await read(encoders, 1)
    assert block.si[0, 0] == pytest.approx(-1.2, abs=1e-4)
    assert block.stream.at_request
    assert block.request_ns[0] <= block.host_ns[0]


async def test_amt21_garbage_that_passes_the_check_bits_is_flagged(emulated, driver, bench, monkeypatch):
    encoder = {"joint1": {"address": 0x54}}
    async with (
        emulated("amt21", encoders=encoder) as line,
        driver("amt21", line, port="x", rate_hz=200.0, encoders=encoder, max_speed=1.0) as encoders,
    ):
        honest, answers = line._answer, 0

        def lie(address, *, turns):
            nonlocal answers
            answers += 1
            return bytes.fromhex("0060") if answers == 4 else honest(address, turns=turns)

        monkeypatch.setattr(line, "_answer", lie)
        blocks = await read(encoders, 8)
        assert encoders.counters.corrupt == 1
    bad = [b for b in blocks if b.validity[0, 0] == Validity.CORRUPT]
    assert len(bad) == 1
    assert all(b.si[0, 0] == pytest.approx(0.3, abs=1e-3) for b in blocks if b not in bad)


def test_amt21_options_that_cannot_be(driver):
    with pytest.raises(OptionError, match=r"elbow is no joint of the robot; known: joint1, joint2"):
        driver("amt21", port="x", encoders={"elbow": {}})
    with pytest.raises(OptionError, match=r"more than half a turn"):
        driver("amt21", port="x", encoders={"joint1": {"ratio": 50.0}})
    with pytest.raises(ValueError, match=r"addresses \[84, 84\] are not all different"):
        driver("amt21", port="x", encoders={"joint1": {}, "joint2": {}})
    with pytest.raises(ValueError, match="multiple of 4"):
        driver("amt21", port="x", encoders={"joint1": {"address": 0x55}})


async def test_amt21_with_a_wrong_resolution_is_found_out(emulated, driver):
    async with emulated("amt21") as line:
        wrong = {"joint1": {"bits": 12}}
        with pytest.raises(ConnectError, match=r"has 14 bits, the configuration says 12"):
            await driver("amt21", line, port="x", encoders=wrong).__aenter__()


# -- gripper -----------------------------------------------------------------------------------------------------------


async def test_gripper_picks_drops_and_releases(emulated, driver, bench):
    async with (
        emulated("robotiq_2f", objects={"bottle": BOTTLE}, activation_s=0.05) as fingers,
        driver("robotiq_2f", fingers, port="x", rate_hz=50.0, speed=255) as gripper,
    ):
        rows = []

        async def watch() -> None:
            async for block in gripper:
                rows.extend(block.si.tolist())

        reader = asyncio.create_task(watch(), name="reader")
        await gripper.grip("bottle")
        await bench.clock.sleep_until(bench.clock.now_ns() + 100_000_000)
        assert gripper.held
        opening, current, detected = rows[-1]
        assert (opening, detected) == (pytest.approx(0.06, abs=5e-4), 1.0)
        assert current == pytest.approx(0.4)
        assert bench._held == 0.53, "the plant carries it"
        fingers.slip()
        while gripper.held:
            await bench.clock.sleep_until(bench.clock.now_ns() + 20_000_000)
        assert bench._held == 0.0
        await gripper.release()
        await bench.clock.sleep_until(bench.clock.now_ns() + 60_000_000)
        assert rows[-1] == pytest.approx([0.085, 0.0, 0.0], abs=1e-3)
        await gripper.stop()
        await reader


async def test_gripper_is_its_own_watchdog(emulated, driver, bench):
    """Fingers stop where they were sent, host or not; one that hears nothing says so, and keeps what it holds."""
    async with (
        emulated("robotiq_2f", objects={"bottle": BOTTLE}, activation_s=0.05) as fingers,
        driver("robotiq_2f", fingers, port="x", speed=255) as gripper,
    ):
        await gripper.grip("bottle")
        await read(gripper, 4)
        fingers._fingers._heard -= 2.0  # as if nobody had spoken to it for two seconds
        status, _, _ = await gripper._read()
        assert status.fault == Fault.NO_COMMUNICATION
        assert bench._held == 0.53
        assert gripper.held
        (block, *_) = await read(gripper, 1)  # and when somebody does, it is as before
        assert (block.validity == Validity.OK).all()
        await gripper.release()
        assert bench._held == 0.0


async def test_connecting_moves_nothing(emulated, driver):
    async with emulated("robotiq_2f") as fingers, driver("robotiq_2f", fingers, port="x") as gripper:
        assert await read(gripper, 3)
        assert fingers._fingers._active_from is None


async def test_gripper_in_trouble_says_so(emulated, driver, bench):
    async with (
        emulated("robotiq_2f", activation_s=0.05) as fingers,
        driver("robotiq_2f", fingers, port="x") as gripper,
    ):
        await gripper.release()
        bench.inject(Status(device="device", bits=0x08, at_s=bench.now()))
        with pytest.raises(DeviceFault, match=r"^device: cannot grip: over temperature"):
            await gripper.grip()


async def test_gripper_that_does_not_confirm(emulated, driver, bench):
    async with (
        emulated("robotiq_2f", activation_s=0.05) as fingers,
        driver("robotiq_2f", fingers, port="x", answer_s=0.03) as gripper,
    ):
        await gripper.release()
        bench.inject(Silence(device="device", at_s=bench.now()))
        with pytest.raises((CommandError, ConnectError), match=r"^device: .*3 (times|attempts)"):
            await gripper.grip()


async def test_gripper_on_a_bad_line_still_grips(emulated, driver, bench):
    async with (
        emulated("robotiq_2f", objects={"bottle": BOTTLE}, activation_s=0.05) as fingers,
        driver("robotiq_2f", fingers, port="x", answer_s=0.03, speed=255) as gripper,
    ):
        bench.inject(Corrupt(device="device", rate=0.2))
        await gripper.grip()
        for _ in range(20):
            await read(gripper, 1)
        assert gripper.held
        assert np.isclose(fingers._fingers._position(bench.now()), round(230 - 217 * 0.06 / 0.085))


async def test_fingers_that_are_shut_read_zero(emulated, driver):
    """A 2F-85 counts from 13 to 230, and never to 255."""
    async with (
        emulated("robotiq_2f", activation_s=0.05) as fingers,
        driver("robotiq_2f", fingers, port="x", speed=255, answer_s=0.2) as gripper,
    ):
        await gripper.grip()
        (shut, *_) = await read(gripper, 1)
        await gripper.release()
        (wide, *_) = await read(gripper, 1)
    assert (shut.values[0, 0], wide.values[0, 0]) == (230, 13)
    assert shut.si[0, 0] == pytest.approx(0.0, abs=1e-9)
    assert wide.si[0, 0] == pytest.approx(0.085)


async def test_ft300_tells_letters_and_a_number(emulated, driver):
    async with (
        emulated("robotiq_ft300", letters="FTS", serial=123_456) as sensor,
        driver("robotiq_ft300", sensor, port="x", stop_s=0.03) as wrist,
    ):
        assert wrist.identity.serial == "FTS-123456"
        assert wrist.options.answer_s == 0.4
    async with emulated("robotiq_ft300", firmware="GC") as other:
        with pytest.raises(ConnectError, match=r"register 500 is 0x4743, which begins with no F"):
            await driver("robotiq_ft300", other, port="x", stop_s=0.03).__aenter__()


# -- a host that stalls ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["bota_serial", "robotiq_ft300", "robotiq_2f", "amt21"])
async def test_a_host_that_stalls_for_longer_than_the_timeout_loses_no_device(emulated, driver, kind):
    options = {
        "bota_serial": {"configure_wait_s": 0.02},
        "robotiq_ft300": {"stop_s": 0.03},
        "robotiq_2f": {"answer_s": 0.05},
        "amt21": {"encoders": {"joint1": {}}},
    }[kind]
    boot = {"boot_s": 0.02} if kind == "bota_serial" else {}
    async with (
        emulated(kind, **boot) as device,
        driver(kind, device, port="x", timeout_s=0.1, **options) as reader,
    ):
        async for block in reader:
            if block.next_sequence in range(2, 6):
                time.sleep(0.15)  # noqa: ASYNC251 - this is the stall
            if block.next_sequence > 20:
                await reader.stop()
