"""CSV as other people write it."""

from __future__ import annotations

import gzip
import os
import pickle
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heft.daq.errors import ImportFileError
from heft.daq.importing.guessing.guess import guess
from heft.daq.importing.guessing.guessed import RobotFacts
from heft.daq.importing.guessing.time_base import guess_time
from heft.daq.importing.open_file import open_file
from heft.daq.importing.readers import csv_text
from heft.daq.importing.readers.csv_dialect import dialect_of
from heft.daq.importing.readers.csv_text import CsvSource


def text(
    motion: Any, separator: str = ",", decimal: str = ".", head: str = "t,q1,q2,dq1,dq2,tau1,tau2"
) -> str:
    table = np.column_stack([motion.t, motion.q, motion.dq, motion.tau])
    lines = [separator.join(f"{cell:.9g}" for cell in row) for row in table]
    body = "\n".join(lines).replace(".", decimal) if decimal != "." else "\n".join(lines)
    return (head.replace(",", separator) + "\n" if head else "") + body + "\n"


@pytest.mark.parametrize(
    ("separator", "decimal"), [(",", "."), (";", ","), ("\t", "."), ("|", "."), ("  ", ".")]
)
def test_separators_and_decimal_marks(
    motion: Any, imported: Callable[..., Any], tmp_path: Path, separator: str, decimal: str
) -> None:
    path = tmp_path / "log.csv"
    path.write_text("# a robot\n# rate: 100 Hz\n" + text(motion, separator, decimal), encoding="utf-8")
    found = imported(path)
    np.testing.assert_allclose(found.signal("position"), motion.q, rtol=1e-8)
    np.testing.assert_allclose(found.signal("torque"), motion.tau, rtol=1e-7)
    columns = found.recording.columns("arm.joint_states")
    np.testing.assert_allclose((columns.host_ns - columns.host_ns[0]) * 1e-9, motion.t, atol=1e-9)


def test_windows_and_a_line_of_units(motion: Any, imported: Callable[..., Any], tmp_path: Path) -> None:
    degrees = type(motion)(1e3 * motion.t, np.degrees(motion.q), np.degrees(motion.dq), 1e3 * motion.tau)
    head = "Time,Axis 1 Pos,Axis 2 Pos,Axis 1 Speed,Axis 2 Speed,Axis 1 Torque,Axis 2 Torque\n"
    units = "[ms],[deg],[deg],[deg/s],[deg/s],[Nmm],[Nmm]\n"
    path = tmp_path / "log.csv"
    body = text(degrees, head="")
    path.write_bytes(b"\xef\xbb\xbf" + (head + units + body).replace("\n", "\r\n").encode())
    found = imported(path)
    np.testing.assert_allclose(found.signal("position"), motion.q, rtol=1e-7)
    np.testing.assert_allclose(found.signal("velocity"), motion.dq, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found.signal("torque"), motion.tau, rtol=1e-7)
    assert found.recording.streams["arm.joint_states"].rate_hz == pytest.approx(100.0)


def test_no_header_and_no_time(motion: Any, imported: Callable[..., Any], tmp_path: Path) -> None:
    """Positions are what velocities integrate to, and the rate follows."""
    path = tmp_path / "log.txt"
    np.savetxt(path, np.column_stack([motion.tau, motion.q, motion.dq]), delimiter=",")
    found = imported(path)
    assert found.map["rate_hz"] == pytest.approx(100.0)
    np.testing.assert_allclose(found.signal("position"), motion.q)
    np.testing.assert_allclose(found.signal("torque"), motion.tau)


