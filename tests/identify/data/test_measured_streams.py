"""Which stream measures what: the same choice for the arm and for payloads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from heft.drivers.stream import Column, Role, Stream
from heft.identify.data.measured_streams import (
    JointPositions,
    JointTorques,
    motion_stream,
    torque_streams,
    wrench_streams,
)
from heft.identify.errors import DataError
from heft.identify.payload.weighing.streams import PayloadStreams
from heft.identify.robot import Robot


def stream(name: str, robot: Robot, *quantities: str) -> Stream:
    columns = tuple(Column(joint, quantity, "1") for quantity in quantities for joint in robot.joints)
    return Stream(name, columns, 1000.0)


WRENCH = Stream("wrist.wrench", tuple(Column(a, q, "N") for q in ("force", "torque") for a in "xyz"), 1000.0)
GRIPPER = Stream("gripper.state", (Column("object", "detected", "1"),), 50.0)


@pytest.fixture
def streams(arm: Robot) -> dict[str, Stream]:
    """An arm with encoders on its links, and drives that tell of positions and currents."""
    every = (
        replace(stream("arm.setpoints", arm, "position", "torque"), role=Role.SENT),
        stream("encoders.position", arm, "position"),
        stream("arm.motion", arm, "position", "velocity"),
        stream("arm.current", arm, "current"),
        WRENCH,
        GRIPPER,
    )
    return {one.name: one for one in every}


def test_torques_are_preferred_to_currents_and_setpoints_are_not_measured(
    streams: dict[str, Stream], arm: Robot
) -> None:
    assert [one.name for one in torque_streams(streams.values(), arm)] == ["arm.current"]
    streams["joints.torque"] = stream("joints.torque", arm, "torque")
    assert [one.name for one in torque_streams(streams.values(), arm)] == ["joints.torque", "arm.current"]


def test_the_arm_is_identified_on_one_clock_and_the_wrist_follows_the_links(
    streams: dict[str, Stream], arm: Robot
) -> None:
    motion = motion_stream(streams.values(), arm, streams["arm.current"])
    assert motion is streams["arm.motion"]
    names = PayloadStreams.find(streams, arm, "here", by_joints=True)
    assert (names.position, names.driven, names.effort) == ("encoders.position", "arm.motion", "arm.current")
    assert (names.wrench, names.gripper) == ("wrist.wrench", "gripper.state")


def test_positions_from_elsewhere_where_the_drives_tell_of_none(
    streams: dict[str, Stream], arm: Robot
) -> None:
    del streams["arm.motion"]
    assert motion_stream(streams.values(), arm, streams["arm.current"]) is streams["encoders.position"]
    assert PayloadStreams.find(streams, arm, "here", by_joints=True).driven == "encoders.position"
    assert motion_stream([GRIPPER], arm, None) is None


def test_a_wrench_has_six_components(streams: dict[str, Stream], arm: Robot) -> None:
    assert wrench_streams(streams.values()) == [WRENCH]
    streams["wrist.wrench"] = replace(WRENCH, columns=WRENCH.columns[:5])
    assert wrench_streams(streams.values()) == []
    with pytest.raises(DataError, match=r"here: no stream with a wrist's wrench; it has arm\.setpoints"):
        PayloadStreams.find(streams, arm, "here")


def test_columns_are_taken_by_joint(arm: Robot) -> None:
    values = np.arange(12.0).reshape(2, 6)
    both = stream("arm.all", arm, "torque", "position")
    assert np.array_equal(JointPositions(both, arm).of(values), values[:, 3:])
    assert np.array_equal(JointTorques(both, arm).of(values), values[:, :3])
    current = JointTorques(stream("arm.current", arm, "velocity", "current"), arm)
    assert np.array_equal(current.of(values), arm.torque_from_current(values[:, 3:]))
    some = replace(
        both, columns=(Column(arm.joints[0], "torque", "N m"), *stream("a.b", arm, "current").columns)
    )
    assert JointTorques(some, arm).names == [f"{joint}.current" for joint in arm.joints]  # of all joints
