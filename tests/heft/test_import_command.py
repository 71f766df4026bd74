"""`heft import`, files imported on the fly, and `heft export` of recordings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from heft.daq.recording import Recording
from heft.identify.data.recorded_robot import robot_of
from heft.importing import recording_of
from heft.main import main

ONE_JOINT = "t,q1,tau1\n" + "".join(f"{k},{k},{k}\n" for k in range(99))


@pytest.fixture
def log(tmp_path: Path, table: Any) -> Path:
    """Semicolons, decimal commas, comments, degrees, an empty column at the end."""
    path = tmp_path / "log.csv"
    names = "t [s];elbow_pos [deg];shoulder_pos [deg];elbow_vel;shoulder_vel;elbow_torque;shoulder_torque;\n"
    columns = table[:, [0, 2, 1, 4, 3, 6, 5]] * [1, 57.29577951308232, 57.29577951308232, 1, 1, 1, 1]
    rows = "".join(";".join(f"{cell:.9g}" for cell in row) + ";\n" for row in columns).replace(".", ",")
    path.write_text(f"# my robot\n{names}{rows}", encoding="utf-8")
    return path


def test_from_a_csv_to_a_report(
    log: Path, urdf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    code = main(["identify", str(log), "--robot", str(urdf), "--out", str(out), "--json"])
    said = json.loads(capsys.readouterr().out)
    assert code == 0
    assert (out / "report.html").is_file()
    assert said["relative_error"]["validation"] < 0.02
    assert said["total_mass"] == pytest.approx(3.1, rel=0.1)
    recording = Recording.open(out / "log.imported.mcap")
    assert {s.use for s in recording.segments} == {"identification", "validation"}
    assert "sha256" in recording.metadata["heft.import"]["files"]
    assert (
        main(["identify", str(log), "--robot", str(urdf), "--out", str(out), "--json"]) == 0
    )  # replaces its own


def bag_of(table: Any, folder: Path, storage: StoragePlugin) -> Path:
    """A bag by the stock writer, its file alone, without metadata.yaml."""
    store = get_typestore(Stores.ROS2_HUMBLE)
    header, stamp = store.types["std_msgs/msg/Header"], store.types["builtin_interfaces/msg/Time"]
    joint_state = store.types["sensor_msgs/msg/JointState"]
    names = ["shoulder_joint", "elbow_joint"]
    with Writer(folder, version=8, storage_plugin=storage) as writer:
        topic = writer.add_connection("/joint_states", joint_state.__msgtype__, typestore=store)
        for t, *row in table:
            ns = 1_700_000_000_000_000_000 + round(t * 1e9)
            head = header(stamp=stamp(sec=ns // 10**9, nanosec=ns % 10**9), frame_id="")
            message = joint_state(head, names, *np.array(row).reshape(3, 2))
            writer.write(topic, ns, store.serialize_cdr(message, joint_state.__msgtype__))
    (folder / "metadata.yaml").unlink()
    (path,) = folder.iterdir()
    return path


def data_set_of(table: Any, folder: Path) -> Path:
    """LeRobot's layout (v3), with two episodes in a file, as pyarrow writes it."""
    half = len(table) // 2
    columns = {
        name: pa.FixedSizeListArray.from_arrays(pa.array(table[:, k : k + 2].astype(np.float32).ravel()), 2)
        for name, k in (("observation.state", 1), ("observation.velocity", 3), ("observation.effort", 5))
    }
    columns |= {
        "timestamp": np.tile(table[:half, 0], 2).astype(np.float32),
        "episode_index": np.repeat([0, 1], half),
    }
    place = folder / "data" / "chunk-000" / "file-000.parquet"
    place.parent.mkdir(parents=True)
    pq.write_table(pa.table(columns), place)
    (folder / "meta").mkdir()
    names = ["shoulder_joint.pos", "elbow_joint.pos"]
    info = {"codebase_version": "v3.0", "fps": 100, "features": {"observation.state": {"names": names}}}
    (folder / "meta" / "info.json").write_text(json.dumps(info), encoding="utf-8")
    return folder


