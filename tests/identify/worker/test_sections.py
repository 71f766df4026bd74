"""Long sessions in sections, and a result made once more."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heft.daq.recording import Recording, Segment
from heft.identify.data import from_recording
from heft.identify.data.from_recording import datasets_of, sections
from heft.identify.errors import DataError, ResultError
from heft.identify.fit import identify_recordings
from heft.identify.result.comparison import data_of
from heft.identify.result.reproduction import differences, reproduce
from heft.identify.robot import Robot

S = 1_000_000_000


def test_short_sessions_are_not_cut() -> None:
    short = (Segment("a", "identification", 0, 50 * S), Segment("b", "validation", 50 * S, 500 * S))
    assert sections(short, "identification") == [(0, 50 * S)]
    assert sections(short, "payload") == []


def test_long_ones_are_cut_evenly_without_gaps() -> None:
    found = sections((Segment("a", "identification", 7, 7 + 300 * S),), "identification")
    assert found == [(7, 7 + 100 * S), (7 + 100 * S, 7 + 200 * S), (7 + 200 * S, 7 + 300 * S)]


def test_sections_hold_every_sample_once(
    recorded: Path, robot: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    (whole,) = datasets_of(Recording.open(recorded), robot, "identification")
    monkeypatch.setattr(from_recording, "SECTION_NS", 2 * S)
    parts = datasets_of(Recording.open(recorded), robot, "identification")
    assert len(parts) == 3
    np.testing.assert_array_equal(np.concatenate([part.q[:] for part in parts]), whole.q)
    np.testing.assert_array_equal(np.concatenate([part.tau[:] for part in parts]), whole.tau)
    np.testing.assert_allclose(np.concatenate([part.t for part in parts]), whole.t, atol=2e-6)


def test_sections_without_motion_are_refused(
    recorded: Path, robot: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(from_recording, "SECTION_NS", 2 * S)
    monkeypatch.setattr(from_recording, "LEAST_TRAVEL", 100.0)
    with pytest.raises(DataError, match="no joint moves more than"):
        datasets_of(Recording.open(recorded), robot, "identification")


def test_a_result_is_made_once_more(recorded: Path, tmp_path: Path) -> None:
    path = identify_recordings([Recording.open(recorded)]).save(tmp_path / "result.json")
    assert reproduce(path, identify_recordings, [Recording.open(recorded)]).identical
    renamed = tmp_path / "other.mcap"
    renamed.write_bytes(recorded.read_bytes())
    assert reproduce(path, identify_recordings, [Recording.open(renamed)]).identical
    with pytest.raises(DataError, match="no such file; name the recording"):
        reproduce(path, identify_recordings)


def test_another_recording_is_another_result(
    recorded: Path, write_session: Callable[..., Path], tmp_path: Path
) -> None:
    path = identify_recordings([Recording.open(recorded)]).save(tmp_path / "result.json")
    again = reproduce(
        path, identify_recordings, [Recording.open(write_session(tmp_path / "short.mcap", seconds=9.0))]
    )
    assert not again.identical
    assert any(one.place == "provenance.recordings[0].digest" for one in again.differences)
    changed = json.loads(path.read_text())
    changed["provenance"]["recordings"] = []
    path.write_text(json.dumps(changed))
    with pytest.raises(ResultError, match="made from arrays"):
        reproduce(path, identify_recordings, [Recording.open(recorded)])


def test_differences_say_where() -> None:
    found = list(differences({"a": [1.0, 2.0], "b": {"c": 1}}, {"a": [1.0, 2.5], "b": {"c": 1, "d": "x"}}))
    assert [(one.place, one.before, one.now) for one in found] == [("a[1]", 2.0, 2.5), ("b.d", None, "x")]
    assert str(found[0]) == "a[1]: 2.0, now 2.5 (relative 2.0e-01)"


def test_the_same_data_twice_are_refused(recorded: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.mcap"
    copy.write_bytes(recorded.read_bytes())
    with pytest.raises(DataError, match=rf"copy\.mcap holds the same data as {recorded.name}: it is no news"):
        identify_recordings([Recording.open(recorded), Recording.open(copy)])
    with pytest.raises(DataError, match="nothing of it is unseen; give it once"):
        identify_recordings([Recording.open(recorded)], validate=[Recording.open(copy)])


def test_a_robot_of_another_name_is_refused(recorded: Path, robot: Robot) -> None:
    """Joints of many arms are called alike: the numbers would be those of no arm."""
    other = replace(robot, name="another")
    with pytest.raises(
        DataError, match=rf"recorded on robot '{robot.name}', but is to be read as 'another'; use"
    ):
        identify_recordings([Recording.open(recorded)], robot=other)


def test_a_recording_is_found_beside_another_result(recorded: Path, tmp_path: Path) -> None:
    result = identify_recordings([Recording.open(recorded)])
    assert data_of(result, tmp_path) == ([], [f"{recorded.name}: not at hand"])
    stale = tmp_path / recorded.name
    stale.write_bytes(b"")
    found, missing = data_of(result, tmp_path, recorded.parent)
    assert missing == []
    assert [part.fingerprint for part in found] == [origin.hash for origin in result.provenance.data]
