"""A recording with a column of torque that nothing measures: left out, with or without being told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from heft.daq.recording import Recording
from heft.identify.fit import identify_recordings
from heft.identify.result.reproduction import reproduce


def test_a_column_that_nothing_measures_is_left_out_and_done_again_alike(
    write_session: Callable[..., Path], tmp_path: Path
) -> None:
    recording = Recording.open(write_session(tmp_path / "dead.mcap", dead="joint2"))
    result = identify_recordings([recording])
    assert result.robot.unmeasured == ("joint2",)
    assert result.verdict.reasons[0].id == "constant-torque"
    assert reproduce(result.save(tmp_path / "result.json"), identify_recordings, [recording]).identical
    stated = identify_recordings([recording], settings={"unmeasured": ["joint2"]})
    assert stated.parameters.values.tobytes() == result.parameters.values.tobytes()
    assert "constant-torque" not in {one.id for one in stated.verdict.reasons}
    again = stated.save(tmp_path / "stated.json")
    assert reproduce(again, identify_recordings, [recording]).identical
