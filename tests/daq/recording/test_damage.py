"""Files that were cut off or damaged: all that is whole comes back, nothing else does, and what is missing is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heft.daq.errors import RecordingError
from heft.daq.record.codec import encode
from heft.daq.recording import Recording
from heft.daq.recording.chunks import messages, unpack


def read(path: Path) -> tuple[Recording, dict[str, set[bytes]]]:
    recording = Recording.open(path)
    return recording, {name: {encode(b) for b in recording.blocks(name)} for name in recording.streams}


def chunks_of(path: Path) -> list[tuple[int, int, set[str]]]:
    """Start and end of every chunk, and the streams it has Blocks of."""
    recording = Recording.open(path)
    names = {number: name for name, number in recording._channels.items()}
    return [
        (c.offset, c.offset + c.length, {names[n] for n in c.channels if n in names})
        for c in recording._contents.chunks
    ]


def blocks_by_chunk(path: Path) -> list[tuple[int, int]]:
    """Where each chunk ends, and how many Blocks are in it."""
    recording = Recording.open(path)
    ours = set(recording._channels.values())
    with path.open("rb") as file:
        return [
            (c.offset + c.length, sum(message.channel in ours for message in messages(unpack(file, c))))
            for c in recording._contents.chunks
        ]


def test_a_cut_file_yields_all_complete_chunks(sample: Any, tmp_path: Path) -> None:
    data = sample.path.read_bytes()
    boundaries = [edge for start, end, _ in chunks_of(sample.path)[::3] for edge in (start, end)]
    rng = np.random.default_rng(1)
    places = {edge + d for edge in boundaries for d in (-1, 0, 1)} | set(
        rng.integers(8, len(data), 20).tolist()
    )
    blocks_in = blocks_by_chunk(sample.path)
    path = tmp_path / "cut.mcap.partial"
    first_whole = min(end for _, end, streams in chunks_of(sample.path) if streams)
    for size in sorted(places):
        path.write_bytes(data[:size])
        if size < first_whole:
            with pytest.raises(RecordingError, match="nothing could be recovered"):
                Recording.open(path)
            continue
        recording, found = read(path)
        for name, blocks in found.items():
            assert blocks <= sample.encoded[name], f"cut at {size}: {name} has blocks that were never written"
        assert sum(map(len, found.values())) == sum(n for end, n in blocks_in if end <= size), (
            f"cut at {size}"
        )
        recovery = recording.recovery
        assert not recovery.damaged
        assert recovery.samples == {name: len(recording.columns(name)) for name in recording.streams}
        assert not recovery.ok


def test_a_cut_index_loses_nothing(sample: Any, tmp_path: Path) -> None:
    data = sample.path.read_bytes()
    path = tmp_path / "cut.mcap"
    for missing in (1, 8, 9, 30, 37, 200):
        path.write_bytes(data[:-missing])
        recording, found = read(path)
        assert found == sample.encoded | {"hand.state": set()}
        assert recording.metadata == Recording.open(sample.path).metadata
        assert recording.attachment("robot.yaml") == b"name: arm\n" * 20
        assert recording.segments == Recording.open(sample.path).segments
        assert recording.duration_s == Recording.open(sample.path).duration_s
        assert "read without the index" in str(recording.recovery)


def test_a_changed_byte_never_becomes_data(sample: Any, tmp_path: Path) -> None:
    """Wherever a byte changes: what comes back was written; what does not come back is in a chunk that is named."""
    data = sample.path.read_bytes()
    whole = sample.encoded | {"hand.state": set()}
    chunks = chunks_of(sample.path)
    notes = Recording.open(sample.path).metadata
    rng = np.random.default_rng(2)
    path = tmp_path / "changed.mcap"
    heads = [start + i for start, _, _ in chunks[::9] for i in range(0, 55, 7)]
    tail = list(range(len(data) - 45, len(data), 3))
    for place in [*rng.integers(8, len(data), 60).tolist(), *heads, *tail]:
        changed = bytearray(data)
        changed[place] ^= int(rng.integers(1, 256))
        path.write_bytes(changed)
        recording, found = read(path)
        damaged = recording.recovery.damaged
        for name, blocks in found.items():
            assert blocks <= whole[name], f"byte {place}: {name} has blocks that were never written"
        if found != whole:
            (chunk,) = damaged
            start, end, streams = next(c for c in chunks if c[0] == chunk.offset)
            assert start <= place < end
            assert {name for name in whole if found[name] != whole[name]} == streams == set(chunk.streams)
            assert chunk.start_ns is not None
            assert f"skipped chunk at byte {start}" in str(recording.recovery)
        assert recording.attachments == ("robot.yaml",)
        assert recording.metadata.items() <= notes.items()


def test_a_changed_byte_in_an_unfinished_file(sample: Any, tmp_path: Path) -> None:
    """Without an index too: only the chunk with the byte is missing, even if its length is the byte."""
    data = sample.path.read_bytes()
    chunks = chunks_of(sample.path)
    notes = Recording.open(sample.path).metadata
    end = chunks[-2][0]
    rng = np.random.default_rng(3)
    path = tmp_path / "changed.mcap.partial"
    path.write_bytes(data[:end])
    _, whole = read(path)
    places = rng.integers(chunks[1][0], end, 50).tolist()
    places += [start + i for start, _, _ in chunks[1:-2:19] for i in range(0, 55, 5)]
    for place in places:
        changed = bytearray(data[:end])
        changed[place] ^= int(rng.integers(1, 256))
        path.write_bytes(changed)
        recording, found = read(path)
        recovery = recording.recovery
        hit = [c for c in chunks if c[0] <= place < c[1]]
        missing = {name for name in whole if found[name] != whole[name]}
        for name, blocks in found.items():
            assert blocks <= whole[name], f"byte {place}: {name} has blocks that were never written"
        assert missing <= (hit[0][2] if hit else set()), f"byte {place} cost {missing}"
        if missing:
            start = hit[0][0]
            named = [*(f"byte {c.offset}" for c in recovery.damaged), *recovery.notes]
            assert any(f"byte {start}" in name or f"bytes {start} to" in name for name in named), (
                f"byte {place}"
            )
        else:
            assert recovery.samples == {name: len(recording.columns(name)) for name in whole}
        assert recording.metadata.items() <= notes.items()


def test_a_damaged_file_inside_is_refused(sample: Any, tmp_path: Path) -> None:
    data = bytearray(sample.path.read_bytes())
    data[data.index(b"name: arm") + 5] ^= 1
    path = tmp_path / "a.mcap"
    path.write_bytes(data)
    recording = Recording.open(path)
    with pytest.raises(RecordingError, match=r"'robot\.yaml' at byte \d+ is damaged"):
        recording.attachment("robot.yaml")
    assert "robot.yaml" in str(recording.recovery)


def test_a_damaged_note_is_left_out(sample: Any, tmp_path: Path) -> None:
    data = bytearray(sample.path.read_bytes())
    data[data.index(b"utc_offset_ns") + 20] ^= 1
    path = tmp_path / "a.mcap"
    path.write_bytes(data)
    recording = Recording.open(path)
    assert "heft" not in recording.metadata
    assert "the note 'heft' at byte" in str(recording.recovery)
    with pytest.raises(RecordingError, match="the offset to UTC is missing"):
        _ = recording.utc_offset_ns


def test_holes_are_skipped(sample: Any, tmp_path: Path) -> None:
    """A page of zeros, as a crashed file system leaves it, costs the chunks that it touches."""
    data = bytearray(sample.path.read_bytes())
    chunks = chunks_of(sample.path)
    start = next(start for start, _, streams in chunks[4:] if streams) - 5
    data[start : start + 4096] = bytes(4096)
    path = tmp_path / "a.mcap.partial"
    path.write_bytes(data[:-100])
    recording, found = read(path)
    touched = set().union(*(c[2] for c in chunks if c[0] < start + 4096 and c[1] > start))
    assert touched
    intact = sum(1 for c in chunks if c[0] >= start + 4096 or c[1] <= start)
    assert recording.recovery.chunks == intact
    assert recording.recovery.lost_bytes >= 4096
    assert all(found[name] <= sample.encoded[name] for name in found)
