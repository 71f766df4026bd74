"""NPZ files of numpy."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib import format as npy

from heft.daq.errors import ConfigError, ImportFileError
from heft.daq.importing.guessing.guess import guess, require
from heft.daq.importing.open_file import open_file


def test_odd_names(motion: Any, imported: Callable[..., Any], tmp_path: Path) -> None:
    """By consistency alone: what integrates to what, and what is left."""
    path = tmp_path / "log.npz"
    copy = motion.q + 1e-4 * np.sin(np.arange(len(motion.t)))[:, None]
    np.savez_compressed(path, zz=motion.t, foo=motion.dq, bar=motion.q, baz=motion.tau, quux=copy)
    found = imported(path)
    assert found.map["position"]["columns"] in (["bar"], ["quux"])
    assert (found.map["velocity"]["columns"], found.map["torque"]["columns"]) == (["foo"], ["baz"])
    np.testing.assert_array_equal(found.signal("torque"), motion.tau)


def test_runs_gears_and_what_lies_across(motion: Any, imported: Callable[..., Any], tmp_path: Path) -> None:
    gear = np.array([100.0, 50.0])
    runs = {}
    for name in "AB":
        runs |= {
            f"{name}__t": motion.t,
            f"{name}__q": motion.q.T,
            f"{name}__dq": np.asfortranarray(motion.dq),
        }
        runs[f"{name}__motor_torque"] = (motion.tau / gear).astype(">f4")
    np.savez(tmp_path / "log.npz", gear_ratio=gear, **runs)
    changes = {"segments": [{"run": "B", "use": "validate"}]}
    found = imported(tmp_path / "log.npz", changes=changes)
    np.testing.assert_allclose(found.signal("torque"), np.tile(motion.tau, (2, 1)), rtol=1e-6)
    np.testing.assert_array_equal(found.signal("position"), np.tile(motion.q, (2, 1)))
    np.testing.assert_array_equal(found.signal("velocity"), np.tile(motion.dq, (2, 1)))
    segments = found.recording.segments
    assert [(s.name, s.use) for s in segments] == [("A", "identification"), ("B", "validation")]
    inside = found.recording.columns("arm.joint_states", segments[1].start_ns, segments[1].end_ns)
    assert len(inside) == len(motion.t)
    assert not found.recording.columns("arm.joint_states").gaps


def test_several_files_and_what_is_held_back(
    motion: Any, imported: Callable[..., Any], tmp_path: Path
) -> None:
    for name in ("a", "b", "c"):
        np.savez(tmp_path / f"{name}.npz", t=motion.t, q=motion.q, tau=motion.tau)
    paths = [tmp_path / f"{name}.npz" for name in ("a", "b", "c")]
    assert [s.use for s in imported(*paths).recording.segments] == ["identification"] * 3
    uses = [(s.name, s.use) for s in imported(*paths, hold_back=1 / 3).recording.segments]
    assert uses == [("a", "identification"), ("b", "identification"), ("c", "validation")]
    lone = imported(paths[0], hold_back=0.25).recording.segments
    assert [s.use for s in lone] == ["identification", "validation"]
    assert (lone[1].end_ns - lone[1].start_ns) * 1e-9 == pytest.approx(0.25 * 15.0, rel=1e-3)


def test_the_map_is_applied(motion: Any, imported: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "log.npz"
    np.savez(path, t=motion.t, q=motion.q, tau=motion.tau, current=motion.tau / 7)
    changes = {
        "joints": ["shoulder", "elbow"],
        "position": {"sign": [1, -1], "offset": [0.5, 0.0], "gear": 2.0},
        "torque": {"columns": ["current"], "unit": "mA", "constant": 0.07, "gear": [100, 50], "sign": -1},
    }
    found = imported(path, changes=changes)
    np.testing.assert_allclose(found.signal("position"), motion.q / 2 * [1, -1] + [0.5, 0.0])
    np.testing.assert_allclose(found.signal("torque"), -motion.tau / 7 * 1e-3 * 0.07 * [100, 50])
    assert [c.of for c in found.recording.streams["arm.joint_states"].columns[:2]] == ["shoulder", "elbow"]
    current = imported(path, changes={"torque": {"columns": "current", "unit": "A"}})
    np.testing.assert_allclose(current.signal("current"), motion.tau / 7)


def test_currents_need_constants_to_be_torques(
    motion: Any, imported: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "log.npz"
    arrays = {"t": motion.t, "q": motion.q, "current": motion.tau / 7, "gear_ratio": np.array([7.0, 3.5])}
    np.savez(path, **arrays)
    np.testing.assert_allclose(imported(path).signal("current"), motion.tau / 7)
    np.savez(path, kt=np.array([1.0, 2.0]), **arrays)
    np.testing.assert_allclose(imported(path).signal("torque"), motion.tau)


@pytest.mark.parametrize("name", ["i_meas", "i_motor", "I_q", "iq_measured"])
def test_currents_by_the_letter_of_physics(
    motion: Any, imported: Callable[..., Any], tmp_path: Path, name: str
) -> None:
    path = tmp_path / "log.npz"
    np.savez(path, t=motion.t, q=motion.q, kt=np.array([0.5, 2.0]), **{name: motion.tau})
    np.testing.assert_allclose(imported(path).signal("torque"), motion.tau * [0.5, 2.0])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"torque": {"columns": ["nope"]}}, "no column 'nope'; there are: t, q, tau"),
        ({"torque": {"columns": ["q[0]"]}}, "1 columns for 2 joints"),
        ({"torque": {"gear": [1, 2, 3]}}, "3 numbers for 2 joints"),
        ({"torque": {"unit": "furlong"}}, "'furlong' is not known"),
        ({"position": {"gear": 0}}, "must not be zero"),
        ({"joints": ["a", "a"]}, "named twice"),
        ({"joints": ["a"]}, "1 names for 2 columns"),
        ({"time": {"column": "when"}}, "no column 'when'"),
        ({"time": {"unit": "h"}}, "must be s, ms, us or ns"),
        ({"wrench": {"columns": ["q"]}}, "give six"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_maps_that_contradict_the_file(
    motion: Any, imported: Callable[..., Any], tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    np.savez(tmp_path / "log.npz", t=motion.t, q=motion.q, tau=motion.tau)
    with pytest.raises(ConfigError, match=said):
        imported(tmp_path / "log.npz", changes=changes)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.npz"]


def damaged(kind: str, motion: Any) -> bytes:
    """An NPZ file that is wrong in one way."""
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {"t": motion.t, "q": motion.q, "tau": motion.tau}
    if kind == "objects":
        arrays = {"q": np.array([{}, 1], dtype=object)}
    elif kind == "no rows":
        arrays = {name: array[:0] for name, array in arrays.items()}
    elif kind == "torques of another length":
        arrays["tau"] = motion.tau[:-1]
    np.savez(buffer, **arrays)
    data = buffer.getvalue()
    if kind == "cut":
        return data[: len(data) // 2]
    if kind == "flipped":
        middle = bytearray(data)
        middle[2000] ^= 0xFF
        return bytes(middle)
    if kind == "a header that lies":
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 7), }"
            header += b" " * (117 - len(header)) + b"\n"
            archive.writestr("q.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
        return buffer.getvalue()
    if kind == "no array":
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("hello.txt", "hello")
        return buffer.getvalue()
    return data


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("cut", "not a whole NPZ file"),
        ("flipped", "cut off or damaged|not a whole"),
        ("objects", "Python objects"),
        ("no rows", "no arrays of numbers|no rows|no row"),
        ("a header that lies", "not a whole NPZ file: q states"),
        ("no array", "no arrays of numbers"),
    ],
)
def test_damaged_files(
    motion: Any, imported: Callable[..., Any], tmp_path: Path, kind: str, said: str
) -> None:
    path = tmp_path / "log.npz"
    path.write_bytes(damaged(kind, motion))
    with pytest.raises(ImportFileError, match=said):
        imported(path)
    assert [one.name for one in tmp_path.iterdir()] == ["log.npz"]


def test_arrays_of_another_length_are_told(motion: Any, tmp_path: Path) -> None:
    path = tmp_path / "log.npz"
    path.write_bytes(damaged("torques of another length", motion))
    assert "tau has the shape (1499, 2), the others have 1500 rows" in open_file(path).oddities


def test_columns_that_do_not_belong_to_one_arm_are_counted(motion: Any, tmp_path: Path) -> None:
    path = tmp_path / "log.npz"
    np.savez(path, t=motion.t, q=np.repeat(motion.q, 2, axis=1)[:, :3], tau=np.repeat(motion.tau, 2, axis=1))
    found = guess(open_file(path).tables)
    with pytest.raises(ImportFileError, match=r"position cannot be told \(.*: q \(3\), tau \(4\)"):
        require(found.map, "log.npz", found.notes)


def test_a_folder_of_npy_files(motion: Any, imported: Callable[..., Any], tmp_path: Path) -> None:
    folder = tmp_path / "joint_data"
    folder.mkdir()
    arrays = {"sample_times_s": motion.t, "joint_positions": motion.q, "joint_torques": motion.tau}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    found = imported(folder)
    np.testing.assert_array_equal(found.signal("position"), motion.q)
    np.testing.assert_array_equal(found.signal("torque"), motion.tau)


@pytest.mark.parametrize("name", ["log.npz", "log.npy"])
def test_fields_of_a_structured_array(
    motion: Any, imported: Callable[..., Any], tmp_path: Path, name: str
) -> None:
    fields = [("t", "<f8"), ("q", ">f4", 2), ("dq", "<f8", 2), ("tau", "<f8", 2), ("mode", "U8")]
    rows = np.zeros(len(motion.t), dtype=fields)
    rows["t"], rows["q"], rows["dq"], rows["tau"] = motion.t, motion.q, motion.dq, motion.tau
    path = tmp_path / name
    if path.suffix == ".npz":
        np.savez(path, run=rows)
    else:
        np.save(path, rows)
    found = imported(path)
    assert found.map["position"]["columns"] == ["q"]
    np.testing.assert_allclose(found.signal("position"), motion.q, atol=1e-6)
    np.testing.assert_array_equal(found.signal("torque"), motion.tau)


@pytest.mark.parametrize("timed", [True, False])
def test_one_array_of_everything(
    motion: Any, imported: Callable[..., Any], tmp_path: Path, timed: bool
) -> None:
    """Its columns are told by what they do, as those of a table without a header are."""
    path = tmp_path / "log.npz"
    every = np.column_stack([motion.q, motion.dq, motion.tau])
    if timed:
        np.savez(path, mode=np.zeros(len(every)), t=motion.t, data=every)
    else:
        np.savez(path, data=np.column_stack([motion.t, every]))
    found = imported(path)
    np.testing.assert_array_equal(found.signal("position"), motion.q)
    np.testing.assert_array_equal(found.signal("velocity"), motion.dq)
    np.testing.assert_array_equal(found.signal("torque"), motion.tau)


def test_thousands_of_arrays(tmp_path: Path) -> None:
    path = tmp_path / "log.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for k in range(4097):
            archive.writestr(f"a{k}.npy", b"")
    with pytest.raises(ImportFileError, match="4097 columns, at most 4096"):
        open_file(path)


def test_an_array_that_unpacks_to_far_more_than_it_takes(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("q.npy", "w") as file:
        shape = (20_000_000, 2)
        npy.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": True, "shape": shape})
        for _ in range(20):
            file.write(bytes(16_000_000))
    with pytest.raises(ImportFileError, match=r"unpacks to 0\.32 GB, 1\d\d\d times what it takes"):
        open_file(path)
