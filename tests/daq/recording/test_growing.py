"""A recording that grows: each look takes in what has become whole, and what is read then is what the file holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from heft.daq.errors import RecordingError
from heft.daq.recording import Recording
from heft.daq.recording.growing import GrowingRecording

if TYPE_CHECKING:
    from tests.daq.recording.conftest import Sample


@pytest.mark.parametrize("step", [101, 5000, 10**9])
def test_it_is_read_as_it_grows(sample: Sample, tmp_path: Path, step: int) -> None:
    data, path = sample.path.read_bytes(), tmp_path / "growing"
    path.write_bytes(b"")
    growing = GrowingRecording(path)
    counts = [0]
    for at in range(0, len(data), step):
        with path.open("ab") as file:
            file.write(data[at : at + step])
        if growing.advance():
            recording = growing.recording
            if "arm.motion" in recording.streams:
                counts.append(len(recording.columns("arm.motion")))
    assert not growing.advance()
    assert counts == sorted(counts)
    whole = Recording.open(sample.path)
    assert growing.recording.digest == whole.digest
    assert growing.recording.events == whole.events
    assert growing.recording.segments == whole.segments
    for name, (first_ns, last_ns) in growing.spans_ns.items():
        host_ns = whole.columns(name).host_ns
        assert (first_ns, last_ns) == (host_ns.min(), host_ns.max())
    for name in whole.attachments:
        assert growing.recording.attachment(name) == whole.attachment(name)


def test_it_stops_before_damage(sample: Sample, tmp_path: Path) -> None:
    entry = Recording.open(sample.path).chunks("arm.motion")[1]
    data = bytearray(sample.path.read_bytes())
    data[entry.offset + entry.length - 9] ^= 0xFF
    path = tmp_path / "growing"
    path.write_bytes(data)
    growing = GrowingRecording(path)
    assert growing.advance()
    assert growing.size == entry.offset
    assert not growing.advance()
    np.testing.assert_array_equal(
        growing.recording.columns("arm.motion").sequence,
        Recording.open(sample.path)
        .columns("arm.motion")
        .sequence[: len(growing.recording.columns("arm.motion"))],
    )


def test_a_file_that_is_no_recording(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"something else, and long enough")
    assert not GrowingRecording(tmp_path / "other").advance()
    with pytest.raises(RecordingError, match="cannot be read"):
        GrowingRecording(tmp_path / "none").advance()
