"""Parquet, and LeRobot's layout as pyarrow writes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from heft.daq.errors import ImportFileError
from heft.daq.importing.open_file import open_file

JOINTS = ["shoulder_pan", "elbow_flex"]


def vectors(values: Any, fixed: bool = True) -> pa.Array:
    flat = pa.array(np.asarray(values, np.float32).ravel())
    if fixed:
        return pa.FixedSizeListArray.from_arrays(flat, 2)
    return pa.ListArray.from_arrays(np.arange(0, len(flat) + 1, 2, dtype=np.int32), flat)


def lerobot(folder: Path, motion: Any, episodes: int = 3, fixed: bool = True) -> Path:
    """A data set of v3: episodes one after the other in one file, what columns are in meta/info.json."""
    n = len(motion.t) // episodes
    cut = slice(0, n * episodes)
    table = pa.table(
        {
            "observation.state": vectors(motion.q[cut], fixed),
            "observation.velocity": vectors(motion.dq[cut], fixed),
            "observation.effort": vectors(motion.tau[cut], fixed),
            "action": vectors(motion.q[cut], fixed),
            "timestamp": np.tile(motion.t[:n], episodes).astype(np.float32),
            "frame_index": np.tile(np.arange(n), episodes),
            "episode_index": np.repeat(np.arange(episodes), n),
            "index": np.arange(n * episodes),
            "task_index": np.zeros(n * episodes, np.int64),
        }
    )
    place = folder / "data" / "chunk-000" / "file-000.parquet"
    place.parent.mkdir(parents=True)
    pq.write_table(table, place)
    feature = {"dtype": "float32", "shape": [2], "names": [f"{joint}.pos" for joint in JOINTS]}
    (folder / "meta").mkdir()
    info = {"codebase_version": "v3.0", "fps": 100, "features": {"observation.state": feature}}
    (folder / "meta" / "info.json").write_text(json.dumps(info), encoding="utf-8")
    return place


@pytest.mark.parametrize("fixed", [True, False])
def test_lerobot(motion: Any, imported: Callable[..., Any], tmp_path: Path, fixed: bool) -> None:
    place = lerobot(tmp_path / "set", motion, fixed=fixed)
    for path in (place, tmp_path / "set"):
        found = imported(path)
        assert found.map["position"]["columns"] == ["observation.state"]
        assert found.map["torque"]["columns"] == ["observation.effort"]
        assert found.map["joints"] == JOINTS
        assert found.columns["action"] == "ignored"
        np.testing.assert_allclose(found.signal("position"), motion.q, rtol=1e-6)
        assert found.recording.segments[0].name.endswith("episode_index_0")
        assert len(found.recording.segments) == 3


@pytest.mark.parametrize(
    "info",
    [
        {"fps": "fast", "total_frames": "all", "features": {"observation.state": {"names": 7}}},
        {"fps": [1], "features": ["observation.state"]},
        {"features": {"observation.state": "joints"}},
        ["fps"],
    ],
)
def test_what_a_data_set_says_of_itself_may_be_nonsense(
    motion: Any, imported: Callable[..., Any], tmp_path: Path, info: Any
) -> None:
    lerobot(tmp_path / "set", motion)
    (tmp_path / "set" / "meta" / "info.json").write_text(json.dumps(info), encoding="utf-8")
    np.testing.assert_allclose(imported(tmp_path / "set").signal("torque"), motion.tau, rtol=1e-6)


def test_an_info_of_another_size_than_any(motion: Any, tmp_path: Path) -> None:
    lerobot(tmp_path / "set", motion)
    (tmp_path / "set" / "meta" / "info.json").write_text(" " * (1 << 23), encoding="utf-8")
    with pytest.raises(ImportFileError, match=r"info\.json has 8388608 bytes"):
        open_file(tmp_path / "set")


def test_flat_columns_and_broken_rows(motion: Any, imported: Callable[..., Any], tmp_path: Path) -> None:
    q = motion.q.copy()
    q[7, 1] = np.nan
    effort = [None if k == 9 else list(row) for k, row in enumerate(motion.tau)]
    effort[11] = [1.0]
    names = {"time": motion.t, "joint_1_pos": q[:, 0], "joint_2_pos": q[:, 1]}
    pq.write_table(
        pa.table({**names, "joint_torques": effort, "note": ["x"] * len(q)}), tmp_path / "a.parquet"
    )
    found = imported(tmp_path / "a.parquet")
    assert len(found.signal("position")) == len(q) - 2
    assert found.done.dropped == {"a.parquet": 2}
    assert np.isnan(found.signal("position")).sum() == 1


@pytest.mark.parametrize("kind", ["cut", "garbage", "no rows", "words"])
def test_damaged(motion: Any, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"t": motion.t, "q": motion.q[:, 0]})
    written = {"no rows": table.slice(0, 0), "words": pa.table({"a": ["x"]})}.get(kind, table)
    pq.write_table(written, path)
    data = path.read_bytes()
    if kind == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif kind == "garbage":
        path.write_bytes(data[:4] + bytes(200) + data[-4:])
    with pytest.raises(ImportFileError, match=r"not a whole Parquet file|no rows|no columns of numbers"):
        open_file(path)


def test_columns_of_one_name(motion: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table([pa.array(motion.t), *map(pa.array, motion.q.T)], names=["t", "q", "q"]), path)
    with pytest.raises(ImportFileError, match="2 columns are called 'q'"):
        open_file(path)


def test_a_row_without_a_time_is_left_out(motion: Any, imported: Callable[..., Any], tmp_path: Path) -> None:
    """It is not of 1970."""
    stamps = 1_700_000_000_000_000_000 + np.round(motion.t * 1e9).astype(np.int64)
    missing = np.arange(len(stamps)) == 700
    columns = {f"{name}{k}": getattr(motion, name)[:, k] for name in ("q", "dq", "tau") for k in range(2)}
    times = pa.array(stamps, pa.timestamp("ns"), mask=missing)
    pq.write_table(pa.table({"time": times, **columns}), tmp_path / "log.parquet")
    found = imported(tmp_path / "log.parquet")
    columns_read = found.recording.columns("arm.joint_states")
    assert len(columns_read.host_ns) == len(stamps) - 1
    assert np.diff(columns_read.host_ns).max() == 20_000_000
    assert "row 701: no time" in found.done.broken[0]
