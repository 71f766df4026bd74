"""The drives: arm, play, hold, disarm; what they refuse; how they stop by themselves."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from heft.drivers.errors import CommandError, DeviceFault, RestError, UnderrunError
from heft.drivers.plant.faults import DriveFault
from heft.drivers.setpoints import Setpoints

Make = Callable[..., Any]
START = np.array([0.0, -0.5, 0.0, 1.8, -1.8, 0.0, 0.0])


@pytest.fixture
def arm_bench(bench: Make) -> Make:
    def make(drive: dict[str, Any] | None = None, **keywords: Any) -> Any:
        options = {"posture": tuple(START), **keywords.pop("options", {})}
        return bench(options=options, **keywords).add("sim_drives", "arm", **(drive or {}))

    return make


def speed(b: Any) -> float:
    b.world.advance(b.clock.now_ns())
    return float(np.abs(b.world.dynamics.v).max())


async def test_it_follows_within_a_few_milliradians(arm_bench: Make, swing: Make) -> None:
    async def script(b: Any) -> None:
        await b.arm.arm()
        np.testing.assert_allclose(await b.arm.position(), START, atol=1e-3)
        await b.follow(swing(START, 0.25, 4.0))

    for seed in (0, 1):
        b = await arm_bench(seed=seed).run(script)
        error = b.values("arm.motion")[:, :7] - b.values("arm.played")[:, :7]
        assert np.abs(error).max() < 0.006
        assert np.abs(error).max() > 1e-4  # it knows neither the true parameters nor the true friction


async def test_played_setpoints_are_the_trajectory_at_the_drives_own_instants(
    arm_bench: Make, swing: Make
) -> None:
    b = arm_bench({"clock_drift_ppm": 300})
    motion = swing(START, 0.25, 2.0)
    end_ns = []

    async def script(b: Any) -> None:
        await b.arm.arm()
        end_ns.append(await b.follow(motion))
        await b.sleep(0.1)

    await b.run(script)
    t, played = b.times("arm.played"), b.values("arm.played")
    begin = b.world.seconds(end_ns[0]) - 1.999
    during = (t > begin) & (t < begin + 1.998)
    for part, (array, tolerance) in enumerate(zip(motion, (5e-6, 1e-4, 0.1), strict=True)):
        columns = slice(7 * part, 7 * part + 7)  # linear interpolation of positions is itself off by 1 um/m
        expected = np.column_stack([np.interp(t - begin, np.arange(2000) * 1e-3, c) for c in array.T])[during]
        np.testing.assert_allclose(played[during, columns], expected, atol=tolerance)
    before = t < begin - 0.002
    np.testing.assert_allclose(played[before, :7], np.tile(START, (before.sum(), 1)), atol=1e-9)
    np.testing.assert_array_equal(played[before, 7:], 0.0)


def test_encoders_of_an_arm_may_differ(arm_bench: Make) -> None:
    bits = (20.0, 19.0, 19.0, 19.0, 19.0, 12.0, math.log2(1_003_846))
    motion = arm_bench({"position_bits": bits}).arm.streams[0]
    counts = [2.0 * math.pi / column.scale for column in motion.columns[:7]]
    assert counts == pytest.approx([2.0**20, *[2.0**19] * 4, 4096.0, 1_003_846.0])


async def test_friction_against_speed_follows_the_law(arm_bench: Make) -> None:
    """Joint 1 turns about the vertical: at constant speed, with the others at rest, its torque is its friction."""
    speeds = np.array([0.005, 0.015, 0.03, 0.06, 0.3, 1.2])
    speeds = np.concatenate([speeds, -speeds])
    b = arm_bench({"torque_noise": 0.0, "current_resolution": 1e-6, "bandwidth_hz": 15.0})
    marks: list[int] = []

    async def script(b: Any) -> None:
        await b.arm.arm()
        sequence, angle = 0, 0.0
        for v in speeds:
            t = np.arange(0.0, 0.9, 0.001)
            u = np.minimum(t / 0.3, 1.0)
            rate = v * u**3 * (10 - 15 * u + 6 * u**2)
            rate *= (lambda w: 1 - w**3 * (10 - 15 * w + 6 * w**2))(np.clip((t - 0.6) / 0.3, 0, 1))
            q = np.tile(START, (len(t), 1))
            q[:, 0] = angle + np.cumsum(rate) * 0.001
            angle = q[-1, 0]
            velocity, acceleration = np.zeros_like(q), np.zeros_like(q)
            velocity[:, 0], acceleration[:, 0] = rate, np.gradient(rate, 0.001)
            marks.append(await b.follow((q, velocity, acceleration), sequence=sequence, ahead_s=0.05))
            sequence += len(t)

    await b.run(script)
    current = b.values("arm.current")[:, 0] * b.world.robot.column("torque_per_ampere")[0]
    t, velocity = b.times("arm.current") - 0.0013, b.values("arm.motion")[:, 7]
    law = {name: b.world.truth()["parameters"][f"joint1.{name}"] for name in ("viscous", "coulomb", "offset")}
    for v, mark in zip(speeds, marks, strict=True):
        steady = (t > b.world.seconds(mark) - 0.42) & (t < b.world.seconds(mark) - 0.32)
        measured, speed_there = current[steady].mean(), velocity[steady].mean()
        assert speed_there == pytest.approx(v, rel=0.05, abs=2e-4)
        expected = law["viscous"] * speed_there + law["coulomb"] * np.tanh(speed_there / 0.02) + law["offset"]
        assert measured == pytest.approx(expected, abs=0.02)


async def test_hold_stops_from_full_speed_within_a_third_of_a_second(arm_bench: Make, swing: Make) -> None:
    taken: list[float] = []

    async def script(b: Any) -> None:
        await b.arm.arm()
        motion = swing(START, 0.45, 0.55, hz=0.6)
        await b.follow(motion, last=False, ahead_s=0.1)  # joint 1 is then at 1.6 rad/s, joint 7 at 2.6 rad/s
        assert speed(b) > 1.5
        before = b.clock.now_ns()
        await b.arm.hold()
        taken.append((b.clock.now_ns() - before) * 1e-9)
        assert speed(b) < 0.01
        await b.sleep(0.3)
        await b.arm.disarm()

    b = await arm_bench().run(script)
    assert 0.1 < taken[0] < 0.35
    assert not b.errors
    braking = b.values("arm.played")[b.times("arm.played") > 0.67, 14:]  # the trajectory ended at 0.66 s
    largest = np.abs(braking).max(axis=0) / b.world.robot.column("acceleration")
    assert largest.max() == pytest.approx(1.0, abs=0.02)  # of what the joints' limits allow


async def test_underrun_is_a_controlled_stop_and_then_an_error(arm_bench: Make, swing: Make) -> None:
    async def script(b: Any) -> None:
        await b.arm.arm()
        await b.follow(swing(START, 0.45, 0.55, hz=0.6), last=False, ahead_s=0.1)
        await b.sleep(0.6)

    b = await arm_bench().run(script)
    assert isinstance(b.errors["arm"], UnderrunError)
    assert "no setpoint after" in str(b.errors["arm"])
    velocity = b.values("arm.motion")[-1, 7:]
    assert np.abs(velocity).max() < 0.02  # at rest when it complains
    braking = b.values("arm.played")[b.times("arm.played") > 0.67, 14:]
    assert (np.abs(braking) <= 1.001 * b.world.robot.column("acceleration")).all()


async def test_the_end_of_a_trajectory_is_no_underrun(arm_bench: Make, swing: Make) -> None:
    async def script(b: Any) -> None:
        await b.arm.arm()
        q, v, a = swing(START, 0.25, 1.001, hz=1.0)
        for array in (q, v, a):
            array[:, 1:] = array[0, 1:]  # joint 1 alone: one whole period, from rest to rest
        v[:, 1:], a[:, 1:] = 0.0, 0.0
        await b.follow((q, v, a))
        await b.sleep(0.3)
        assert speed(b) < 0.01
        await b.follow((np.tile(q[-1], (200, 1)), 0 * v[:200], 0 * a[:200]), sequence=1001)

    b = await arm_bench().run(script)
    assert not b.errors
    np.testing.assert_array_equal(b.values("arm.played")[-1, 7:], 0.0)


async def test_a_silent_host_trips_the_watchdog(arm_bench: Make, swing: Make) -> None:
    """The reader of the arm hangs while the rest of the rig goes on: the drive stops and brakes by itself."""
    b = arm_bench().add("sim_encoders", "encoders")
    motion = swing(START, 0.45, 3.0, hz=0.6)

    async def hang(driver: Any) -> None:
        async for _ in b.drivers["encoders"]:
            if b.clock.now_ns() > b.world.nanoseconds(1.5):
                return

    async with b.drivers["arm"], b.drivers["encoders"]:
        await b.arm.arm()
        times = b.clock.now_ns() + 20_000_000 + np.arange(3000) * 1_000_000
        await b.arm.play(Setpoints(0, times, *motion))
        await hang(b.drivers["encoders"])
        assert speed(b) == 0.0
        with pytest.raises(DeviceFault, match=r"watchdog: the host was silent for more than 0.1 s"):
            async for _ in b.drivers["arm"]:
                pass


async def test_without_a_watchdog_it_refuses_to_arm(arm_bench: Make) -> None:
    async def script(b: Any) -> None:
        with pytest.raises(CommandError, match="has no watchdog"):
            await b.arm.arm()

    await arm_bench({"watchdog_s": None}).run(script)

    async def allowed(b: Any) -> None:
        await b.arm.arm()

    await arm_bench({"watchdog_s": None, "without_watchdog": True}).run(allowed)


async def test_brakes_hold_a_disarmed_arm(arm_bench: Make) -> None:
    async def script(b: Any) -> None:
        await b.sleep(0.5)
        await b.arm.arm()
        await b.sleep(0.5)
        await b.arm.disarm()
        await b.arm.disarm()
        await b.sleep(0.5)

    b = await arm_bench().run(script)
    position = b.values("arm.motion")[:, :7]
    np.testing.assert_array_equal(position[:400], np.tile(position[0], (400, 1)))
    np.testing.assert_array_equal(position[-300:], np.tile(position[-1], (300, 1)))
    np.testing.assert_allclose(position[-1], START, atol=0.01)
    current = b.values("arm.current")
    assert np.abs(current[600:900]).max() > 0.5  # armed, it carries the weight
    np.testing.assert_array_equal(current[-300:], 0.0)  # braked, the motors rest


async def test_disarming_in_motion_brakes(arm_bench: Make, swing: Make) -> None:
    async def script(b: Any) -> None:
        await b.arm.arm()
        await b.follow(swing(START, 0.45, 0.55, hz=0.6), last=False, ahead_s=0.1)
        await b.arm.disarm()
        await b.sleep(0.06)
        assert speed(b) == 0.0

    b = await arm_bench().run(script)
    steps = np.abs(np.diff(b.values("arm.motion")[:, :7], axis=0))
    assert steps.max() < 0.004  # it does not jump


async def test_a_drive_fault(arm_bench: Make, swing: Make) -> None:
    async def script(b: Any) -> None:
        await b.arm.arm()
        await b.follow(swing(START, 0.25, 1.0))
        assert speed(b) == 0.0
        with pytest.raises(DeviceFault, match="cannot arm before it is cleared"):
            await b.arm.arm()
        await b.sleep(1.0)
        await b.arm.arm()

    fault = {"kind": "drive_fault", "device": "arm", "joint": "joint3", "at_s": 0.8, "duration_s": 1.0}
    b = arm_bench(options={"faults": [fault]})
    assert b.world.faults("arm") == (DriveFault(device="arm", joint="joint3", at_s=0.8, duration_s=1.0),)
    with pytest.raises(CommandError, match="arm: drive fault on joint3: the drives are off"):
        await b.run(script)
    assert isinstance(b.errors["arm"], DeviceFault)
    assert "drive fault on joint3" in str(b.errors["arm"])
    assert 0.8 < b.times("arm.motion")[-1] < 0.82


async def test_what_it_refuses(arm_bench: Make, swing: Make) -> None:
    motion = [array[:50] for array in swing(START, 0.2, 1.0)]

    async def script(b: Any) -> None:
        now = b.clock.now_ns()
        times = now + 100_000_000 + np.arange(50) * 1_000_000

        def chunk(sequence: int = 0, shift_ns: int = 0, jump: float = 0.0) -> Setpoints:
            return Setpoints(sequence, times + shift_ns, motion[0] + jump, motion[1].copy(), motion[2].copy())

        with pytest.raises(CommandError, match="the drives are off; arm first"):
            await b.arm.play(chunk())
        await b.arm.arm()
        with pytest.raises(CommandError, match="send further ahead"):
            await b.arm.play(chunk(shift_ns=-200_000_000))
        with pytest.raises(CommandError, match=r"begins 0.400 rad away from joint"):
            await b.arm.play(chunk(jump=0.4))
        with pytest.raises(CommandError, match="for 3 axes, but there are 7"):
            await b.arm.play(Setpoints(0, times.copy(), *(array[:, :3].copy() for array in motion)))
        await b.arm.play(chunk())
        with pytest.raises(CommandError, match="expected 50; a chunk was lost"):
            await b.arm.play(chunk(sequence=70, shift_ns=100_000_000))
        with pytest.raises(CommandError, match="are queued; send further ahead"):
            await b.arm.play(chunk(sequence=50, shift_ns=10_000_000))
        await b.arm.hold()

    b = await arm_bench().run(script)
    assert not b.errors


@pytest.mark.parametrize("acceleration", [1.0, 2.0, 4.0, 20.0])
async def test_hold_waits_until_the_arm_stands(
    arm_bench: Make, wam: Any, swing: Make, acceleration: float
) -> None:
    slow = replace(wam, joints=tuple(replace(j, acceleration=acceleration) for j in wam.joints))

    async def script(b: Any) -> None:
        await b.arm.arm()
        await b.follow(swing(START, 0.45, 0.55, hz=0.6), last=False, ahead_s=0.1)
        assert speed(b) > 1.5
        bound_s, begin = b.arm.rest_bound_s, b.clock.now_ns()
        await b.arm.hold()
        assert (b.clock.now_ns() - begin) * 1e-9 < bound_s
        assert b.arm.holding
        assert speed(b) < 0.01
        await b.arm.disarm()
        assert not b.arm.holding

    b = await arm_bench(robot=slow).run(script)
    assert not b.errors


async def test_drives_without_brakes_go_on_holding(arm_bench: Make) -> None:
    async def script(b: Any) -> None:
        await b.arm.arm()
        await b.sleep(0.3)
        await b.arm.disarm()
        assert b.arm.holding
        await b.sleep(0.5)
        np.testing.assert_allclose(b.world.present()[0], START, atol=0.01)

    await arm_bench({"brake": False}).run(script)


async def test_without_brakes_an_arm_falls_where_the_operator_said_so(arm_bench: Make) -> None:
    async def script(b: Any) -> None:
        await b.sleep(0.2)
        np.testing.assert_array_equal(
            b.world.present()[0], START
        )  # before it is armed it lies where it was put
        await b.arm.arm()
        await b.sleep(0.2)
        await b.arm.disarm()
        assert not b.arm.holding
        await b.sleep(0.5)
        assert np.abs(b.world.present()[0] - START).max() > 0.1

    await arm_bench({"brake": False, "off_without_brake": "it lies in its cradle"}).run(script)


async def test_a_stop_that_fails_says_so(
    arm_bench: Make, swing: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def script(b: Any) -> None:
        await b.arm.arm()
        await b.follow(swing(START, 0.45, 0.55, hz=0.6), last=False, ahead_s=0.1)
        monkeypatch.setattr(b.arm, "_at_rest", lambda: False)
        with pytest.raises(RestError, match=r"arm: not at rest 1\.\d+ s after the stop began"):
            await b.arm.hold()
        assert not b.arm.holding
        with pytest.raises(RestError, match="the brakes stop it"):
            await b.arm.disarm()

    await arm_bench().run(script)
