"""Messages of ROS 2: bytes of two other implementations, both ways, and whatever bytes come."""

from __future__ import annotations

import importlib.util
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rosbags.typesys import Stores, get_typestore

from heft.drivers.codecs.ros2 import (
    Clock,
    JointState,
    JointStates,
    JointTrajectory,
    Point,
    Positions,
    WrenchStamped,
)
from heft.drivers.errors import ProtocolError

STORE = get_typestore(Stores.ROS2_HUMBLE)
T = STORE.types
NAMES = ("shoulder_pan_joint", "elbow", "finger_joint1")

#: A message as ROS 2 sends it, field by field from the rules of CDR.
GOLDEN = (
    b"\x00\x01\x00\x00"  # little-endian
    + struct.pack("<iI", 1_700_000_000, 250_000_000)
    + struct.pack("<I", 1) + b"\x00\x00\x00\x00"  # an empty frame, padded
    + struct.pack("<I", 2) + struct.pack("<I", 3) + b"j1\x00\x00" + struct.pack("<I", 3) + b"j2\x00\x00"
    + struct.pack("<I", 2) + struct.pack("<2d", 0.5, -1.25)
    + struct.pack("<I", 0)
    + struct.pack("<I", 2) + struct.pack("<2d", 3.0, 4.0)
)  # fmt: skip

numbers = st.floats(width=64, allow_nan=False)
words = st.text(st.characters(exclude_characters="\x00", codec="utf-8"), max_size=12)
stamps = st.integers(-(2**31) * 10**9, 2**31 * 10**9 - 1)


def header(stamp_ns: int, frame: str) -> Any:
    seconds, nanoseconds = divmod(stamp_ns, 10**9)
    time = T["builtin_interfaces/msg/Time"](sec=seconds, nanosec=nanoseconds)
    return T["std_msgs/msg/Header"](stamp=time, frame_id=frame)


def test_bytes_by_the_rules_of_cdr():
    told = JointState.decode(GOLDEN)
    assert told == JointState(1_700_000_000_250_000_000, ("j1", "j2"), (0.5, -1.25), (), (3.0, 4.0))
    assert told.encode() == GOLDEN


@given(stamps, words, st.lists(words, max_size=8, unique=True), st.data())
def test_joint_states_are_those_of_rosbags(stamp_ns, frame, names, data):
    def some() -> tuple[float, ...]:
        n = data.draw(st.sampled_from([0, len(names)]))
        return tuple(data.draw(st.lists(numbers, min_size=n, max_size=n)))

    own = JointState(stamp_ns, tuple(names), some(), some(), some(), frame)
    arrays = [np.array(values) for values in (own.position, own.velocity, own.effort)]
    theirs = T["sensor_msgs/msg/JointState"](header(stamp_ns, frame), names, *arrays)
    for little in (True, False):
        raw = bytes(STORE.serialize_cdr(theirs, "sensor_msgs/msg/JointState", little_endian=little))
        assert JointState.decode(raw) == own
        assert JointStates().decode(raw) == own
    assert own.encode() == bytes(STORE.serialize_cdr(theirs, "sensor_msgs/msg/JointState"))


@given(stamps, words, st.lists(numbers, min_size=6, max_size=6))
def test_wrenches_are_those_of_rosbags(stamp_ns, frame, values):
    vector = T["geometry_msgs/msg/Vector3"]
    wrench = T["geometry_msgs/msg/Wrench"](vector(*values[:3]), vector(*values[3:]))
    theirs = T["geometry_msgs/msg/WrenchStamped"](header(stamp_ns, frame), wrench)
    raw = bytes(STORE.serialize_cdr(theirs, "geometry_msgs/msg/WrenchStamped"))
    own = WrenchStamped(stamp_ns, tuple(values), frame)
    assert WrenchStamped.decode(raw) == own
    assert own.encode() == raw


