"""The watch stops for each bound with a message that says what, value, bound and remedy."""

from __future__ import annotations

import numpy as np
import pytest

from heft.daq.config.robot import JointConfig
from heft.daq.config.session import WatchConfig
from heft.daq.errors import SafetyStop
from heft.daq.motion.watch import Watch
from heft.daq.trajectory.limits import Brake
from heft.drivers.block import Block, Validity
from heft.drivers.coupling import Coupling
from heft.drivers.errors import DeviceLost
from heft.drivers.playback.played_stream import played_stream
from heft.drivers.stream import Column, Stream

MS = 1_000_000
AXES = ("a", "b")
JOINTS = {
    axis: JointConfig(position=(-1.0, 1.0), velocity=2.0, acceleration=5.0, torque=10.0) for axis in AXES
}
MOTION = Stream(
    "arm.motion",
    (*(Column(a, "position", "rad") for a in AXES), *(Column(a, "velocity", "rad/s") for a in AXES)),
    1000.0,
)

PLAYED = played_stream("arm", AXES, 1000.0)
CURRENT = Stream("arm.current", tuple(Column(a, "current", "A") for a in AXES), 1000.0)


def block(position: float = 0.0, velocity: float = 0.0, at_ms: int = 0, n: int = 5) -> Block:
    values = np.column_stack([np.full((n, 2), position), np.full((n, 2), velocity)])
    return Block(MOTION, 0, (at_ms + np.arange(n)) * MS, values, np.zeros((n, 4), np.uint8))


def played(position: float, velocity: float = 0.0, at_ms: int = 0, n: int = 100) -> Block:
    values = np.repeat([[position, velocity, 0.0]], 2, axis=1) * np.ones((n, 1))
    values[:, :2] += velocity * 1e-3 * np.arange(n)[:, None]
    return Block(PLAYED, 0, (at_ms + np.arange(n)) * MS, values, np.zeros((n, 6), np.uint8))


@pytest.fixture
def watch() -> Watch:
    watch = Watch(JOINTS, WatchConfig(tracking_error=0.1), brakes=[Brake(np.arange(2), np.full(2, 5.0))])
    watch.expect([MOTION, PLAYED], 0)
    watch.armed = True
    watch.follow()
    return watch


def test_a_good_block_passes(watch: Watch) -> None:
    watch.judge(played(0.5))
    watch.judge(block(position=0.52))
    assert watch.worst_tracking == pytest.approx(0.02)


def test_position_outside_the_limits(watch: Watch) -> None:
    with pytest.raises(SafetyStop, match=r"a is at 1\.1000 rad, outside \[-1\.02.*check the trajectory"):
        watch.judge(block(position=1.1))


def test_a_limit_is_foreseen(watch: Watch) -> None:
    """At 2 rad/s a stop by 5 rad/s2 takes 0.6 s and 0.6 rad."""
    watch.judge(block(position=0.35, velocity=2.0))
    watch.judge(block(position=0.9, velocity=-2.0))  # away from it
    with pytest.raises(
        SafetyStop, match=r"a is at 0\.4500 rad and moves at 2\.000 rad/s: a stop ends at 1\.0500 rad"
    ):
        watch.judge(block(position=0.45, velocity=2.0))


def current(value: float, at_ms: int, n: int = 5) -> Block:
    values = np.column_stack([np.zeros(n), np.full(n, value)])
    return Block(CURRENT, 0, (at_ms + np.arange(n)) * MS, values, np.zeros((n, 2), np.uint8))


def test_torque_above_the_limit(watch: Watch) -> None:
    watch.expect([CURRENT], 0)
    for at_ms in range(0, 20, 5):
        watch.judge(current(-12.0, at_ms))
    with pytest.raises(
        SafetyStop, match=r"b has needed 12 N m, above 11 N m for 0\.024 s; is the arm blocked"
    ):
        watch.judge(current(-12.0, 20))


