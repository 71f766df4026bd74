"""Reading a whole recording: what was written, by name, with gaps as gaps, in bounded memory."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heft.daq.recording
from heft.daq.errors import RecordingError
from heft.daq.record.writer import Writer
from heft.daq.recording import NO_TIME, Columns, Recording
from heft.daq.recording import recording as recording_module
from heft.drivers.block import Block
from heft.drivers.stream import Column, Stream


def test_public_names() -> None:
    names = ["NO_TIME", "Columns", "DamagedChunk", "Event", "Recording", "Recovery", "Segment"]
    assert heft.daq.recording.__all__ == names
    assert all(hasattr(heft.daq.recording, name) for name in names)


def test_blocks_come_back_exactly(sample: Any) -> None:
    recording = Recording.open(sample.path)
    for name, written in sample.blocks.items():
        read = list(recording.blocks(name))
        assert len(read) == len(written)
        for a, b in zip(read, written, strict=True):
            assert a.stream == b.stream
            assert a.sequence == b.sequence
            for array in ("host_ns", "values", "validity", "request_ns", "ticks"):
                assert np.array_equal(getattr(a, array), getattr(b, array)), array
    assert recording.recovery.ok
    assert str(recording.recovery).startswith("whole")


def test_columns_are_named_and_keep_gaps(sample: Any) -> None:
    recording = Recording.open(sample.path)
    columns = recording.columns("arm.motion")
    written = sample.blocks["arm.motion"]
    assert np.array_equal(
        columns.sequence, np.concatenate([np.arange(b.sequence, b.next_sequence) for b in written])
    )
    assert np.array_equal(columns.host_ns, np.concatenate([b.host_ns for b in written]))
    assert np.array_equal(columns.si, np.concatenate([b.si for b in written]), equal_nan=True)
    assert np.array_equal(columns["joint2.position"], columns.si[:, 1], equal_nan=True)
    assert np.array_equal(columns.quantity("velocity"), columns.si[:, 2:])
    assert np.isnan(columns["joint2.position"]).sum() > 0
    assert columns.gaps == [(200, 20), (400, 10)]
    assert recording.columns("wrist.wrench").gaps == []
    assert recording.columns("wrist.wrench").ticks is None
    assert len(recording.columns("hand.state")) == 0
    assert recording.columns("hand.state").si.shape == (0, 1)
    with pytest.raises(RecordingError, match=r"no column 'joint9\.position'; it has joint1\.position"):
        columns["joint9.position"]
    with pytest.raises(ValueError, match="read-only"):
        columns.values[0, 0] = 1


def test_a_missing_tick_is_not_a_zero() -> None:
    stream = Stream("a.b", (Column("x", "position", "m"),), 10.0)

    def block(first: int, ticks: bool) -> Block:
        numbers = np.arange(first, first + 2)
        return Block(
            stream,
            first,
            numbers,
            np.zeros((2, 1)),
            np.zeros((2, 1), np.uint8),
            None,
            numbers if ticks else None,
        )

    columns = Columns.of(stream, [block(0, True), block(2, False)])
    assert columns.ticks is not None
    assert columns.ticks.tolist() == [0, 1, NO_TIME, NO_TIME]
    assert columns.request_ns is None


def test_gaps_do_not_depend_on_the_order_of_arrival() -> None:
    stream = Stream("a.b", (Column("x", "position", "m"),), 10.0)
    blocks = [
        Block(stream, first, np.arange(2), np.zeros((2, 1)), np.zeros((2, 1), np.uint8))
        for first in (10, 4, 6, 4)
    ]
    assert Columns.of(stream, blocks).gaps == [(8, 2)]


def test_intervals_are_exact(sample: Any) -> None:
    recording = Recording.open(sample.path)
    rng = np.random.default_rng(0)
    for name in ("arm.motion", "wrist.wrench"):
        everything = recording.columns(name)
        for _ in range(60):
            start, end = np.sort(rng.integers(990_000_000, 1_620_000_000, 2)).tolist()
            inside = (everything.host_ns >= start) & (everything.host_ns < end)
            part = recording.columns(name, start, end)
            assert np.array_equal(part.sequence, everything.sequence[inside])
            assert np.array_equal(part.values, everything.values[inside])
            assert part.ticks is None or np.array_equal(part.ticks, everything.ticks[inside])
        half = recording.columns(name, 1_300_000_000)
        assert np.array_equal(half.host_ns, everything.host_ns[everything.host_ns >= 1_300_000_000])


def test_only_chunks_that_are_needed_are_unpacked(sample: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    unpacked = []
    original = recording_module.unpack

    def counting(file: Any, entry: Any) -> bytes:
        unpacked.append(entry.offset)
        return original(file, entry)

    monkeypatch.setattr(recording_module, "unpack", counting)
    recording = Recording.open(sample.path)
    assert not unpacked
    list(recording.blocks("arm.motion"))
    everything = len(unpacked)
    unpacked.clear()
    list(recording.blocks("arm.motion", 1_300_000_000, 1_310_000_000))
    assert 0 < len(unpacked) <= 3 < everything
    assert len(recording._contents.chunks) > 1.5 * everything  # those of the standard messages are left alone


def test_memory_is_bounded(write_sample: Callable[..., Any], tmp_path: Path) -> None:
    """Twenty times the samples take the same memory to go through."""
    peaks = []
    for count in (300, 6000):
        sample = write_sample(tmp_path / f"{count}.mcap", count=count, chunk=40_000)
        written_bytes = sum(b.values.nbytes + 3 * b.host_ns.nbytes for b in sample.blocks["arm.motion"])
        del sample
        recording = Recording.open(tmp_path / f"{count}.mcap")
        tracemalloc.start()
        samples = sum(len(block) for block in recording.blocks("arm.motion"))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert samples >= 10 * (count - 3)
    assert peaks[1] < 1.5 * peaks[0]
    assert peaks[1] < written_bytes / 4


def test_events_segments_metadata_and_files(sample: Any) -> None:
    recording = Recording.open(sample.path)
    assert [e.name for e in recording.events] == ["segment_start", "segment_end"] * 2 + ["segment_start"]
    first, second, third = recording.segments
    assert (first.name, first.use, first.start_ns, first.end_ns) == (
        "part0",
        "validation",
        1_000_000_000,
        1_150_000_000,
    )
    assert first.finished
    assert second.finished
    assert not third.finished
    last = max(int(b.host_ns.max()) for blocks in sample.blocks.values() for b in blocks)
    assert third.end_ns == last
    assert recording.metadata["note40"] == {"value": "40"}
    assert recording.utc_offset_ns == 10**18
    assert recording.attachments == ("robot.yaml",)
    assert recording.attachment("robot.yaml") == b"name: arm\n" * 20
    assert recording.duration_s == pytest.approx(0.599, abs=0.2e-3)


def test_the_digest_is_of_the_samples_not_of_the_file(
    sample: Any, write_sample: Callable[..., Any], tmp_path: Path
) -> None:
    digest = Recording.open(sample.path).digest
    assert len(digest) == 64
    assert Recording.open(write_sample(tmp_path / "a.mcap", chunk=50_000).path).digest == digest
    assert Recording.open(write_sample(tmp_path / "b.mcap", lost=(20, 21)).path).digest != digest
    cut = tmp_path / "c.mcap"
    cut.write_bytes(sample.path.read_bytes()[:-50])
    assert Recording.open(cut).digest == digest


def test_what_is_not_there_is_named(sample: Any) -> None:
    recording = Recording.open(sample.path)
    with pytest.raises(RecordingError, match=r"no stream 'arm'; there are: hand\.state, arm\.motion"):
        recording.columns("arm")
    with pytest.raises(RecordingError, match=r"no attached file 'x'; there are: robot\.yaml"):
        recording.attachment("x")


def test_files_that_are_no_recordings(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="No such file"):
        Recording.open(tmp_path / "missing.mcap")
    for name, content, message in (
        ("empty.mcap", b"", "the file is empty"),
        ("text.mcap", b"hello, world", "not an MCAP file"),
        ("magic.mcap", b"\x89MCAP0\r\n", "nothing could be recovered"),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(RecordingError, match=message):
            Recording.open(path)


@pytest.mark.parametrize("finished", [True, False])
def test_a_foreign_mcap_is_named(tmp_path: Path, finished: bool) -> None:
    from mcap.writer import Writer as ForeignWriter

    path = tmp_path / "foreign.mcap"
    with path.open("wb") as file:
        writer = ForeignWriter(file)
        writer.start()
        schema = writer.register_schema("x", "", b"")
        channel = writer.register_channel("/x", "", schema)
        for i in range(10):
            writer.add_message(channel, i, b"hello", i)
        writer.add_metadata("m", {"a": "b"})
        if finished:
            writer.finish()
        else:
            writer.flush()
    with pytest.raises(RecordingError, match=r"without Heft's channels .*`heft import`"):
        Recording.open(path)


def test_a_session_without_streams_opens(tmp_path: Path) -> None:
    path = tmp_path / "a.mcap"
    with path.open("wb", buffering=0) as raw:
        writer = Writer(raw, 0)
        writer.event(5, '{"t_ns": 5, "name": "state", "state": "failed"}')
        writer.finish()
    recording = Recording.open(path)
    assert dict(recording.streams) == {}
    assert recording.events[0].facts == {"state": "failed"}
    assert recording.duration_s == 0.0


def test_reading_imports_no_devices_and_no_bus() -> None:
    code = "import sys, heft.daq.recording; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"zmq", "can", "mujoco", "serial", "aiomqtt", "yaml", "pinocchio"} & set(modules)
