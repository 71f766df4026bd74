"""No drive is armed that would go on when this program hangs, unless the rig's file says why."""

from __future__ import annotations

import pytest

from heft.drivers import registry
from heft.drivers.errors import CommandError

WHY = "test bench without a motor, the emergency stop is at hand"


@pytest.fixture(params=["cia402", "odrive_can", "mit_can"])
def kind(request):
    """Those that can be without; a moteus cannot."""
    return request.param


#: Emulator and driver options that make a drive without a watchdog, and how the refusal begins.
WITHOUT = {
    "cia402": (
        {"without": (0x1016,)},
        {},
        r"node 1 \(joint1\), node 2 \(joint2\) \(object 1016 or 6007 is refused\)",
    ),
    "odrive_can": (
        {"watchdog_timeout": None},
        {"watchdog_s": 0.1},
        "the watchdog of these ODrives has not run out",
    ),
    "mit_can": (
        {
            "motors": (
                {"model": "AK80-9", "motor": 1},
                {"model": "AK80-9", "motor": 2, "direction": -1, "zero": 0.5},
            )
        },
        {
            "axes": {
                "joint1": {"model": "AK80-9", "motor": 1, "kp": 100, "kd": 2},
                "joint2": {"model": "AK80-9", "motor": 2, "direction": -1, "zero": 0.5, "kp": 100, "kd": 2},
            }
        },
        r"motor 1 \(joint1\), motor 2 \(joint2\) is without a watchdog",
    ),
}


async def test_arming_without_a_watchdog_is_refused(kind, stand):
    emulator, options, says = WITHOUT[kind]
    async with stand(emulator, **options) as bench:
        assert bench.arm.watchdog_s is None
        with pytest.raises(CommandError, match=f"arm: {says}.*under `without_watchdog` in the rig's file"):
            await bench.arm.arm()
        assert not bench.on.any()


async def test_a_reason_in_the_rigs_file_allows_it(kind, stand):
    emulator, options, _ = WITHOUT[kind]
    async with stand(emulator, **options, without_watchdog=WHY) as bench:
        await bench.arm.arm()
        assert bench.on.all()
        await bench.arm.disarm()
        assert not bench.on.any()


def test_the_reason_must_be_one(kind):
    model = registry.driver_options(kind)
    with pytest.raises(ValueError, match="without_watchdog"):
        model.model_validate({"axes": {}, "without_watchdog": "yes"})


async def test_the_watchdog_is_in_the_drive_when_it_is_armed(kind, stand):
    async with stand() as bench:
        assert bench.arm.watchdog_s == 0.5
        if kind == "cia402":
            objects = bench.emulator.drives[0].node.objects
            assert objects[0x1016, 1] == 127 << 16 | 500
            assert objects[0x6007, 0] == 3
        if kind == "mit_can":
            assert bench.emulator._motors[0].registers[9] == 10_000  # 50 us each


class TestMoteus:
    """A controller gets its watchdog with every command: there is none without."""

    @pytest.fixture
    def kind(self):
        return "moteus"

    async def test_every_command_brings_it(self, stand):
        async with stand() as bench:
            await bench.arm.arm()
            assert [servo.timeout for servo in bench.emulator._servos] == pytest.approx([0.5, 0.5])
            assert bench.arm.watchdog_s == 0.5