def test_a_peak_of_torque_is_none(watch: Watch) -> None:
    watch.expect([CURRENT], 0)
    for at_ms in range(0, 200, 10):
        watch.judge(current(15.0, at_ms))
        watch.judge(current(10.5, at_ms + 5))
    watch.armed = False
    for at_ms in range(200, 300, 5):
        watch.judge(current(15.0, at_ms))


def test_velocity_above_the_limit(watch: Watch) -> None:
    with pytest.raises(SafetyStop, match=r"a moves at 2\.500 rad/s, bound 2\.200 rad/s; slow"):
        watch.judge(block(velocity=-2.5))


def test_tracking_error(watch: Watch) -> None:
    watch.judge(played(0.0))
    with pytest.raises(SafetyStop, match=r"0\.2000 rad away from its setpoint, bound 0\.1 rad"):
        watch.judge(block(position=0.2))


def test_after_the_last_setpoint_the_arm_is_compared_with_where_it_should_rest(watch: Watch) -> None:
    watch.judge(played(0.0, n=10))
    watch.judge(block(position=0.05, at_ms=5000))
    assert watch.worst_tracking == pytest.approx(0.05)


def test_limits_are_not_judged_while_the_drives_are_off(watch: Watch) -> None:
    watch.armed = False
    watch.judge(block(position=1.1, velocity=9.0))


def test_a_saturated_sensor_stops_the_motion(watch: Watch) -> None:
    validity = np.zeros((5, 4), np.uint8)
    validity[3, 1] = Validity.SATURATED
    saturated = Block(MOTION, 40, np.arange(5) * MS, np.zeros((5, 4)), validity)
    with pytest.raises(SafetyStop, match=r"b\.position is saturated at sample 43"):
        watch.judge(saturated)


def test_an_invalid_value_is_no_measurement(watch: Watch) -> None:
    watch.judge(played(0.0))
    values = np.full((5, 4), 50.0)
    watch.judge(Block(MOTION, 0, np.arange(5) * MS, values, np.full((5, 4), Validity.CORRUPT, np.uint8)))


def test_a_silent_stream_is_a_lost_device(watch: Watch) -> None:
    watch.judge(block(at_ms=10))
    watch.silent(100 * MS)
    watch.silent(130 * MS)  # too old, for the first time
    with pytest.raises(DeviceLost, match=r"arm: arm\.motion has been silent for 0\.136 s \(bound 0\.1 s\)"):
        watch.silent(150 * MS)


def test_a_stream_that_catches_up_after_a_stall_is_not_silent(watch: Watch) -> None:
    watch.judge(block(at_ms=10))
    watch.silent(500 * MS)
    watch.judge(block(at_ms=300))
    watch.silent(520 * MS)
    watch.judge(block(at_ms=510))
    watch.silent(540 * MS)


def test_but_not_for_ever(watch: Watch) -> None:
    for now_ms in range(500, 1500, 20):
        watch.judge(block(at_ms=now_ms - 300))
        watch.silent(now_ms * MS)
    watch.judge(block(at_ms=1300))
    with pytest.raises(DeviceLost, match="silent for"):
        watch.silent(1520 * MS)


@pytest.mark.parametrize("reason", [Validity.STALE, Validity.CORRUPT, Validity.FAULT])
def test_samples_that_say_nothing_keep_no_stream_alive(watch: Watch, reason: Validity) -> None:
    watch.judge(block(at_ms=10))
    for at_ms in range(20, 200, 20):
        values, validity = np.zeros((5, 4)), np.zeros((5, 4), np.uint8)
        validity[:, 1] = reason  # one joint is enough: nobody would know where it is
        watch.judge(Block(MOTION, 0, (at_ms + np.arange(5)) * MS, values, validity))
    watch.silent(180 * MS)
    with pytest.raises(
        DeviceLost, match=rf"arm\.motion has had only {reason.name.lower()} samples for 0\.186 s"
    ):
        watch.silent(200 * MS)


