"""Probing says in words that a sensor's sign may be turned."""

from __future__ import annotations

import numpy as np
import pytest

from heft.daq.config.robot import load_robot
from heft.daq.config.shipped import CONFIGS
from heft.daq.probe import DeviceProbe, StreamProbe
from heft.drivers.block import Block
from heft.drivers.devices.base.wrench_stream import wrench_stream
from heft.drivers.driver import Counters, Identity
from heft.drivers.stream import Column, Stream
from heft.identify.payload.kinematics.wrist_motion import wrist_motion
from heft.identify.robot import Robot
from heft.wrench_sign import sign_notes

POSTURE = np.array([0.3, -0.5, 0.2, 1.8, -1.8, 0.4, 0.0])


def probed(stream: Stream, values: np.ndarray) -> DeviceProbe:
    block = Block(stream, 0, np.zeros(1, dtype=np.int64), values[None], np.zeros((1, len(values)), np.uint8))
    received = StreamProbe(stream)
    received.add(block)
    return DeviceProbe(stream.device, Identity("", ""), (received,), Counters())


@pytest.mark.parametrize(("reaction", "words"), [(True, 1), (False, 0)])
def test_a_force_that_points_down_at_rest_is_named(reaction, words):
    config = load_robot(CONFIGS / "robots/wam7.yaml")
    still = np.zeros((1, 7))
    robot = Robot.from_config(config)
    to_world = wrist_motion(robot, POSTURE[None], still, still).rotation[0]
    lift = to_world.T @ np.array([0.0, 0.0, 1.3 * 9.81])
    columns = tuple(Column(joint, "position", "rad") for joint in config.axes)
    wrist = wrench_stream("wrist", rate_hz=1.0, scale=(1.0, 1.0), dtype="<f8", frame="sensor", reaction=False)
    shown = np.concatenate([-lift if reaction else lift, np.zeros(3)])
    notes = sign_notes(config, [probed(Stream("arm.motion", columns, 1.0), POSTURE), probed(wrist, shown)])
    assert len(notes) == words
    assert all(note.startswith("wrist: force points down at rest (12.8 N): set `reaction`") for note in notes)
