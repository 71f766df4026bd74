"""Which stream measures what: the same choice for the arm and for payloads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from heft.drivers.stream import Column, Role, Stream
from heft.identify.data.measured_streams import (
    JointPositions,
    JointTorques,
    link_source,
    motion_source,
    motion_stream,
    torque_source,
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


def motors(name: str, robot: Robot, *quantities: str) -> Stream:
    columns = tuple(Column(f"{j}_motor", quantity, "1") for quantity in quantities for j in robot.joints)
    return Stream(name, columns, 1000.0)


def test_encoders_beside_drives_are_on_the_links(streams: dict[str, Stream], arm: Robot) -> None:
    motion, link = motion_source(streams.values(), arm), link_source(streams.values(), arm)
    assert motion is not None
    assert link is not None
    assert (motion.name, link.name) == ("arm.motion", "encoders.position")
    del streams["arm.motion"]
    only = motion_source(streams.values(), arm)
    assert only is not None
    assert only.name == "encoders.position"
    assert link_source(streams.values(), arm) is None


def test_some_links_may_have_encoders(streams: dict[str, Stream], arm: Robot) -> None:
    columns = streams["encoders.position"].columns[1:]
    streams["encoders.position"] = replace(streams["encoders.position"], columns=columns)
    link = link_source(streams.values(), arm)
    assert link is not None
    assert link.joints == (1, 2)


def test_motors_become_joints_by_the_coupling(arm: Robot) -> None:
    matrix = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    coupled = replace(arm, drives=replace(arm.drives, coupling=matrix), prior=None)
    both = motors("arm.all", coupled, "torque", "position")
    values = np.array([[1.0, 2.0, 3.0, 0.1, 0.2, 0.5]])
    assert np.allclose(JointPositions(both, coupled).of(values), [[0.1, 0.2, 0.3]])
    assert np.allclose(JointTorques(both, coupled).of(values), [[1.0, 5.0, 3.0]])
    current = JointTorques(motors("arm.current", coupled, "current"), coupled)
    assert np.allclose(current.of(values[:, :3]), coupled.torque_from_current(values[:, :3]))


def test_devices_with_a_part_of_the_arm_each_are_joined(arm: Robot) -> None:
    def part(name: str, joints: list[int], *quantities: str) -> Stream:
        columns = tuple(Column(arm.joints[j], quantity, "1") for quantity in quantities for j in joints)
        return Stream(name, columns, 1000.0)

    both = [
        part("wrist.motion", [2], "position"),
        part("wrist.current", [2], "current"),
        part("shoulder.motion", [0, 1], "position"),
        part("shoulder.current", [0, 1], "current"),
    ]
    motion, torque = motion_source(both, arm), torque_source(both, arm)
    assert motion is not None
    assert torque is not None
    assert (motion.name, motion.joints) == ("wrist.motion+shoulder.motion", (0, 1, 2))
    assert torque.name == "wrist.current+shoulder.current"
    assert torque_source(both[:3], arm) is None
