"""The spool: a recording with the same Blocks, whatever was delivered how, also after a worker was killed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from daq.archive.messages import Attachment, Delivery, Description, Ending
from daq.errors import RecordingError
from daq.record.codec import encode
from daq.recording import Recording
from drivers import Stream
from identify.errors import DataError
from identify.worker.spool import Spool


class Archive:
    """A recording as deliveries of random size."""

    def __init__(self, path: Path, seed: int = 0) -> None:
        self.recording = Recording.open(path)
        self.blocks = {
            name: [encode(block) for block in self.recording.blocks(name)] for name in self.recording.streams
        }
        self.events = [text.data.decode() for text in self.recording.event_texts]
        self._rng = np.random.default_rng(seed)

    @property
    def description(self) -> Description:
        files = tuple(
            Attachment(name, "text/plain", self.recording.attachment(name))
            for name in self.recording.attachments
        )
        return Description("id", "short", False, 77, tuple(self.recording.streams.values()), files)

    def deliver(self, spool: Spool) -> Delivery:
        """Some of what the spool lacks."""
        found = {}
        for name, blocks in self.blocks.items():
            at = spool.counts[name]
            part = blocks[at : at + int(self._rng.integers(0, 60))]
            if part:
                found[name] = b"".join(part)
        return Delivery(
            counts={name: len(blocks) for name, blocks in self.blocks.items()},
            blocks=found,
            events=tuple(self.events[spool.events : spool.events + 2]),
            event_count=len(self.events),
            notes={"losses": {"none": "0"}},
            ended=Ending("done"),
        )


@pytest.fixture
def archive(recorded: Path) -> Archive:
    return Archive(recorded)


def fill(spool: Spool, archive: Archive, share: float = 1.0) -> None:
    whole = sum(map(len, archive.blocks.values()))
    while sum(spool.counts.values()) < share * whole:
        spool.add(archive.deliver(spool))


def check_equal(path: Path, original: Recording) -> None:
    spooled = Recording.open(path)
    assert spooled.recovery.ok, str(spooled.recovery)
    assert spooled.digest == original.digest
    assert list(spooled.streams.items()) == list(original.streams.items())
    assert spooled.events == original.events
    assert spooled.segments == original.segments
    assert spooled.utc_offset_ns == original.utc_offset_ns
    assert {n: spooled.attachment(n) for n in spooled.attachments} == {
        n: original.attachment(n) for n in original.attachments
    }
    assert spooled.metadata["losses"] == original.metadata["losses"]
    for name in original.streams:
        assert [encode(b) for b in spooled.blocks(name)] == [encode(b) for b in original.blocks(name)]


def test_it_becomes_the_same_recording(archive: Archive, tmp_path: Path) -> None:
    seen: dict[str, bytes] = {}

    def tap(stream: Stream, joined: bytes) -> None:
        seen[stream.name] = seen.get(stream.name, b"") + joined

    spool = Spool(tmp_path, archive.description, tap)
    assert spool.path.name == "short.mcap.partial"
    fill(spool, archive)
    assert spool.holds(archive.deliver(spool))
    path = spool.finish({"losses": {"none": "0"}})
    assert path == spool.path == tmp_path / "short.mcap"
    check_equal(path, archive.recording)
    assert seen == {name: b"".join(blocks) for name, blocks in archive.blocks.items()}


@pytest.mark.parametrize("flushed", [True, False])
def test_what_a_killed_worker_had_is_taken_over(archive: Archive, tmp_path: Path, flushed: bool) -> None:
    killed = Spool(tmp_path, archive.description, lambda *_: None)
    fill(killed, archive, 0.6)
    if flushed:
        killed.flush()
    had = sum(killed.counts.values())
    killed._raw.close()  # as the kernel does
    seen: list[str] = []
    spool = Spool(tmp_path, archive.description, lambda stream, _: seen.append(stream.name))
    assert bool(sum(spool.counts.values()) == had) is flushed
    assert spool.events == 0  # they are few, and asked for again
    assert bool(seen) is bool(sum(spool.counts.values()))
    fill(spool, archive)
    check_equal(spool.finish({"losses": {"none": "0"}}), archive.recording)
    assert {path.name for path in tmp_path.iterdir()} == {"short.mcap"}


def test_a_take_over_that_was_killed_itself_begins_again(archive: Archive, tmp_path: Path) -> None:
    first = Spool(tmp_path, archive.description, lambda *_: None)
    fill(first, archive, 0.5)
    had = dict(first.counts)
    first.close()
    (tmp_path / "short.mcap.partial").rename(tmp_path / "short.mcap.before")
    (tmp_path / "short.mcap.partial").write_bytes(b"half a copy")
    spool = Spool(tmp_path, archive.description, lambda *_: None)
    assert spool.counts == had
    spool.close()


def test_a_whole_spool_without_an_answer_is_taken_over_too(archive: Archive, tmp_path: Path) -> None:
    first = Spool(tmp_path, archive.description, lambda *_: None)
    fill(first, archive)
    first.finish({})
    spool = Spool(tmp_path, archive.description, lambda *_: None)
    assert sum(spool.counts.values()) == sum(map(len, archive.blocks.values()))
    spool.close()


def test_a_damaged_spool_is_not_trusted(archive: Archive, tmp_path: Path) -> None:
    first = Spool(tmp_path, archive.description, lambda *_: None)
    fill(first, archive, 0.3)
    first.flush()
    fill(first, archive, 0.6)
    first.close()
    entry = Recording.open(first.path).chunks("arm.motion")[0]
    data = bytearray(first.path.read_bytes())
    data[entry.offset + entry.length - 20] ^= 0xFF
    first.path.write_bytes(data)
    spool = Spool(tmp_path, archive.description, lambda *_: None)
    assert set(spool.counts.values()) == {0}
    spool.close()


def test_deliveries_that_make_no_sense_are_refused(archive: Archive, tmp_path: Path) -> None:
    spool = Spool(tmp_path, archive.description, lambda *_: None)
    with pytest.raises(DataError, match="'other', which it has not described"):
        spool.add(Delivery({}, {"other": b"x"}))
    with pytest.raises(RecordingError, match="its header alone has 32"):
        spool.add(Delivery({}, {"arm.motion": b"x"}))
    spool.close()
    spool.close()
