"""Bags written by other people's writers: rosbags (MCAP and sqlite3) and mcap-ros2-support."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import yaml
from mcap.reader import make_reader
from mcap.writer import CompressionType, IndexType
from mcap.writer import Writer as McapWriter
from mcap_ros2.writer import Writer as Ros2Writer
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from heft.daq.errors import ImportFileError
from heft.daq.importing.open_file import is_foreign, open_file
from heft.daq.record.standard import JOINT_STATE, JOINT_STATE_TEXT

ROWS = 300
STORE = get_typestore(Stores.ROS2_HUMBLE)
NAMES = ["elbow", "shoulder"]
START_NS = 1_700_000_000_000_000_000


def bag(
    folder: Path, motion: Any, storage: StoragePlugin, packed: CompressionMode = CompressionMode.NONE
) -> Path:
    """JointState with the joints in changing order, a second publisher, and WrenchStamped at half the rate."""
    t = STORE.types
    header, stamp = t["std_msgs/msg/Header"], t["builtin_interfaces/msg/Time"]
    joint_state, wrench = t["sensor_msgs/msg/JointState"], t["geometry_msgs/msg/WrenchStamped"]
    vector = t["geometry_msgs/msg/Vector3"]
    writer = Writer(folder, version=8, storage_plugin=storage)
    if packed is not CompressionMode.NONE:
        writer.set_compression(packed, CompressionFormat.ZSTD)
    with writer:
        joints = writer.add_connection("/robot/joints", joint_state.__msgtype__, typestore=STORE)
        sensor = writer.add_connection("/ft", wrench.__msgtype__, typestore=STORE)
        for k, seconds in enumerate(motion.t):
            ns = START_NS + int(seconds * 1e9)
            head = header(stamp=stamp(sec=ns // 10**9, nanosec=ns % 10**9), frame_id="tool")
            order = [1, 0] if k % 2 else [0, 1]
            arrays = [np.ascontiguousarray(a[k][order]) for a in (motion.q, motion.dq, motion.tau)]
            message = joint_state(head, [NAMES[i] for i in order], *arrays)
            writer.write(joints, ns + 1_000_000, STORE.serialize_cdr(message, joint_state.__msgtype__))
            gripper = joint_state(head, ["finger"], np.zeros(1), np.zeros(1), np.zeros(1))
            writer.write(joints, ns + 1_500_000, STORE.serialize_cdr(gripper, joint_state.__msgtype__))
            if k % 2 == 0:
                force = t["geometry_msgs/msg/Wrench"](vector(1.0, 2.0, float(k)), vector(4.0, 5.0, 6.0))
                writer.write(
                    sensor, ns + 2_000_000, STORE.serialize_cdr(wrench(head, force), wrench.__msgtype__)
                )
    return folder


@pytest.fixture
def motion(motion: Any) -> Any:
    """The first seconds of it."""
    return type(motion)(*(array[:ROWS] for array in (motion.t, motion.q, motion.dq, motion.tau)))


@pytest.mark.parametrize("storage", list(StoragePlugin))
@pytest.mark.parametrize("bare", [False, True], ids=["with metadata", "without"])
def test_bags(
    motion: Any, imported: Callable[..., Any], tmp_path: Path, storage: StoragePlugin, bare: bool
) -> None:
    folder = bag(tmp_path / "bag", motion, storage)
    path = next(one for one in folder.iterdir() if one.name != "metadata.yaml") if bare else folder
    assert is_foreign(path)
    found = imported(path)
    assert found.map["joints"] == NAMES
    np.testing.assert_array_equal(found.signal("position"), motion.q)
    np.testing.assert_array_equal(found.signal("torque"), motion.tau)
    columns = found.recording.columns("arm.joint_states")
    np.testing.assert_allclose(columns.host_ns - columns.request_ns, 1_000_000)
    assert columns.request_ns[0] + found.recording.utc_offset_ns == START_NS
    wrench = found.recording.columns("wrist.wrench")
    np.testing.assert_array_equal(wrench.quantity("force")[:, 2], np.arange(0, len(motion.t), 2))
    assert found.recording.streams["wrist.wrench"].rate_hz == pytest.approx(50.0)


@pytest.mark.parametrize("packed", [CompressionMode.FILE, CompressionMode.MESSAGE, CompressionMode.STORAGE])
@pytest.mark.parametrize("storage", list(StoragePlugin))
@pytest.mark.parametrize("bare", [False, True], ids=["with metadata", "without"])
def test_compressed_bags(
    motion: Any,
    imported: Callable[..., Any],
    tmp_path: Path,
    storage: StoragePlugin,
    packed: CompressionMode,
    bare: bool,
) -> None:
    if storage is StoragePlugin.SQLITE3 and packed is CompressionMode.STORAGE:
        return  # there is no such thing
    folder = bag(tmp_path / "bag", motion, storage, packed)
    path = next(one for one in folder.iterdir() if one.name != "metadata.yaml") if bare else folder
    found = imported(path)
    np.testing.assert_array_equal(found.signal("position"), motion.q)
    np.testing.assert_array_equal(found.signal("torque"), motion.tau)


BARE = {
    "index_types": IndexType.NONE,
    "use_statistics": False,
    "use_summary_offsets": False,
    "repeat_channels": False,
    "repeat_schemas": False,
}


@pytest.mark.parametrize("packed", list(CompressionType))
@pytest.mark.parametrize("more", [{}, BARE, {"use_chunking": False}, {**BARE, "use_chunking": False}])
def test_chunks_and_indexes_of_all_kinds(
    motion: Any, imported: Callable[..., Any], tmp_path: Path, packed: CompressionType, more: dict[str, Any]
) -> None:
    source = bag(tmp_path / "bag", motion, StoragePlugin.MCAP) / "bag.mcap"
    path, channels = tmp_path / "log.mcap", {}
    with source.open("rb") as before, path.open("wb") as after:
        writer = McapWriter(after, compression=packed, chunk_size=20_000, **more)
        writer.start("ros2", "another tool")
        for schema, channel, message in make_reader(before).iter_messages():
            if channel.id not in channels:
                number = writer.register_schema(schema.name, schema.encoding, schema.data)
                channels[channel.id] = writer.register_channel(
                    channel.topic, channel.message_encoding, number
                )
            writer.add_message(channels[channel.id], message.log_time, message.data, message.publish_time)
        writer.finish()
    np.testing.assert_array_equal(imported(path).signal("torque"), motion.tau)


@pytest.mark.parametrize("storage", list(StoragePlugin))
def test_a_compressed_file_that_was_cut_off(motion: Any, tmp_path: Path, storage: StoragePlugin) -> None:
    folder = bag(tmp_path / "bag", motion, storage, CompressionMode.FILE)
    path = next(one for one in folder.iterdir() if one.suffix == ".zstd")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    for one in (path, folder):
        with pytest.raises(ImportFileError, match="bag of ROS 2: "):
            open_file(one)


def test_a_compressed_file_that_holds_far_more_than_numbers_can(tmp_path: Path) -> None:
    path = tmp_path / "log.mcap.zstd"
    with pa.output_stream(str(path), compression="zstd") as file:
        for _ in range(300):
            file.write(bytes(1 << 20))
    with pytest.raises(ImportFileError, match="no measured numbers do that"):
        open_file(path)


@pytest.mark.parametrize("storage", list(StoragePlugin))
def test_a_bag_in_two_files(
    motion: Any, imported: Callable[..., Any], tmp_path: Path, storage: StoragePlugin
) -> None:
    """One recording of both: by metadata.yaml, or by naming the files."""
    half, parts = ROWS // 2, []
    for k, rows in enumerate((slice(0, half), slice(half, None))):
        part = type(motion)(*(array[rows] for array in (motion.t, motion.q, motion.dq, motion.tau)))
        parts.append(bag(tmp_path / f"part_{k}", part, storage))
    ends = [next(one for one in part.iterdir() if one.name != "metadata.yaml") for part in parts]
    whole = tmp_path / "whole"
    whole.mkdir()
    for end in ends:
        (whole / end.name).write_bytes(end.read_bytes())
    with pytest.raises(ImportFileError, match=r"without metadata\.yaml.*part_0.* part_1"):
        open_file(whole)
    both = imported(*ends)
    np.testing.assert_array_equal(both.signal("torque"), motion.tau)
    about = yaml.safe_load((parts[0] / "metadata.yaml").read_text(encoding="utf-8"))
    facts = about["rosbag2_bagfile_information"]
    facts["relative_file_paths"] = [end.name for end in ends]
    facts["message_count"] *= 2
    for topic in facts["topics_with_message_count"]:
        topic["message_count"] *= 2
    facts["files"] = []
    (whole / "metadata.yaml").write_text(yaml.safe_dump(about), encoding="utf-8")
    found = imported(whole)
    np.testing.assert_array_equal(found.signal("torque"), motion.tau)
    assert found.done.notes == []


def test_a_wrench_is_turned_round(motion: Any, imported: Callable[..., Any], tmp_path: Path) -> None:
    folder = bag(tmp_path / "bag", motion, StoragePlugin.MCAP)
    turned = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    found = imported(folder, changes={"wrench": {"reaction": True, "rotation": turned, "frame": "tool0"}})
    wrench = found.recording.columns("wrist.wrench")
    np.testing.assert_allclose(wrench.quantity("force")[3], [2.0, -1.0, -6.0])
    np.testing.assert_allclose(wrench.quantity("torque")[3], [5.0, -4.0, -6.0])
    assert found.recording.streams["wrist.wrench"].frame == "tool0"


def test_an_mcap_by_another_writer(motion: Any, imported: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "log.mcap"
    with path.open("wb") as file:
        writer = Ros2Writer(file)
        schema = writer.register_msgdef(JOINT_STATE, JOINT_STATE_TEXT)
        for k, seconds in enumerate(motion.t):
            ns = START_NS + int(seconds * 1e9)
            message = {
                "header": {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""},
                "name": NAMES,
                "position": motion.q[k].tolist(),
                "velocity": [],
                "effort": motion.tau[k].tolist(),
            }
            writer.write_message("/js", schema, message, log_time=ns, publish_time=ns)
        writer.finish()
    found = imported(path)
    assert found.map["time"]["column"] == "received"  # its headers have no stamps
    np.testing.assert_array_equal(found.signal("position"), motion.q)


@pytest.mark.parametrize("storage", list(StoragePlugin))
@pytest.mark.parametrize("kind", ["cut", "garbage", "only the beginning"])
def test_damaged(motion: Any, tmp_path: Path, storage: StoragePlugin, kind: str) -> None:
    folder = bag(tmp_path / "bag", motion, storage)
    path = next(one for one in folder.iterdir() if one.name != "metadata.yaml")
    data = path.read_bytes()
    half = data[: len(data) // 2]
    path.write_bytes(
        {"cut": half, "garbage": data[:100] + bytes(len(data)), "only the beginning": data[:60]}[kind]
    )
    remedy = "mcap recover" if storage is StoragePlugin.MCAP else "copy it anew, with"
    with pytest.raises(ImportFileError, match=f"(bag of ROS 2|damaged): .*; .*{remedy}"):
        list(open_file(path).batches({"/robot/joints": ["position"]}))
