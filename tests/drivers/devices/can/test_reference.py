"""No drive moves whose position may be relative: each driver says how it knows, or the operator has looked."""

from __future__ import annotations

import pytest

from heft.drivers.errors import CommandError


def as_real(arm) -> None:
    """Take back what being redirected to an emulator says: that nothing real moves."""
    arm._pose_confirmed = False


@pytest.mark.parametrize("kind", ["cia402", "odrive_can", "mit_can"])
async def test_a_drive_that_does_not_tell_is_armed_only_when_somebody_has_looked(stand, kind):
    async with stand() as bench:
        as_real(bench.arm)
        assert set(bench.arm.unreferenced) == {"joint1", "joint2"}
        with pytest.raises(
            CommandError, match=r"may be relative.*Arming is refused; home it, say under `referenced`"
        ):
            await bench.arm.arm()
        assert not bench.on.any()
        bench.arm.confirm_pose()
        await bench.arm.arm()
        await bench.arm.disarm()


@pytest.mark.parametrize("kind", ["cia402", "odrive_can", "mit_can"])
async def test_the_rigs_file_may_say_how_it_is_known(stand, kind):
    async with stand(referenced="absolute encoders at the joints") as bench:
        as_real(bench.arm)
        assert bench.arm.unreferenced == {}
        await bench.arm.arm()
        await bench.arm.disarm()


@pytest.mark.parametrize(
    ("home_state", "said"), [(0, "counts from where it was switched on"), (1, "to its rotor")]
)
@pytest.mark.parametrize("kind", ["moteus"])
async def test_moteus_tells_itself_and_goes_before_the_file(stand, kind, home_state, said):
    controllers = ({"number": 1, "home_state": home_state}, {"number": 9, "gear": -2.0, "zero": 0.25})
    async with stand({"controllers": controllers}, referenced="somebody thinks that they are homed") as bench:
        as_real(bench.arm)
        assert list(bench.arm.unreferenced) == ["joint1"]
        assert said in bench.arm.unreferenced["joint1"]
        with pytest.raises(CommandError, match=r"controller \d+ \(joint1\) may be relative"):
            await bench.arm.arm()


@pytest.mark.parametrize("kind", ["moteus"])
async def test_moteus_referenced_to_its_output_is_armed(stand, kind):
    async with stand() as bench:
        as_real(bench.arm)
        assert bench.arm.unreferenced == {}
        await bench.arm.arm()
        await bench.arm.disarm()


@pytest.mark.parametrize("kind", ["moteus"])
async def test_moteus_plans_no_way_of_its_own(stand, kind):
    """Its stored limits (50 turns/s2 from the factory) would keep its planner between setpoints and servo."""
    async with stand() as bench:
        await bench.arm.arm()
        await bench.send(0.4, 0.4)
        await bench.sleep(0.2)
        assert not bench.emulator._stages.smoothed.any()
        await bench.sleep(0.4)
        await bench.arm.disarm()
