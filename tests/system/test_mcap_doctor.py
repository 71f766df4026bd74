"""What `mcap doctor` looks at, by the stock library's own records, finds nothing in what Heft writes."""

from __future__ import annotations

import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from mcap import records
from mcap.reader import make_reader
from mcap.stream_reader import StreamReader, breakup_chunk
from mcap_ros2.decoder import DecoderFactory

from heft.daq.record import Writer
from heft.daq.record.file import MAGIC
from heft.drivers.block import Block
from heft.drivers.stream import Column, Stream
from heft.identify import Robot
from heft.main import main
from heft.viewing import viewer_of

PANDA = Path(__file__).parents[2] / "configs" / "robots" / "panda.yaml"

#: Log times of files that are written now [ns].
CENTURY = (978_307_200_000_000_000, 4_102_444_800_000_000_000)


def complaints(path: Path) -> list[str]:
    """Of records and their order, checksums, indexes, statistics, times and messages."""
    found: list[str] = []
    schemas: dict[int, Any] = {}
    channels: dict[int, Any] = {}
    chunks: dict[int, tuple[Any, list[Any]]] = {}
    counts: Counter[int] = Counter()
    kinds: Counter[str] = Counter()
    times: list[int] = []
    footer: Any = None
    statistics: Any = None

    def define(known: dict[int, Any], one: Any) -> None:
        if one.id in known and known[one.id] != one:
            found.append(f"{type(one).__name__} {one.id} is defined twice, and differently")
        known[one.id] = one

    def look(one: Any) -> None:
        if isinstance(one, records.Schema):
            define(schemas, one)
            if not (one.id and one.name and one.encoding and one.data):
                found.append(f"schema {one.id} {one.name!r} lacks its number, name, encoding or text")
        elif isinstance(one, records.Channel):
            define(channels, one)
            if one.schema_id and one.schema_id not in schemas:
                found.append(f"{one.topic}: its schema {one.schema_id} is not defined before it")
        elif isinstance(one, records.Message):
            if one.channel_id not in channels:
                found.append(f"a message of channel {one.channel_id}, which is not defined before it")
            counts[one.channel_id] += 1
            times.append(one.log_time)

    with path.open("rb") as file:
        at = 8
        for one in StreamReader(file, emit_chunks=True, validate_crcs=True).records:
            kinds[type(one).__name__] += 1
            if isinstance(one, records.Chunk):
                inside = breakup_chunk(one, validate_crc=True)
                span = [part.log_time for part in inside if isinstance(part, records.Message)]
                if span and (min(span), max(span)) != (one.message_start_time, one.message_end_time):
                    found.append(f"the chunk at {at} states other times than its messages have")
                chunks[at] = one, inside
                for part in inside:
                    look(part)
            elif isinstance(one, records.ChunkIndex):
                chunk = chunks.get(one.chunk_start_offset, (None, []))[0]
                stated = (
                    one.message_start_time,
                    one.message_end_time,
                    one.compression,
                    one.uncompressed_size,
                )
                if chunk is None or stated != (
                    chunk.message_start_time,
                    chunk.message_end_time,
                    chunk.compression,
                    chunk.uncompressed_size,
                ):
                    found.append(
                        f"an index of a chunk at {one.chunk_start_offset} that is not there or another"
                    )
            elif isinstance(one, records.Statistics):
                statistics = one
            elif isinstance(one, records.Footer):
                footer = one
            else:
                look(one)
            at = file.tell()
    if footer is None or not footer.summary_start:
        found.append("no footer, or one without a summary")
    elif footer.summary_crc:  # 0: there is none
        summary = path.read_bytes()[footer.summary_start : -len(MAGIC) - 4]
        if zlib.crc32(summary) != footer.summary_crc:
            found.append("a summary of another checksum")
    if statistics is None:
        return [*found, "no statistics"]
    stated_counts = {number: n for number, n in statistics.channel_message_counts.items() if n}
    if statistics.message_count != sum(counts.values()) or stated_counts != dict(counts):
        found.append("statistics of other messages than there are")
    if (statistics.message_start_time, statistics.message_end_time) != (min(times), max(times)):
        found.append("statistics of other times than messages have")
    for name, stated in (
        ("Chunk", statistics.chunk_count),
        ("ChunkIndex", statistics.chunk_count),
        ("Attachment", statistics.attachment_count),
        ("AttachmentIndex", statistics.attachment_count),
        ("Metadata", statistics.metadata_count),
        ("MetadataIndex", statistics.metadata_count),
    ):
        if kinds[name] != stated:
            found.append(f"{kinds[name]} records {name}, statistics state {stated}")
    if (statistics.schema_count, statistics.channel_count) != (len(schemas), len(channels)):
        found.append("statistics of other schemas or channels than there are")
    if not CENTURY[0] < min(times) <= max(times) < CENTURY[1]:
        found.append(f"times of another century: {min(times)} to {max(times)} ns")
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        topics = [one.topic for one in channels.values() if one.message_encoding == "cdr"]
        decoded = sum(1 for _ in reader.iter_decoded_messages(topics=topics))
    if decoded != sum(n for number, n in counts.items() if channels[number].message_encoding == "cdr"):
        found.append("not every message of ROS is found by the index")
    return found


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of the Panda in CSV, without dates, imported with its robot."""
    folder = tmp_path_factory.mktemp("imported")
    t = np.arange(3000) / 1000
    q = np.sin(t[:, None] + np.arange(7))
    table = np.column_stack([t, q, np.cos(t[:, None] + np.arange(7)), 3 * q])
    head = ",".join(["t", *(f"{name}{k}" for name in ("q", "dq", "tau") for k in range(1, 8))])
    np.savetxt(folder / "log.csv", table, delimiter=",", header=head, comments="")
    call = ["import", str(folder / "log.csv"), "--robot", str(PANDA), "--hold-back", "0.3"]
    assert main([*call, "--as", str(folder / "log.mcap")]) == 0
    return folder / "log.mcap"


def test_a_recording_as_a_session_writes_it(tmp_path: Path) -> None:
    path, robot = tmp_path / "session.mcap", Robot.load(PANDA)
    stream = Stream("arm.motion", tuple(Column(joint, "position", "rad") for joint in robot.joints), 1000.0)
    with path.open("xb", buffering=0) as raw:
        writer = Writer(raw, 1_750_000_000_000_000_000, viewer_of(robot))
        writer.attach("robot.yaml", "application/yaml", 1, PANDA.read_bytes())
        for start in range(0, 2000, 100):
            times = 1_000_000_000 + np.arange(start, start + 100) * 1_000_000
            writer.block(Block(stream, start, times, np.zeros((100, 7)), np.zeros((100, 7), np.uint8)))
            writer.event(int(times[-1]), "{}")
        writer.finish()
    assert complaints(path) == []


def test_an_import(imported: Path) -> None:
    assert complaints(imported) == []
    with imported.open("rb") as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        found = {
            c.topic: value for _, c, _, value in reader.iter_decoded_messages(["/tf", "/robot_description"])
        }
    assert len(found["/tf"].transforms) >= 7
    assert pin.buildModelFromXML(found["/robot_description"].data).nq == 7


def test_the_bag_of_a_recording(imported: Path, tmp_path: Path) -> None:
    assert main(["export", str(imported), "--bag", str(tmp_path / "bag")]) == 0
    (path,) = (tmp_path / "bag").glob("*.mcap")
    assert complaints(path) == []


def test_complaints_are_made(imported: Path, tmp_path: Path) -> None:
    """Of a file whose index says that a chunk is elsewhere."""
    data = imported.read_bytes()
    with imported.open("rb") as file:
        summary = make_reader(file).get_summary()
    assert summary is not None
    true = summary.chunk_indexes[1].chunk_start_offset
    place = data.rfind(true.to_bytes(8, "little"))
    broken = tmp_path / "broken.mcap"
    broken.write_bytes(data[:place] + (true + 1).to_bytes(8, "little") + data[place + 8 :])
    assert complaints(broken)[:2] == [
        f"an index of a chunk at {true + 1} that is not there or another",
        "a summary of another checksum",
    ]
