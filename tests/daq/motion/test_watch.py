"""The watch stops for each bound with a message that says what, value, bound and remedy."""

from __future__ import annotations

import numpy as np
import pytest

from daq.config.robot import JointConfig
from daq.config.session import WatchConfig
from daq.errors import SafetyStop
from daq.motion.watch import Watch
from drivers.block import Block, Validity
from drivers.errors import DeviceLost
from drivers.setpoints import Setpoints
from drivers.stream import Column, Stream

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


def block(position: float = 0.0, velocity: float = 0.0, at_ms: int = 0, n: int = 5) -> Block:
    values = np.column_stack([np.full((n, 2), position), np.full((n, 2), velocity)])
    return Block(MOTION, 0, (at_ms + np.arange(n)) * MS, values, np.zeros((n, 4), np.uint8))


def setpoints(position: float, at_ms: int = 0, n: int = 100) -> Setpoints:
    zero = np.zeros((n, 2))
    return Setpoints(0, (at_ms + np.arange(n)) * MS, zero + position, zero, zero)


@pytest.fixture
def watch() -> Watch:
    watch = Watch(JOINTS, WatchConfig(tracking_error=0.1))
    watch.expect([MOTION], 0)
    watch.armed = True
    return watch


def test_a_good_block_passes(watch: Watch) -> None:
    watch.sent(setpoints(0.5))
    watch.judge(block(position=0.52))
    assert watch.worst_tracking == pytest.approx(0.02)


def test_position_outside_the_limits(watch: Watch) -> None:
    with pytest.raises(SafetyStop, match=r"a is at 1\.1000 rad, outside \[-1\.02.*check the trajectory"):
        watch.judge(block(position=1.1))


def test_velocity_above_the_limit(watch: Watch) -> None:
    with pytest.raises(SafetyStop, match=r"a moves at 2\.500 rad/s, bound 2\.200 rad/s; slow"):
        watch.judge(block(velocity=-2.5))


def test_tracking_error(watch: Watch) -> None:
    watch.sent(setpoints(0.0))
    with pytest.raises(SafetyStop, match=r"0\.2000 rad away from its setpoint, bound 0\.1 rad"):
        watch.judge(block(position=0.2))


def test_after_the_last_setpoint_the_arm_is_compared_with_where_it_should_rest(watch: Watch) -> None:
    watch.sent(setpoints(0.0, n=10))
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
    watch.sent(setpoints(0.0))
    values = np.full((5, 4), 50.0)
    watch.judge(Block(MOTION, 0, np.arange(5) * MS, values, np.full((5, 4), Validity.CORRUPT, np.uint8)))


def test_a_silent_stream_is_a_lost_device(watch: Watch) -> None:
    watch.judge(block(at_ms=10))
    watch.silent(100 * MS)
    with pytest.raises(DeviceLost, match=r"arm: arm\.motion has been silent for 0\.136 s \(bound 0\.1 s\)"):
        watch.silent(150 * MS)