def test_no_header_and_stamps_with_gaps(motion: Any, imported: Callable[..., Any], tmp_path: Path) -> None:
    """A column of times is known without a name, also where samples are lost; a motion one way is none."""
    path = tmp_path / "log.txt"
    kept = np.random.default_rng(3).random(len(motion.t)) > 0.03
    rows = np.column_stack([motion.t, motion.q, motion.dq, motion.tau])[kept]
    np.savetxt(path, rows, delimiter=" ")
    found = imported(path)
    assert found.map["time"] == {"column": "column1", "unit": "s"}
    np.testing.assert_allclose(found.signal("position"), motion.q[kept])
    np.savetxt(path, np.sinh(motion.t), delimiter=" ")
    assert not guess_time(CsvSource(path).tables[0])


def test_numpys_commented_header(motion: Any, imported: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    table = np.column_stack([motion.t, motion.q, motion.tau])
    np.savetxt(path, table, delimiter=" ", header="t q_1 q_2 effort_1 effort_2")
    np.testing.assert_allclose(imported(path).signal("torque"), motion.tau)


def test_broken_rows_are_named_and_skipped(motion: Any, imported: Callable[..., Any], tmp_path: Path) -> None:
    lines = text(motion).splitlines()
    lines[11] = "garbage"
    lines[21] = lines[21].replace(",", ",x", 1)
    lines[31] = lines[31].rpartition(",")[0] + ","  # an empty cell: only that value is missing
    lines[41] = lines[41] + ",7"
    path = tmp_path / "log.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = imported(path)
    assert sorted(int(line.split("row ")[1].split(":")[0]) for line in found.done.broken) == [12, 22, 42]
    columns = found.recording.columns("arm.joint_states")
    assert len(columns) == len(motion.t) - 3
    assert [count for _, count in columns.gaps] == [1, 1, 1]
    assert np.isnan(found.signal("torque")).sum() == 1
    kept = np.delete(np.arange(len(motion.t)), [10, 20, 40])
    np.testing.assert_allclose(found.signal("position"), motion.q[kept], rtol=1e-8)


def test_dates(motion: Any, imported: Callable[..., Any], tmp_path: Path) -> None:
    stamps = np.datetime64("2024-05-06T07:08:09.000") + (motion.t * 1000).astype("timedelta64[ms]")
    numbers = np.column_stack([motion.q, motion.tau])
    rows = [",".join([str(s), *map(str, row)]) for s, row in zip(stamps, numbers.tolist(), strict=True)]
    path = tmp_path / "log.csv"
    path.write_text("stamp,q1,q2,tau1,tau2\n" + "\n".join(rows), encoding="utf-8")
    recording = imported(path).recording
    utc = recording.columns("arm.joint_states").host_ns[0] + recording.utc_offset_ns
    assert utc == np.datetime64("2024-05-06T07:08:09", "ns").astype(int)


@pytest.mark.parametrize(
    ("form", "more", "separator"),
    [
        ("%Y-%m-%dT%H:%M:%S.%f", "Z", ","),
        ("%Y-%m-%dT%H:%M:%S.%f", "+02:00", ","),
        ("%Y-%m-%d %H:%M:%S,%f", "", ";"),
        ("%Y/%m/%d %H:%M:%S.%f", "000", ","),
        ("%d.%m.%Y %H:%M:%S,%f", "", ";"),
        ("%H:%M:%S.%f", "", ","),
    ],
)
def test_dates_as_people_write_them(
    motion: Any, imported: Callable[..., Any], tmp_path: Path, form: str, more: str, separator: str
) -> None:
    begin = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
    numbers = np.column_stack([motion.q, motion.tau])
    rows = [
        separator.join([(begin + timedelta(seconds=t)).strftime(form) + more, *map(str, row)])
        for t, row in zip(motion.t.tolist(), numbers.tolist(), strict=True)
    ]
    rows[700] = rows[700].replace(rows[700].split(separator)[1], "broken")
    path = tmp_path / "log.csv"
    path.write_text(
        "\n".join([separator.join(["stamp", "q1", "q2", "tau1", "tau2"]), *rows, ""]), encoding="utf-8"
    )
    one = imported(path)
    assert one.done.broken == ["log.csv: row 702: words where numbers should be: 'broken'"]
    host_ns = one.recording.columns("arm.joint_states").host_ns
    np.testing.assert_array_equal((host_ns - host_ns[0]) / 1e9, np.delete(motion.t, 700))
    if form.startswith("%H"):
        return
    utc_ns = host_ns[0] + one.recording.utc_offset_ns
    assert utc_ns == (begin.timestamp() - 7200 * (more == "+02:00")) * 1e9


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_and_ends_of_lines(
    motion: Any,
    imported: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    end: str,
    encoding: str,
) -> None:
    monkeypatch.setattr(csv_text, "PIECE", 4099)  # ends of lines and characters are parted by it
    path = tmp_path / "log.csv"
    path.write_bytes(text(motion).replace("\n", end).encode(encoding))
    found = imported(path)
    np.testing.assert_allclose(found.signal("torque"), motion.tau, rtol=1e-8)
    assert found.done.broken == []


def test_columns_of_one_name_are_numbered(motion: Any, imported: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text(motion, head="t,q,q,dq,dq,tau,tau"), encoding="utf-8")
    found = imported(path)
    assert found.map["position"]["columns"] == ["q#1", "q#2"]
    np.testing.assert_allclose(found.signal("torque"), motion.tau, rtol=1e-8)


def test_numbers_in_another_way_of_writing_are_shown(
    motion: Any, imported: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "log.csv"
    rows = [
        f'"{1000 + t:,.2f}",{q},{u}'
        for t, q, u in zip(motion.t, motion.q[:, 0], motion.tau[:, 0], strict=True)
    ]
    path.write_text("\n".join(["t,q,tau", *rows, ""]), encoding="utf-8")
    assert CsvSource(path).oddities == ["t holds '1,000.00', not numbers"]


@pytest.mark.parametrize("first", [",0,1,2,3,4,5", "0,1,2,3,4,5,6", "1,2,3,4,5,6,7"])
def test_columns_that_are_only_counted(
    motion: Any, imported: Callable[..., Any], tmp_path: Path, first: str
) -> None:
    """As pandas heads columns without names; the first is its index."""
    path = tmp_path / "log.csv"
    path.write_text(text(motion, head=first), encoding="utf-8")
    found = imported(path)
    np.testing.assert_allclose(found.signal("position"), motion.q, rtol=1e-8)
    np.testing.assert_allclose(found.signal("torque"), motion.tau, rtol=1e-8)


@pytest.mark.parametrize("frame", ["", "base_link"])
def test_what_ros2_topic_echo_writes(
    motion: Any, imported: Callable[..., Any], tmp_path: Path, frame: str
) -> None:
    """No header; seconds, nanoseconds, a frame, names of the joints, and their positions, velocities and efforts."""
    path = tmp_path / "log.csv"
    ns = np.round(motion.t * 1e9).astype(int) + 999_000_000
    rows = [
        ",".join(
            [str(1_700_000_000 + at // 10**9), str(at % 10**9), frame, "elbow", "shoulder", *map(repr, row)]
        )
        for at, row in zip(
            ns.tolist(), np.column_stack([motion.q, motion.dq, motion.tau]).tolist(), strict=True
        )
    ]
    path.write_text("\n".join([*rows, ""]), encoding="utf-8")
    found = imported(path)
    np.testing.assert_array_equal(found.signal("position"), motion.q)
    np.testing.assert_array_equal(found.signal("velocity"), motion.dq)
    np.testing.assert_array_equal(found.signal("torque"), motion.tau)
    columns = found.recording.columns("arm.joint_states")
    assert columns.host_ns[0] + found.recording.utc_offset_ns == 1_700_000_000_999_000_000
    np.testing.assert_array_equal(columns.host_ns - columns.host_ns[0], ns - ns[0])
    robot = RobotFacts(("shoulder", "elbow"), (False, False), np.array([[-3.0, 3.0]] * 2))
    assert guess(open_file(path).tables, robot, named=False).map["joints"] == ["elbow", "shoulder"]


def test_lists_in_cells(motion: Any, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [
        f'{t},"[{q[0]}, {q[1]}]","[{u[0]}, {u[1]}]"'
        for t, q, u in zip(motion.t, motion.q, motion.tau, strict=True)
    ]
    path.write_text("\n".join(["t,q,tau", *rows, ""]), encoding="utf-8")
    with pytest.raises(ImportFileError, match="a cell holds several numbers"):
        CsvSource(path)


@pytest.mark.parametrize(
    ("begin", "said"),
    [
        (gzip.compress(b"t,q1,tau1", mtime=0), "gunzip"),
        (b'{"t": 0.1, "q": [1.0, 2.0], "tau": [1.0, 2.0]}\n' * 100, "JSON"),
        (b'[{"t": 0.1}, {"t": 0.2}]', "JSON"),
        (b"MATLAB 5.0 MAT-file, Platform: GLNXA64", "a MAT-file"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
        (b"#ROSBAG V2.0\n", "ROS 1"),
        (pickle.dumps({"q": 1.0}), "a pickle, which is not read"),
    ],
    ids=["gzip", "JSON lines", "JSON", "MAT", "HDF5", "ROS 1", "pickle"],
)
def test_files_of_other_kinds_are_told_by_what_they_are(tmp_path: Path, begin: bytes, said: str) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(begin)
    with pytest.raises(ImportFileError, match=said):
        open_file(path)


def test_pipes_and_devices_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log.csv")
    for path in (tmp_path / "log.csv", Path("/dev/zero")):
        with pytest.raises(ImportFileError, match="a pipe or a device"):
            open_file(path)


def test_absurd_numbers_are_no_warning(motion: Any, imported: Callable[..., Any], tmp_path: Path) -> None:
    """Of a damaged file: warnings are errors in tests."""
    path = tmp_path / "log.csv"
    lines = text(motion).splitlines()
    for k in (10, 400, 900):
        lines[k] = ",".join(cell if j != k % 7 else "-3e299" for j, cell in enumerate(lines[k].split(",")))
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    assert imported(path).map["velocity"]["unit"] == "rad/s"


def test_host_and_device_stamps_are_both_kept(
    motion: Any, imported: Callable[..., Any], tmp_path: Path
) -> None:
    late = motion.t + 0.004 + 0.001 * np.sin(np.arange(len(motion.t)))
    table = np.column_stack([motion.t, late, motion.q, motion.tau])
    path = tmp_path / "log.csv"
    np.savetxt(path, table, delimiter=",", header="t,t_host,q1,q2,tau1,tau2", comments="")
    columns = imported(path).recording.columns("arm.joint_states")
    np.testing.assert_allclose((columns.host_ns - columns.request_ns) * 1e-9, late - motion.t, atol=2e-9)
    assert columns.stream.at_request


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b"\n\n", "empty"),
        (b"hello\nworld\n", "no rows of numbers"),
        (bytes(range(256)) * 40, "binary"),
        (b"\xff\xfet\x00,\x00q\x00", "no rows of numbers"),
        (b"t\x00,\x00q\x00\n\x00", "binary"),
        (b"1" * 2_000_000, "a line of more than"),
    ],
)
def test_what_is_no_table(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(data)
    with pytest.raises(ImportFileError, match=said):
        CsvSource(path)


def test_mostly_broken(motion: Any, imported: Callable[..., Any], tmp_path: Path) -> None:
    lines = text(motion).splitlines()
    path = tmp_path / "log.csv"
    path.write_text("\n".join([*lines[:600], *["x,y"] * 2000]), encoding="utf-8")
    with pytest.raises(ImportFileError, match="rows are broken"):
        imported(path)
    assert not (tmp_path / "imported.mcap").exists()


def test_a_dialect_with_a_preamble() -> None:
    found = dialect_of("Robot: X\nDate: 1.2.2024\n\nt;q1;q2\n0,0;1,5;2\n0,1;1,6;2\n0,2;1,7;2\n")
    assert found is not None
    assert (found.separator, found.decimal, found.names, found.skip) == (";", ",", ("t", "q1", "q2"), 4)


@pytest.mark.parametrize("missing", [3, 20], ids=["in a cell", "in a row"])
def test_a_file_that_ends_in_mid_row(
    motion: Any, imported: Callable[..., Any], tmp_path: Path, missing: int
) -> None:
    path = tmp_path / "log.csv"
    rows = np.column_stack([motion.t, motion.q, motion.tau])[:1000]
    np.savetxt(path, rows, delimiter=",", header="t,q1,q2,tau1,tau2", comments="")
    path.write_bytes(path.read_bytes()[:-missing])
    found = imported(path)
    assert len(found.signal("position")) == 999
    assert found.done.broken == [
        "log.csv: row 1001: the file ends in it, without an end of line: was it cut off?"
    ]


@pytest.mark.parametrize("form", ["%.18e", "%.9g", "%.6f"])
@pytest.mark.parametrize("end", ["", "\n# done", ";"], ids=["nothing", "a comment", "a separator"])
def test_a_whole_last_row_without_an_end_of_line_is_kept(
    motion: Any, imported: Callable[..., Any], tmp_path: Path, form: str, end: str
) -> None:
    path = tmp_path / "log.csv"
    rows = np.column_stack([motion.t, motion.q, motion.tau])[:1000]
    np.savetxt(path, rows, form, delimiter=";", header="t;q1;q2;tau1;tau2", comments="")
    text = path.read_text()[:-1]
    path.write_text(text.replace("\n", ";\n") + end if end == ";" else text + end)
    found = imported(path)
    np.testing.assert_allclose(found.signal("torque"), rows[:, 3:], rtol=1e-8, atol=1e-6)
    assert found.done.broken == []


@pytest.mark.parametrize("missing", [1, 2, 3, 5, 12])
def test_a_number_that_was_cut_off_is_none(
    motion: Any, imported: Callable[..., Any], tmp_path: Path, missing: int
) -> None:
    path = tmp_path / "log.csv"
    rows = np.column_stack([motion.t, motion.q, motion.tau])[:1000]
    np.savetxt(path, rows, delimiter=",", header="t,q1,q2,tau1,tau2", comments="")
    path.write_bytes(path.read_bytes()[: -1 - missing])
    assert len(imported(path).signal("position")) == 999


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("duration: 30 s", "its rows end after 9.99 s, and it states 30 s"),
        ("rows = 5000", "it holds 1000 rows, and states 5000"),
        ("duration: 10 s, samples: 1000", ""),
        ("samples per second: 100", ""),
    ],
)
def test_a_file_that_is_shorter_than_it_states(
    motion: Any, imported: Callable[..., Any], tmp_path: Path, comment: str, said: str
) -> None:
    path = tmp_path / "log.csv"
    rows = np.column_stack([motion.t, motion.q, motion.tau])[:1000]
    np.savetxt(path, rows, delimiter=",", header=f"# {comment}\nt,q1,q2,tau1,tau2", comments="")
    notes = imported(path).done.notes
    assert [said in note for note in notes] == ([True] if said else [])


def test_bytes_of_another_encoding_between_the_rows(
    motion: Any, imported: Callable[..., Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.csv"
    rows = np.column_stack([motion.t, motion.q, motion.tau])
    np.savetxt(path, rows, delimiter=",", header="t,q1,q2,tau1,tau2", comments="")
    lines = path.read_bytes().split(b"\n")
    lines[700] = np.random.default_rng(2).bytes(300).replace(b"\n", b"\xff").replace(b"\r", b"\xfe")
    path.write_bytes(b"\n".join(lines))
    assert len(imported(path).signal("position")) == len(rows) - 1
    assert capfd.readouterr().err == ""