@given(stamps, st.integers(1, 5), st.integers(0, 4), st.data())
def test_trajectories_are_those_of_rosbags(stamp_ns, n, count, data):
    row = st.lists(numbers, min_size=n, max_size=n).map(tuple)
    points = tuple(
        Point(k * 10_000_000, data.draw(row), data.draw(row), data.draw(row | st.just(())))
        for k in range(count)
    )
    own = JointTrajectory(stamp_ns, tuple(f"joint{i}" for i in range(n)), points)
    duration = T["builtin_interfaces/msg/Duration"]
    theirs = T["trajectory_msgs/msg/JointTrajectory"](
        header(stamp_ns, ""),
        list(own.name),
        [
            T["trajectory_msgs/msg/JointTrajectoryPoint"](
                *(np.array(x) for x in (p.position, p.velocity, p.acceleration, p.effort)),
                time_from_start=duration(*divmod(p.after_ns, 10**9)),
            )
            for p in points
        ],
    )
    raw = bytes(STORE.serialize_cdr(theirs, "trajectory_msgs/msg/JointTrajectory"))
    assert own.encode() == raw
    assert JointTrajectory.decode(raw) == own


@given(st.lists(numbers, max_size=9), stamps)
def test_positions_and_the_clock_are_those_of_rosbags(values, time_ns):
    layout = T["std_msgs/msg/MultiArrayLayout"]([], 0)
    theirs = T["std_msgs/msg/Float64MultiArray"](layout, np.array(values))
    raw = bytes(STORE.serialize_cdr(theirs, "std_msgs/msg/Float64MultiArray"))
    assert Positions(tuple(values)).encode() == raw
    assert Positions.decode(raw) == Positions(tuple(values))
    clock = T["rosgraph_msgs/msg/Clock"](header(time_ns, "").stamp)
    raw = bytes(STORE.serialize_cdr(clock, "rosgraph_msgs/msg/Clock"))
    assert Clock.decode(raw) == Clock(time_ns)
    assert Clock(time_ns).encode() == raw


@pytest.mark.skipif(importlib.util.find_spec("cyclonedds") is None, reason="cyclonedds has no wheel here")
def test_the_types_of_dds_are_written_as_rosbags_writes_them():
    from heft.drivers.transports import ros2_types as dds

    own = JointState(1_700_000_000_250_000_000, NAMES, (1.0, 2.0, 3.0), (4.0, 5.0, 6.0), (), "base")
    time = dds.Time(1_700_000_000, 250_000_000)
    told = dds.JointState(dds.Header(time, "base"), list(NAMES), [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [])
    assert told.serialize() == own.encode()
    point = dds.JointTrajectoryPoint([1.0], [2.0], [3.0], [], dds.Duration(1, 5))
    trajectory = dds.JointTrajectory(dds.Header(time, ""), ["j"], [point])
    mine = JointTrajectory(own.stamp_ns, ("j",), (Point(1_000_000_005, (1.0,), (2.0,), (3.0,)),))
    assert trajectory.serialize() == mine.encode()
    empty = dds.MultiArrayLayout([], 0)
    assert dds.Float64MultiArray(empty, [1.5, 2.5]).serialize() == Positions((1.5, 2.5)).encode()
    assert dds.Clock(time).serialize() == Clock(own.stamp_ns).encode()
    wrench = dds.Wrench(dds.Vector3(1.0, 2.0, 3.0), dds.Vector3(4.0, 5.0, 6.0))
    assert (
        dds.WrenchStamped(dds.Header(time, "ft"), wrench).serialize()
        == WrenchStamped(own.stamp_ns, (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), "ft").encode()
    )


@given(st.binary(max_size=120))
def test_whatever_comes_raises_nothing_but_protocol_errors(data):
    for kind in (JointState, JointStates(), WrenchStamped, JointTrajectory, Positions, Clock):
        for raw in (data, b"\x00\x01\x00\x00" + data):
            try:
                kind.decode(raw)
            except ProtocolError:
                continue


def test_a_decoder_that_knows_the_names_notices_other_ones():
    decoder = JointStates()
    first = JointState(1, ("a", "b"), (1.0, 2.0), (), ())
    other = JointState(2, ("b", "a"), (1.0, 2.0), (), ())
    longer = JointState(3, ("a", "b", "c"), (1.0, 2.0, 3.0), (), ())
    for told in (first, other, other, longer, first):
        assert decoder.decode(told.encode()) == told


@pytest.mark.parametrize(
    "damage",
    [
        lambda m: m[:-1],
        lambda m: b"\x00\x07" + m[2:],  # the second version of CDR
        lambda m: m + bytes(4),
        lambda m: m[:8] + struct.pack("<I", 10**9) + m[12:],  # nanoseconds
        lambda m: m.replace(b"j2", b"j1"),
    ],
)
def test_what_is_no_message_is_refused(damage):
    with pytest.raises(ProtocolError):
        JointState.decode(damage(GOLDEN))
