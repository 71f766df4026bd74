"""Where Blocks are kept: by number, in memory, and beyond it in the file that is being written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from daq.archive.live import LiveStore
from daq.archive.memory import Memory
from daq.archive.shelf import Shelf
from daq.archive.tail import Tail
from daq.errors import RecordingError
from daq.record import Writer
from daq.record.codec import encode, rows
from daq.recording import Recording
from drivers import Block, Column, Stream

MakeBlock = Callable[..., Block]


class Growing:
    """A recording in the making, written to in this thread."""

    def __init__(self, path: Path, make_block: MakeBlock) -> None:
        self.path = path
        self.raw = path.open("xb", buffering=0)
        self.writer = Writer(self.raw, 0)
        self.encoded: list[bytes] = []
        self._make = make_block

    def write(self, count: int) -> None:
        for _ in range(count):
            block = self._make(len(self.encoded))
            self.encoded.append(encode(block))
            self.writer.block(block)
        self.writer.flush()


@pytest.fixture
def growing(tmp_path: Path, make_block: MakeBlock) -> Iterator[Growing]:
    growing = Growing(tmp_path / "x.mcap.partial", make_block)
    yield growing
    growing.raw.close()


def test_memory_forgets_the_oldest_but_not_their_numbers() -> None:
    memory = Memory(limit=50)
    for number in range(10):
        memory.add("a", bytes([number]) * 10)
        memory.add("b", bytes([100 + number]) * 10)
    assert memory.counts == {"a": 10, "b": 10}
    assert memory.first("b") == 7
    assert memory.first("a") == 8
    assert [data[0] for data in memory.take("b", 8, 10**6)] == [108, 109]
    assert [data[0] for data in memory.take("a", 8, limit=1)] == [8]
    assert memory.take("a", 10, 10**6) == []
    assert memory.first("c") == 0
    assert memory.take("c", 0, 10) == []


def test_a_block_larger_than_the_memory_is_kept_until_the_next_one() -> None:
    memory = Memory(limit=5)
    memory.add("a", b"0123456789")
    assert memory.take("a", 0, 1) == [b"0123456789"]
    memory.add("a", b"abcdefghij")
    assert memory.first("a") == 1


def test_a_tail_follows_a_file_that_grows_and_is_renamed(growing: Growing) -> None:
    shelf = Shelf(growing.path)
    tail = Tail(shelf)
    tail.advance()
    assert shelf.count("arm.motion") == 0
    growing.write(3)
    tail.advance()
    assert shelf.take("arm.motion", 0, 10**6) == growing.encoded
    growing.write(2)
    growing.writer.event(5, '{"t_ns": 5, "name": "x"}')
    growing.write(4)
    tail.advance()
    assert shelf.count("arm.motion") == 9
    assert shelf.take("arm.motion", 2, 10**6) == growing.encoded[2:]
    assert shelf.take("arm.motion", 4, limit=1) == growing.encoded[4:5]
    growing.write(1)
    growing.writer.note("late", {"a": "b"})
    growing.writer.finish()
    growing.path.rename(growing.path.with_suffix(""))
    tail.advance()
    assert shelf.take("arm.motion", 8, 10**6) == growing.encoded[8:]
    shelf.close()


def test_a_record_of_which_only_a_part_is_there_waits(growing: Growing, tmp_path: Path) -> None:
    growing.write(3)
    growing.write(3)
    whole = growing.path.read_bytes()
    cut = tmp_path / "cut"
    cut.write_bytes(b"")
    with cut.open("ab") as file:
        shelf = Shelf(cut)
        tail = Tail(shelf)
        for start in range(0, len(whole), 101):
            file.write(whole[start : start + 101])
            file.flush()
            tail.advance()
    assert shelf.take("arm.motion", 0, 10**6) == growing.encoded
    shelf.close()


def test_damage_in_the_file_is_said(growing: Growing) -> None:
    growing.write(3)
    growing.write(3)
    shelf = Shelf(growing.path)
    Tail(shelf).advance()
    last = Recording.open(growing.path).chunks("arm.motion")[-1]
    with growing.path.open("r+b") as file:
        file.seek(last.offset + last.length - 60)
        file.write(bytes(20))
    with pytest.raises(RecordingError, match=r"chunk at byte \d+ is damaged"):
        shelf.take("arm.motion", 3, 10**6)
    shelf.close()


async def test_a_live_store_reads_what_memory_forgot(growing: Growing) -> None:
    store = LiveStore(lambda: growing.path, limit=2000)
    growing.write(20)
    for data in growing.encoded:
        store.add("arm.motion", data)
    assert store.counts == {"arm.motion": 20}
    taken: list[bytes] = []
    while len(taken) < 20:
        more = await store.take("arm.motion", len(taken), 500)
        assert more
        taken += more
    assert taken == growing.encoded
    store.disown()
    assert await store.take("arm.motion", 0, 500) == []
    assert await store.take("arm.motion", 19, 500) == growing.encoded[19:]
    store.close()


async def test_what_is_not_yet_on_the_disk_comes_later(growing: Growing, make_block: MakeBlock) -> None:
    store = LiveStore(lambda: growing.path, limit=0)
    for number in range(3):
        store.add("arm.motion", encode(make_block(number)))
    assert await store.take("arm.motion", 0, 500) == []
    growing.write(3)
    assert await store.take("arm.motion", 0, 500) == growing.encoded[:2]
    store.close()


def test_blocks_that_stand_together_come_apart(stream: Stream, make_block: MakeBlock) -> None:
    encoded = [encode(make_block(number)) for number in range(5)]
    joined = b"".join(encoded)
    (found,) = rows(joined, stream)
    assert [row.tobytes() for row in found] == encoded
    assert list(rows(b"", stream)) == []
    with pytest.raises(RecordingError, match="cut, 3 bytes are missing"):
        list(rows(joined[:-3], stream))
    with pytest.raises(RecordingError, match="its header alone has 32"):
        list(rows(joined + b"x", stream))
    other = Stream("arm.motion", (Column("a", "position", "rad"), Column("b", "position", "rad")), 1000.0)
    with pytest.raises(RecordingError, match="the channel describes 2 columns"):
        list(rows(joined, other))
