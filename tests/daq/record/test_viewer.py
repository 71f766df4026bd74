"""What viewers get: times of UTC, the robot and its links, as stock readers decode them and Pinocchio computes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

from heft.daq.record import Viewer, Writer
from heft.daq.recording import Recording
from heft.drivers.block import Block
from heft.drivers.stream import Column, Stream
from heft.identify import Robot
from heft.viewing import viewer_of

ROBOTS = Path(__file__).parents[3] / "configs" / "robots"
UTC_NS = 1_750_000_000_000_000_000


def record(path: Path, robot: Robot, viewer: Viewer) -> Any:
    """A second of random positions at 1 kHz; the positions (N, n)."""
    stream = Stream("arm.motion", tuple(Column(joint, "position", "rad") for joint in robot.joints), 1000.0)
    q = np.random.default_rng(1).uniform(-3, 3, (1000, len(robot.joints)))
    with path.open("xb", buffering=0) as raw:
        writer = Writer(raw, UTC_NS, viewer)
        for start in range(0, 1000, 100):
            times = 1_000_000_000 + np.arange(start, start + 100) * 1_000_000
            writer.block(
                Block(stream, start, times, q[start : start + 100], np.zeros((100, q.shape[1]), np.uint8))
            )
        writer.finish()
    return q


def decoded(path: Path) -> dict[str, list[tuple[int, Any]]]:
    found: dict[str, list[tuple[int, Any]]] = {}
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        topics = ["/tf", "/robot_description", "/arm/motion"]
        for _, channel, message, value in reader.iter_decoded_messages(topics=topics):
            found.setdefault(channel.topic, []).append((message.log_time, value))
    return found


@pytest.mark.parametrize("name", ["wam7.yaml", "panda.yaml", "tx40.yaml"])
def test_links_are_where_pinocchio_has_them(name: str, tmp_path: Path) -> None:
    robot = Robot.load(ROBOTS / name)
    q = record(tmp_path / "a.mcap", robot, viewer_of(robot))
    found = decoded(tmp_path / "a.mcap")
    ((_, description),) = found["/robot_description"]
    model = pin.buildModelFromXML(description.data)
    data = model.createData()
    assert [str(n) for n in model.names][1:] == list(robot.joints)
    assert len(found["/tf"]) == 50  # a second at 50 Hz
    assert len(found["/arm/motion"]) == 1000
    for at, message in found["/tf"][::10]:
        row = q[(at - UTC_NS - 1_000_000_000) // 1_000_000]
        pin.framesForwardKinematics(model, data, row)
        poses = {"base": np.eye(4)}
        for one in message.transforms:
            t, r = one.transform.translation, one.transform.rotation
            local = pin.SE3(pin.Quaternion(r.w, r.x, r.y, r.z), np.array([t.x, t.y, t.z])).homogeneous
            poses[one.child_frame_id] = poses[one.header.frame_id] @ local
            frame = model.getFrameId(one.child_frame_id)
            np.testing.assert_allclose(poses[one.child_frame_id], data.oMf[frame].homogeneous, atol=1e-9)
            assert one.header.stamp.sec * 10**9 + one.header.stamp.nanosec == at
        own = robot.tree.poses(row)
        for k, link in enumerate(robot.links):
            drawn = poses[link] @ robot.tree.link_in_joint[k]
            np.testing.assert_allclose(drawn, own[k], atol=1e-9)


def test_copies_can_be_left_out_or_thinned(tmp_path: Path) -> None:
    robot = Robot.load(ROBOTS / "wam7.yaml")
    sizes = {}
    for name, viewer in {
        "all": Viewer(),
        "some": Viewer(most_hz=100.0),
        "none": Viewer(copies=False),
    }.items():
        path = tmp_path / f"{name}.mcap"
        record(path, robot, viewer)
        sizes[name] = path.stat().st_size
        counts = {topic: len(messages) for topic, messages in decoded(path).items()}
        assert counts == {"all": {"/arm/motion": 1000}, "some": {"/arm/motion": 100}, "none": {}}[name]
    assert sizes["none"] < 0.5 * sizes["all"]
    digests = {Recording.open(tmp_path / f"{name}.mcap").digest for name in sizes}
    assert len(digests) == 1


def test_log_times_are_utc_and_the_reader_tells_host_times(tmp_path: Path) -> None:
    path = tmp_path / "a.mcap"
    record(path, Robot.load(ROBOTS / "wam7.yaml"), Viewer())
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True)
        times = [message.log_time for _, _, message in reader.iter_messages()]
    assert min(times) == UTC_NS + 1_000_000_000
    recording = Recording.open(path)
    assert recording.span_ns == (1_000_000_000, 1_999_000_000)
    assert [e.end_ns for e in recording.chunks("arm.motion")][-1] == 1_999_000_000
    late = recording.columns("arm.motion", 1_500_000_000, 1_600_000_000)
    assert len(late) == 100
    cut = path.read_bytes()
    partial = tmp_path / "b.mcap.partial"
    partial.write_bytes(cut[: len(cut) - 50])
    again = Recording.open(partial)
    assert (again.span_ns, again.digest) == (recording.span_ns, recording.digest)