def odd_names(table: Any, path: Path) -> Path:
    """Arrays that are told apart by what they do."""
    np.savez(path, zz=table[:, 0], foo=table[:, 3:5], bar=table[:, 1:3], baz=table[:, 5:7])
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    "made",
    [
        lambda table, folder: bag_of(table, folder / "bag", StoragePlugin.MCAP),
        lambda table, folder: bag_of(table, folder / "bag", StoragePlugin.SQLITE3),
        lambda table, folder: odd_names(table, folder / "log.npz"),
        lambda table, folder: data_set_of(table, folder / "set"),
    ],
    ids=["a bag in MCAP", "a bag in sqlite3", "odd names", "LeRobot"],
)
def test_from_other_formats_to_a_report(
    made: Callable[[Any, Path], Path],
    urdf: Path,
    table: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    log, out = made(table, tmp_path), tmp_path / "out"
    code = main(["identify", str(log), "--robot", str(urdf), "--out", str(out), "--json"])
    said = json.loads(capsys.readouterr().out)
    assert code == 0
    assert (out / "report.html").is_file()
    assert said["relative_error"]["validation"] < 0.02
    assert said["total_mass"] == pytest.approx(3.1, rel=0.1)


def test_what_travels_inside(
    log: Path, urdf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    into, written = tmp_path / "a.mcap", tmp_path / "map.yaml"
    command = [
        "import",
        str(log),
        "--robot",
        str(urdf),
        "--as",
        str(into),
        "--map-out",
        str(written),
        "--json",
    ]
    assert main(command) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["map"]["joints"] == ["elbow_joint", "shoulder_joint"]
    assert said["locked"] == ["finger_joint"]
    assert said["map"]["position"]["unit"] == "deg"
    assert all(one["reason"] for one in said["columns"])
    robot = robot_of(Recording.open(into))
    assert robot.joints == ("shoulder_joint", "elbow_joint")
    changed = tmp_path / "fix.yaml"
    changed.write_text(
        written.read_text(encoding="utf-8") + "robot: {gravity: [0, 0, 9.81]}\n", encoding="utf-8"
    )
    assert (
        main(
            [
                "import",
                str(log),
                "--robot",
                str(urdf),
                "--as",
                str(into),
                "--map",
                str(changed),
                "--overwrite",
            ]
        )
        == 0
    )
    np.testing.assert_array_equal(robot_of(Recording.open(into)).gravity, [0, 0, 9.81])
    assert main(["identify", str(into), "--out", str(tmp_path / "out")]) in (0, 1)


def test_there_and_back(log: Path, table: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    into = tmp_path / "a.mcap"
    assert main(["import", str(log), "--as", str(into)]) == 0
    first = Recording.open(into).columns("arm.joint_states")
    for option, name in (("--csv", "b.csv"), ("--parquet", "b.parquet"), ("--bag", "b")):
        assert main(["export", str(into), option, str(tmp_path / name)]) == 0
        again = tmp_path / f"{name}.mcap"
        assert main(["import", str(tmp_path / name), "--as", str(again), "--no-viewer"]) == 0
        columns = Recording.open(again).columns("arm.joint_states")
        for quantity in ("position", "velocity", "torque"):
            np.testing.assert_allclose(columns.quantity(quantity), first.quantity(quantity), rtol=1e-12)
        np.testing.assert_allclose(np.diff(columns.host_ns), np.diff(first.host_ns), atol=300)
        assert columns.stream.columns[0].of == first.stream.columns[0].of
    assert main(["export", str(into), "--bag", str(tmp_path / "c"), "--stream", "nope"]) == 2
    assert "no stream 'nope'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        (lambda p: p.write_bytes(b""), 4, "empty"),
        (lambda p: p.write_bytes(np.random.default_rng(1).bytes(100_000)), 4, "binary"),
        (lambda p: p.write_text("t;q1;q2;q3\n" + "7;1;2;3\n" * 9), 4, "which column is time"),
        (lambda p: p.write_text("a;b\n" + "1;1\n" * 50), 4, "cannot be told"),
        (lambda p: p.unlink(), 4, "No such file"),
        (lambda p: p.write_text(ONE_JOINT), 4, "the robot has 3 joints, the file has q1 (1), tau1 (1)"),
    ],
)
def test_hostile_files_leave_nothing(
    log: Path,
    urdf: Path,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[Path], Any],
    code: int,
    said: str,
) -> None:
    change(log)
    before = sorted(path.name for path in log.parent.iterdir())
    assert main(["import", str(log), "--robot", str(urdf), "--as", str(log.parent / "a.mcap")]) == code
    err = capsys.readouterr().err
    assert said in err
    assert "Traceback" not in err
    assert sorted(path.name for path in log.parent.iterdir()) == before


