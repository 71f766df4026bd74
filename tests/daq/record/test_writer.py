"""A finished file as the stock readers of `mcap` and `mcap-ros2-support` see it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import NonSeekingReader, make_reader
from mcap.records import Channel, Chunk, DataEnd, Message, Schema
from mcap.stream_reader import StreamReader, breakup_chunk
from mcap_ros2.decoder import DecoderFactory

from heft.daq.errors import RecordError
from heft.daq.record import layout
from heft.daq.record import writer as writer_module
from heft.daq.record.viewer import Viewer
from heft.daq.record.writer import Writer
from heft.drivers.block import Block
from heft.drivers.stream import Stream


@pytest.fixture
def written(
    tmp_path: Path,
    motion: Stream,
    current: Stream,
    wrench: Stream,
    make_block: Callable[..., Block],
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[Path, list[Block]]:
    """Several chunks of three streams, with an event, a note and a file."""
    monkeypatch.setattr(writer_module, "CHUNK_BYTES", 20_000)
    blocks = [make_block(s, i, bad=i == 50) for i in range(0, 300, 10) for s in (motion, current, wrench)]
    path = tmp_path / "a.mcap"
    with path.open("wb", buffering=0) as raw:
        writer = Writer(raw, 42)
        writer.attach("robot.yaml", "application/yaml", 5, b"name: arm")
        for block in blocks:
            writer.block(block)
        writer.event(1_000_500_000, json.dumps({"t_ns": 1_000_500_000, "name": "hello", "value": 1}))
        writer.note("losses", {"arm.motion": "0"})
        writer.finish()
    return path, blocks


def test_stock_reader_sees_every_message(written: tuple[Path, list[Block]]) -> None:
    path, blocks = written
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True)
        assert reader.get_header().profile == "ros2"
        messages = [(c.topic, m) for _, c, m in reader.iter_messages()]
        summary = reader.get_summary()
    counts = Counter(topic for topic, _ in messages)
    assert counts == {
        "/heft/blocks/arm.motion": 30,
        "/heft/blocks/arm.current": 30,
        "/heft/blocks/wrist.wrench": 30,
        "/heft/events": 1,
        "/arm/motion": 300,
        "/arm/current": 300,
        "/wrist/wrench": 300,
    }
    assert [m.log_time for _, m in messages] == sorted(m.log_time for _, m in messages)
    sequences = [m.sequence for topic, m in messages if topic == "/arm/motion"]
    assert sequences == list(range(300))
    assert summary is not None
    assert summary.statistics is not None
    assert summary.statistics.message_count == len(messages)
    assert summary.statistics.chunk_count == len(summary.chunk_indexes) > 10
    assert summary.statistics.message_start_time == 1_000_000_000 + 42  # UTC
    assert summary.statistics.message_end_time == int(blocks[-1].host_ns[-1]) + 42
    counted = {summary.channels[i].topic: n for i, n in summary.statistics.channel_message_counts.items()}
    assert counted == counts


def test_stock_ros2_decoder_gives_si_values(written: tuple[Path, list[Block]]) -> None:
    path, blocks = written
    si = {
        name: np.concatenate([b.si for b in blocks if b.stream.name == name])
        for name in ("arm.motion", "arm.current", "wrist.wrench")
    }
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        decoded = list(reader.iter_decoded_messages(["/arm/motion", "/arm/current", "/wrist/wrench"]))
    rows: dict[str, list[list[float]]] = {"/arm/motion": [], "/arm/current": [], "/wrist/wrench": []}
    for _, channel, message, ros in decoded:
        assert ros.header.stamp.sec * 10**9 + ros.header.stamp.nanosec == message.log_time
        if channel.topic == "/wrist/wrench":
            assert ros.header.frame_id == "wrist_frame"
            f, t = ros.wrench.force, ros.wrench.torque
            rows[channel.topic].append([f.x, f.y, f.z, t.x, t.y, t.z])
        else:
            assert ros.name == [f"joint{i}" for i in range(1, 8)]
            rows[channel.topic].append([*ros.position, *ros.velocity, *ros.effort])
    for name, expected in si.items():
        assert np.array_equal(rows[layout.standard_topic(name)], expected, equal_nan=True), name
    assert np.isnan(si["arm.motion"]).sum() == 1


def test_attachments_metadata_and_events(written: tuple[Path, list[Block]]) -> None:
    path, _ = written
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True)
        (attachment,) = reader.iter_attachments()
        metadata = {m.name: m.metadata for m in reader.iter_metadata()}
        (event,) = [json.loads(m.data) for _, _, m in reader.iter_messages("/heft/events")]
    assert (attachment.name, attachment.media_type, attachment.data) == (
        "robot.yaml",
        "application/yaml",
        b"name: arm",
    )
    assert metadata["heft"]["utc_offset_ns"] == "42"
    assert metadata["losses"]["arm.motion"] == "0"
    assert json.loads(metadata["heft.streams"]["arm.motion"])["samples"] == 300
    assert event == {"t_ns": 1_000_500_000, "name": "hello", "value": 1}


def test_every_chunk_stands_alone(written: tuple[Path, list[Block]]) -> None:
    """Each chunk carries its definitions."""
    path, _ = written
    with path.open("rb") as file:
        records = list(StreamReader(file, emit_chunks=True, validate_crcs=True).records)
    chunks = [r for r in records if isinstance(r, Chunk)]
    assert len(chunks) > 10
    for chunk in chunks:
        inside = breakup_chunk(chunk, validate_crc=True)
        schemas = {r.id for r in inside if isinstance(r, Schema)}
        channels = {r.id: r.schema_id for r in inside if isinstance(r, Channel)}
        used = {r.channel_id for r in inside if isinstance(r, Message)}
        assert used
        assert used <= channels.keys()
        assert set(channels.values()) <= schemas


def test_a_plain_stream_reader_reads_it_too(written: tuple[Path, list[Block]]) -> None:
    path, _ = written
    with path.open("rb") as file:
        assert sum(1 for _ in NonSeekingReader(file, validate_crcs=True).iter_messages()) == 991
    with path.open("rb") as file:
        assert any(isinstance(r, DataEnd) for r in StreamReader(file, validate_crcs=True).records)


def test_block_channels_do_not_depend_on_when_chunks_are_closed(
    tmp_path: Path, motion: Stream, current: Stream, make_block: Callable[..., Block]
) -> None:
    contents = []
    for every in (1, 7, 1000):
        path = tmp_path / f"{every}.mcap"
        with path.open("wb", buffering=0) as raw:
            writer = Writer(raw, 0)
            for i in range(20):
                writer.block(make_block(motion, i * 10))
                writer.block(make_block(current, i * 10))
                if i % every == 0:
                    writer.flush()
            writer.finish()
        with path.open("rb") as file:
            found = [
                (c.topic, m.sequence, m.log_time, m.publish_time, m.data)
                for _, c, m in make_reader(file).iter_messages(log_time_order=False)
                if c.topic.startswith(layout.BLOCK_PREFIX)
            ]
        contents.append(sorted(found, key=lambda item: item[0]))
    assert contents[0] == contents[1] == contents[2]


def test_counts_are_what_is_in_complete_chunks(
    tmp_path: Path, motion: Stream, current: Stream, make_block: Callable[..., Block]
) -> None:
    with (tmp_path / "a.mcap").open("wb", buffering=0) as raw:
        writer = Writer(raw, 0)
        writer.describe(current)
        writer.block(make_block(motion))
        assert writer.counts == {"arm.current": 0, "arm.motion": 0}
        assert writer.flush()
        assert writer.counts == {"arm.current": 0, "arm.motion": 10}
        assert not writer.flush()
        writer.block(make_block(motion, 10, n=0))
        assert not writer.flush()


def test_one_name_for_two_streams_is_refused(tmp_path: Path, motion: Stream) -> None:
    other = Stream("arm.motion", motion.columns[:7], 1000.0)
    with (tmp_path / "a.mcap").open("wb", buffering=0) as raw:
        writer = Writer(raw, 0)
        writer.describe(motion)
        writer.describe(Stream.from_dict(motion.to_dict()))
        with pytest.raises(RecordError, match="described twice"):
            writer.describe(other)


@pytest.mark.parametrize("dtype", [">f8", "<c8", "<f2", "|b1"])
def test_numbers_that_cannot_be_recorded_are_refused(tmp_path: Path, motion: Stream, dtype: str) -> None:
    with (tmp_path / "a.mcap").open("wb", buffering=0) as raw, pytest.raises(RecordError, match="use one of"):
        Writer(raw, 0).describe(Stream("a.b", motion.columns, 1.0, dtype))


def test_rows_are_the_same_as_their_blocks_one_by_one(
    tmp_path: Path, motion: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "CHUNK_BYTES", 4_000)
    rng = np.random.default_rng(1)
    sequence = np.r_[0:57, 60:180, 181:200]  # numbers are missing twice
    host_ns = 1_000_000_000 + sequence * 1_000_000
    values = rng.integers(-1000, 1000, (len(sequence), motion.width)).astype(motion.dtype)
    validity = np.zeros(values.shape, np.uint8)
    validity[70, 1] = 3
    cuts = [(0, 50), (50, 57), (57, 107), (107, 157), (157, 177), (177, 196)]

    def messages(name: str, write: Callable[[Writer], None]) -> dict[str, list[tuple[int, int, bytes]]]:
        path = tmp_path / name
        with path.open("wb", buffering=0) as raw:
            writer = Writer(raw, 42, Viewer(most_hz=100.0))
            write(writer)
            writer.finish()
        found: dict[str, list[tuple[int, int, bytes]]] = {}
        with path.open("rb") as file:
            for _, channel, message in make_reader(file, validate_crcs=True).iter_messages():
                found.setdefault(channel.topic, []).append((message.sequence, message.log_time, message.data))
        return found

    def by_rows(writer: Writer) -> None:
        writer.rows(motion, sequence, host_ns, values, validity, host_ns - 5, most=50)

    def by_blocks(writer: Writer) -> None:
        for a, b in cuts:
            first = int(sequence[a])
            block = Block(motion, first, host_ns[a:b], values[a:b], validity[a:b], host_ns[a:b] - 5)
            writer.block(block)

    rows = messages("rows.mcap", by_rows)
    assert rows == messages("blocks.mcap", by_blocks)
    assert sorted(map(len, rows.values())) == [len(cuts), 20]  # 0.2 s at 100 Hz for viewers