def test_some_invalid_samples_are_survived(watch: Watch) -> None:
    validity = np.zeros((5, 4), np.uint8)
    validity[2:] = Validity.CORRUPT
    watch.judge(Block(MOTION, 0, (100 + np.arange(5)) * MS, np.zeros((5, 4)), validity))
    for now_ms in (180, 190, 200):
        watch.silent(now_ms * MS)


def test_setpoints_long_past_are_forgotten_but_never_the_last(watch: Watch) -> None:
    for at_ms in range(0, 5000, 100):
        watch.judge(played(at_ms * 1e-4, at_ms=at_ms))
        watch.judge(block(position=at_ms * 1e-4, at_ms=at_ms))
    assert watch.worst_tracking < 1e-9
    watch.judge(block(position=0.5, at_ms=8000))
    assert watch.worst_tracking == pytest.approx(0.01, abs=1e-9)


def test_a_sample_that_comes_before_its_setpoint_is_compared_with_where_the_drives_are_by_then(
    watch: Watch,
) -> None:
    watch.judge(played(0.0, velocity=1.0, n=10))  # at 9 ms: 0.009 rad, and on at 1 rad/s
    watch.judge(block(position=0.02, at_ms=20, n=1))
    assert watch.worst_tracking < 1e-9


def test_setpoints_from_before_the_drives_were_on_say_nothing(watch: Watch) -> None:
    watch.judge(played(0.0))
    watch.follow()
    watch.judge(block(position=0.5))
    assert watch.worst_tracking == 0.0


def test_joints_whose_drives_do_not_tell_their_setpoints_are_named() -> None:
    watch = Watch(JOINTS, WatchConfig())
    watch.expect([MOTION, played_stream("wrist", ["b"], 1000.0)], 0)
    assert watch.unfollowed == ("a",)


def test_motors_are_judged_as_the_joints_that_they_move() -> None:
    """Joint b is motor b less motor a: both motors are well inside what a joint may do, and b is not."""
    motors = Stream("arm.motion", tuple(Column(f"{a}_motor", "position", "rad") for a in AXES), 1000.0)
    watch = Watch(JOINTS, WatchConfig(), Coupling(np.array([[1.0, 0.0], [1.0, 1.0]])))
    motors_played = played_stream("arm", [f"{a}_motor" for a in AXES], 1000.0)
    watch.expect([motors, motors_played], 0)
    watch.armed = True
    watch.follow()
    values = np.array([[-0.6, 0.5]])
    good = Block(motors, 0, np.array([0]), 0.5 * values, np.zeros((1, 2), np.uint8))
    watch.judge(good)
    with pytest.raises(SafetyStop, match=r"arm\.motion: b is at 1\.1000 rad, outside"):
        watch.judge(Block(motors, 1, np.array([MS]), values, np.zeros((1, 2), np.uint8)))
    watch.judge(Block(motors_played, 0, np.array([0]), np.zeros((1, 6)), np.zeros((1, 6), np.uint8)))
    with pytest.raises(SafetyStop, match=r"b is 0\.5500 rad away from its setpoint"):
        watch.judge(good)


def test_a_device_with_some_of_the_joints_is_judged_by_theirs() -> None:
    part = Stream("wrist.motion", (Column("b", "position", "rad"), Column("b", "velocity", "rad/s")), 1000.0)
    joints = JOINTS | {"a": JointConfig(position=(-9.0, 9.0), velocity=90.0, acceleration=5.0, torque=10.0)}
    watch = Watch(joints, WatchConfig())
    watch.expect([part], 0)
    watch.armed = True
    with pytest.raises(SafetyStop, match=r"wrist\.motion: b is at 1\.5000 rad, outside \[-1\.02"):
        watch.judge(Block(part, 0, np.array([0]), np.array([[1.5, 0.0]]), np.zeros((1, 2), np.uint8)))