def test_maps_that_cannot_be_used(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "map.yaml"
    for text, said in (
        ("torque: {unit: furlong}", "furlong"),
        ("torqe: {}", "torqe"),
        ("- 1", "expected keys"),
        ("position: {columns: [nope]}", "no column 'nope'"),
    ):
        path.write_text(text, encoding="utf-8")
        assert main(["import", str(log), "--map", str(path), "--as", str(tmp_path / "a.mcap")]) == 2
        assert said in capsys.readouterr().err
    assert not (tmp_path / "a.mcap").exists()


def test_nothing_is_overwritten_unasked(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    into = tmp_path / "a.mcap"
    into.write_text("mine", encoding="utf-8")
    with pytest.raises(SystemExit) as end:
        main(["import", str(log), "--as", str(into)])
    assert end.value.code == 2
    assert into.read_text(encoding="utf-8") == "mine"
    assert main(["import", str(log), "--as", str(into), "--overwrite"]) == 0
    assert main(["import", str(into), "--as", str(tmp_path / "b.mcap")]) == 2
    assert "a recording of Heft already" in capsys.readouterr().err


@pytest.mark.parametrize("tied", [False, True])
def test_numbered_columns_are_of_the_arm_without_its_hand(
    urdf: Path, table: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], tied: bool
) -> None:
    if tied:  # a second finger that moves with the first
        text = urdf.read_text(encoding="utf-8")
        finger = text[text.index('<link name="finger">') : text.index('<joint name="shoulder')]
        joint = text[text.index('<joint name="finger_joint"') : text.index("<gazebo>")]
        second = (finger + joint).replace("finger", "finger2")
        mimic = second.replace("<axis", '<mimic joint="finger_joint" multiplier="1"/><axis')
        urdf.write_text(text.replace("<gazebo>", mimic + "<gazebo>"), encoding="utf-8")
    log = tmp_path / "numbered.csv"
    np.savetxt(log, table, delimiter=",", header="t,q1,q2,dq1,dq2,tau1,tau2", comments="")
    assert main(["import", str(log), "--robot", str(urdf), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["map"]["joints"] == ["shoulder_joint", "elbow_joint"]
    assert set(said["locked"]) == ({"finger_joint", "finger2_joint"} if tied else {"finger_joint"})


def test_check_tells_of_a_file_that_was_cut_off(
    urdf: Path, table: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "cut.csv"
    header = "# duration: 40 s\nt,q1,q2,dq1,dq2,tau1,tau2"
    np.savetxt(log, table, delimiter=",", header=header, comments="")
    log.write_bytes(log.read_bytes()[:-9])
    main(["check", str(log), "--robot", str(urdf), "--json"])
    found = {one["id"]: one for one in json.loads(capsys.readouterr().out)["findings"]}
    assert found["truncated"]["severity"] == "serious"
    assert "it states 40 s" in found["truncated"]["evidence"]
    assert "the file ends in it" in found["garbage_rows"]["evidence"]


@pytest.fixture
def alike(table: Any, tmp_path: Path) -> tuple[Path, Path]:
    """Two files of one name, in two folders: the second has twice the torques."""
    paths = tmp_path / "first" / "log.csv", tmp_path / "second" / "log.csv"
    for factor, path in enumerate(paths, start=1):
        path.parent.mkdir()
        header = "t,q1,q2,dq1,dq2,tau1,tau2"
        np.savetxt(path, table * [1, 1, 1, 1, 1, factor, factor], delimiter=",", header=header, comments="")
    return paths


def test_files_of_one_name_are_told_apart(
    alike: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (fit, validate), into = alike, tmp_path / "a.mcap"
    monkeypatch.chdir(fit.parent)
    for own in (fit, Path(fit.name)):
        words = ["import", str(own), "--validate", str(validate), "--as", str(into), "--overwrite", "--json"]
        assert main(words) == 0
        said = json.loads(capsys.readouterr().out)
        assert [one["use"] for one in said["segments"]] == ["identification", "validation"]
        assert len({one["segment"] for one in said["segments"]}) == 2
        assert len(said["dropped"]) == 2
        assert [one.use for one in Recording.open(into).segments] == ["identification", "validation"]
    assert main(["import", str(fit), "--validate", str(fit), "--as", str(into), "--overwrite"]) == 2
    assert "is given twice" in capsys.readouterr().err


def test_files_of_one_name_become_two_recordings(alike: tuple[Path, Path], tmp_path: Path) -> None:
    made = [recording_of(file, tmp_path, among=alike) for file in alike]
    torques = [Recording.open(path).columns("arm.joint_states").quantity("torque") for path in made]
    np.testing.assert_allclose(torques[1], 2 * torques[0])


@pytest.mark.parametrize("command", ["check", "identify", "payload"])
def test_a_map_for_a_recording_of_heft_is_refused(
    command: str, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody is to believe that it did anything."""
    own, mapped = tmp_path / "own.mcap", tmp_path / "map.yaml"
    assert main(["import", str(log), "--as", str(own)]) == 0
    mapped.write_text("torque: {sign: -1}\n", encoding="utf-8")
    assert main([command, str(own), "--map", str(mapped)]) == 2
    assert "a recording of Heft, whose columns are known" in capsys.readouterr().err
