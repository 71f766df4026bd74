"""A recording that was cut off becomes a whole one, with all that could be read of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from heft.daq.clock import ManualClock
from heft.daq.errors import RecordError
from heft.daq.record import Recorder
from heft.daq.recording import Recording
from heft.daq.recording.recovered import recover
from heft.drivers.block import Block
from heft.drivers.stream import Stream

MakeBlock = Callable[..., Block]


async def cut_off(folder: Path, motion: Stream, wrench: Stream, make_block: MakeBlock) -> Path:
    """NAME.mcap.partial without its end."""
    async with Recorder(folder / "session.mcap", ManualClock()) as recorder:
        recorder.attach("configuration/robot.yaml", "text/plain", b"name: arm\n")
        recorder.note("facts", {"speed": "1"})
        recorder.event("segment_start", segment="a", use="identification")
        for first in range(0, 100, 10):
            for stream in (motion, wrench):
                recorder.block(make_block(stream, first))
    data = (folder / "session.mcap").read_bytes()
    (folder / "session.mcap").unlink()
    partial = folder / "session.mcap.partial"
    partial.write_bytes(data[: len(data) * 3 // 4])  # its end is gone, and perhaps some chunks
    return partial


async def test_all_that_can_be_read_goes_over(
    tmp_path: Path, motion: Stream, wrench: Stream, make_block: MakeBlock
) -> None:
    partial = await cut_off(tmp_path, motion, wrench, make_block)
    before = Recording.open(partial)
    assert not before.complete
    digest, samples = before.digest, before.recovery.samples
    path = recover(partial)
    after = Recording.open(path)
    assert path == tmp_path / "session.mcap"
    assert os.listdir(tmp_path) == ["session.mcap"]
    assert after.recovery.ok
    assert after.digest == digest
    assert after.recovery.samples == samples
    assert after.attachment("configuration/robot.yaml") == b"name: arm\n"
    assert after.metadata["facts"] == {"speed": "1"}
    assert [event.name for event in after.events] == ["segment_start"]
    assert after.utc_offset_ns == before.utc_offset_ns
    assert after.metadata["heft.recovered"]["from"] == "session.mcap.partial"


async def test_a_whole_one_is_not_written_over(
    tmp_path: Path, motion: Stream, wrench: Stream, make_block: MakeBlock
) -> None:
    partial = await cut_off(tmp_path, motion, wrench, make_block)
    (tmp_path / "session.mcap").write_text("mine", encoding="utf-8")
    with pytest.raises(RecordError, match="exists"):
        recover(partial)
    assert (tmp_path / "session.mcap").read_text(encoding="utf-8") == "mine"
    assert partial.exists()
