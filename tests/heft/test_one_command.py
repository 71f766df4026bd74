"""Logs of other tools, as their own writers write them: each ends in a report by one `heft identify`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mcap_ros2.writer import Writer as Ros2Writer
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from heft.daq.record.standard import JOINT_STATE, JOINT_STATE_TEXT
from heft.identify import Robot
from heft.main import main

URDF = """<robot name="pendulums"><link name="root"/>
<link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
  <inertia ixx="0.01" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="lower"><inertial><origin xyz="0.15 0 0"/><mass value="1"/>
  <inertia ixx="0.005" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="root"/><child link="upper"/><axis xyz="0 1 0"/>
  <limit lower="-3" upper="3" velocity="10" effort="100"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0.4 0 0"/>
  <axis xyz="0 1 0"/><limit lower="-3" upper="3" velocity="10" effort="100"/></joint></robot>"""
JOINTS = ["shoulder", "elbow"]
START_NS = 1_700_000_000_000_000_000
Log = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def stock_mcap(log: Log, folder: Path) -> Path:
    """A bag's MCAP file by the writer of mcap-ros2-support."""
    path = folder / "bag.mcap"
    with path.open("wb") as file:
        writer = Ros2Writer(file)
        schema = writer.register_msgdef(JOINT_STATE, JOINT_STATE_TEXT)
        for t, q, dq, tau in zip(*log, strict=True):
            ns = START_NS + round(t * 1e9)
            message = {
                "header": {"stamp": {"sec": ns // 10**9, "nanosec": ns % 10**9}, "frame_id": ""},
                "name": JOINTS,
                "position": q.tolist(),
                "velocity": dq.tolist(),
                "effort": tau.tolist(),
            }
            writer.write_message("/joint_states", schema, message, log_time=ns + 10**6, publish_time=ns)
        writer.finish()
    return path


def bare_db3(log: Log, folder: Path) -> Path:
    """A bag in sqlite3 that lost its metadata.yaml."""
    store = get_typestore(Stores.ROS2_HUMBLE)
    header, stamp = store.types["std_msgs/msg/Header"], store.types["builtin_interfaces/msg/Time"]
    joint_state: Any = store.types["sensor_msgs/msg/JointState"]
    with Writer(folder / "bag", version=8, storage_plugin=StoragePlugin.SQLITE3) as writer:
        topic = writer.add_connection("/arm/joint_states", joint_state.__msgtype__, typestore=store)
        for t, q, dq, tau in zip(*log, strict=True):
            ns = START_NS + round(t * 1e9)
            head = header(stamp=stamp(sec=ns // 10**9, nanosec=ns % 10**9), frame_id="")
            message = joint_state(head, JOINTS, q.copy(), dq.copy(), tau.copy())
            writer.write(topic, ns + 10**6, store.serialize_cdr(message, joint_state.__msgtype__))
    (folder / "bag" / "metadata.yaml").unlink()
    return next((folder / "bag").iterdir())


def german_csv(log: Log, folder: Path) -> Path:
    """Semicolons, decimal commas, a header of comments, degrees, no end of the last line."""
    path = folder / "log.csv"
    t, q, dq, tau = log
    rows = np.column_stack([t, np.degrees(q), dq, tau])
    text = "\n".join(";".join(f"{cell:.9g}" for cell in row) for row in rows).replace(".", ",")
    names = "Zeit [s];shoulder_pos [deg];elbow_pos [deg];shoulder_vel;elbow_vel;shoulder_torque;elbow_torque"
    path.write_text(f"# Roboter: Pendel\n# Datum: 1.2.2024\n{names}\n{text}", encoding="utf-8")
    return path


def odd_npz(log: Log, folder: Path) -> Path:
    """Arrays of which no name says what they are by itself."""
    path = folder / "log.npz"
    t, q, dq, tau = log
    np.savez(path, ts=t, jnt_ang=q.T, jnt_spd=dq.T, meas_trq=tau.T, note=np.array("run 7"))
    return path


def lerobot_parquet(log: Log, folder: Path) -> Path:
    """LeRobot v3: many numbers in a cell, two episodes in a file, `meta/info.json` beside."""
    t, q, dq, tau = log
    half = len(t) // 2
    lists = {
        "observation.state": q,
        "observation.velocity": dq,
        "observation.effort": tau,
    }
    columns: dict[str, Any] = {
        key: pa.array(list(values), type=pa.list_(pa.float64(), 2)) for key, values in lists.items()
    }
    columns["timestamp"] = np.concatenate([t[:half], t[half:] - t[half]])
    columns["frame_index"] = np.concatenate([np.arange(half), np.arange(len(t) - half)])
    columns["episode_index"] = np.repeat([0, 1], [half, len(t) - half])
    columns["index"] = np.arange(len(t))
    path = folder / "data" / "chunk-000" / "file-000.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.table(columns), path)
    features = {key: {"dtype": "float64", "shape": [2], "names": JOINTS} for key in lists}
    info = {"codebase_version": "v3.0", "fps": 100, "total_frames": len(t), "features": features}
    (folder / "meta").mkdir()
    (folder / "meta" / "info.json").write_text(json.dumps(info), encoding="utf-8")
    return path


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    path = tmp_path / "arm.urdf"
    path.write_text(URDF, encoding="utf-8")
    return path


@pytest.fixture
def log(urdf: Path) -> Log:
    """Time, positions, velocities, torques of an arm with friction: 20 s at 100 Hz."""
    robot = Robot.load(urdf)
    rng = np.random.default_rng(3)
    t = np.arange(2000) / 100
    w, a = 2 * np.pi * 0.1 * np.arange(1, 6)[:, None, None], rng.uniform(-0.2, 0.2, (5, 1, 2))
    angle = w * t[None, :, None] + rng.uniform(0, 6, (5, 1, 2))
    q, dq, ddq = ((a * shape).sum(0) for shape in (np.sin(angle), w * np.cos(angle), -(w**2) * np.sin(angle)))
    assert robot.prior is not None
    known = dict(zip(robot.parameter_names, robot.prior, strict=True))
    known |= {
        f"{joint}.{term}": size for joint in JOINTS for term, size in (("viscous", 0.5), ("coulomb", 0.3))
    }
    tau = robot.torque(q, dq, ddq, np.array([known[name] for name in robot.parameter_names]))
    return t, q, dq, tau + 0.02 * rng.standard_normal(tau.shape)


@pytest.mark.parametrize("written", [stock_mcap, bare_db3, german_csv, odd_npz, lerobot_parquet])
def test_one_command_from_a_log_to_a_report(
    written: Callable[[Log, Path], Path],
    log: Log,
    urdf: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path, out = written(log, tmp_path), tmp_path / "out"
    code = main(["identify", str(path), "--robot", str(urdf), "--out", str(out), "--json"])
    said = json.loads(capsys.readouterr().out)
    assert code == 0
    assert (out / "report.html").is_file()
    assert said["relative_error"]["validation"] < 0.02
    assert said["total_mass"] == pytest.approx(3.0, rel=0.1)
