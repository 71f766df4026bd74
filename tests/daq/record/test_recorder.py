"""The recorder: nothing waits, nothing is dropped in silence, and the file is whole or says that it is not."""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import heft.daq.record
from heft.daq.clock import ManualClock, SimulatedClock
from heft.daq.errors import RecordError
from heft.daq.record import Recorder
from heft.daq.record import file as file_module
from heft.daq.record.writer import Writer
from heft.daq.recording import Recording
from heft.drivers.block import Block
from heft.drivers.stream import Stream

MakeBlock = Callable[..., Block]


class Gate:
    """Stops the writer's thread in its Blocks until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open = threading.Event()
        original = Writer.block

        def block(writer: Writer, block: Block, data: bytes) -> None:
            self.open.wait(30)
            self.open.set()  # a test that fails before it opens the gate waits once
            original(writer, block, data)

        monkeypatch.setattr(Writer, "block", block)


def full_disk_after(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """Writing fails as on a full disk once the file has `limit` bytes."""
    original = file_module.McapFile._write

    def write(self: file_module.McapFile, data: bytes) -> None:
        room = limit - self._position
        if len(data) > room:
            if room > 0:
                original(self, data[:room])
            raise OSError(errno.ENOSPC, "No space left on device")
        original(self, data)

    monkeypatch.setattr(file_module.McapFile, "_write", write)


async def until(condition: Callable[[], Any]) -> None:
    """Let the other threads run until something is so."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - the threads have no event to wait for
            await asyncio.sleep(0.005)


def test_public_names() -> None:
    assert heft.daq.record.__all__ == ["LinkFrames", "Recorder", "Viewer", "Writer"]
    assert all(hasattr(heft.daq.record, name) for name in heft.daq.record.__all__)


async def test_a_session_comes_back(
    tmp_path: Path, motion: Stream, wrench: Stream, make_block: MakeBlock
) -> None:
    clock = ManualClock(utc_offset_ns=77)
    path = tmp_path / "deep" / "a.mcap"
    async with Recorder(path, clock) as recorder:
        assert recorder.path == tmp_path / "deep" / "a.mcap.partial"
        assert recorder.path.exists()
        recorder.describe(wrench)
        recorder.event("segment_start", segment="excitation", use="identification")
        for i in range(5):
            recorder.block(make_block(motion, 10 * i))
        await clock.advance(2_000_000_000)
        recorder.event("segment_end", segment="excitation")
        recorder.event("state", state="done", value=float("nan"), t_ns=5)
        recorder.attach("rig.yaml", "application/yaml", b"x: 1")
        recorder.note("calibration", {"tool": "a text", "gain": [1.5, 2]})
    assert recorder.path == path
    assert not path.with_name("a.mcap.partial").exists()
    assert recorder.counts == {"wrist.wrench": 0, "arm.motion": 50}
    recording = Recording.open(path)
    assert recording.recovery.ok
    assert set(recording.streams) == {"wrist.wrench", "arm.motion"}
    assert recording.utc_offset_ns == 77
    assert [len(b) for b in recording.blocks("arm.motion")] == [10] * 5
    assert recording.attachment("rig.yaml") == b"x: 1"
    assert recording.metadata["calibration"] == {"tool": "a text", "gain": "[1.5, 2]"}
    (segment,) = recording.segments
    assert (segment.name, segment.use, segment.start_ns, segment.end_ns) == (
        "excitation",
        "identification",
        1_000_000_000,
        3_000_000_000,
    )
    assert recording.events[0].facts == {"state": "done", "value": None}


async def test_an_exception_inside_still_gives_a_whole_file(
    tmp_path: Path, motion: Stream, make_block: MakeBlock
) -> None:
    async def session(recorder: Recorder) -> None:
        async with recorder:
            recorder.block(make_block(motion))
            raise ZeroDivisionError

    recorder = Recorder(tmp_path / "a.mcap", ManualClock())
    with pytest.raises(ZeroDivisionError):
        await session(recorder)
    assert Recording.open(tmp_path / "a.mcap").recovery.ok


@pytest.mark.parametrize("name", ["a.mcap", "a.mcap.partial"])
async def test_a_file_that_exists_is_not_touched(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"precious")
    with pytest.raises(RecordError, match=r"exists; move it away"):
        async with Recorder(tmp_path / "a.mcap", ManualClock()):
            pass
    assert (tmp_path / name).read_bytes() == b"precious"


async def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(RecordError, match=r"record elsewhere \(--out\)"):
        async with Recorder(tmp_path / "file" / "a.mcap", ManualClock()):
            pass


async def test_nothing_is_taken_outside(tmp_path: Path, motion: Stream, make_block: MakeBlock) -> None:
    recorder = Recorder(tmp_path / "a.mcap", ManualClock())
    async with recorder:
        pass
    with pytest.raises(RecordError, match="outside `async with`"):
        recorder.block(make_block(motion))


async def test_a_full_queue_fails_loudly(
    tmp_path: Path, motion: Stream, make_block: MakeBlock, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    async with Recorder(tmp_path / "a.mcap", ManualClock(), capacity=8) as recorder:
        recorder.block(make_block(motion))
        await until(lambda: len(recorder._queue) == 0)  # the thread has it, and stands at the gate
        for i in range(1, 9):
            recorder.block(make_block(motion, 10 * i))
        with pytest.raises(RecordError, match="8 blocks wait for the disk, the limit is 8"):
            recorder.block(make_block(motion, 90))
        recorder.event("state", state="failed")  # what is said about it is still recorded
        gate.open.set()
    recording = Recording.open(tmp_path / "a.mcap")
    assert recorder.counts == {"arm.motion": 90}
    assert len(recording.columns("arm.motion")) == 90
    assert recording.events[0].facts == {"state": "failed"}
    assert recording.metadata["heft.refused"] == {"arm.motion": "10"}


async def test_simulated_time_waits_for_the_disk(
    tmp_path: Path, motion: Stream, make_block: MakeBlock, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    clock = SimulatedClock()
    total, capacity = 200, 16

    async def device(recorder: Recorder) -> None:
        with clock.participant("device"):
            for i in range(total):
                await clock.sleep_until(1_000_000_000 + (i + 1) * 10_000_000)
                recorder.block(make_block(motion, 10 * i))

    async with Recorder(tmp_path / "a.mcap", clock, capacity=capacity) as recorder:
        task = asyncio.create_task(device(recorder))
        await until(lambda: len(recorder._queue) >= capacity // 2)
        stopped_at = clock.now_ns()
        for _ in range(100):
            await asyncio.sleep(0)
        assert clock.now_ns() == stopped_at
        gate.open.set()
        async with asyncio.timeout(30):
            await task
    assert recorder.counts == {"arm.motion": 10 * total}


async def test_a_full_disk_is_told_at_the_next_put_and_leaves_what_was_whole(
    tmp_path: Path, motion: Stream, make_block: MakeBlock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heft.daq.record.writer.CHUNK_BYTES", 10_000)
    full_disk_after(monkeypatch, 60_000)
    put = 0

    async def session(recorder: Recorder) -> None:
        nonlocal put
        async with recorder:
            while True:
                recorder.block(make_block(motion, put))
                put += 10
                await asyncio.sleep(0.0005)

    recorder = Recorder(tmp_path / "a.mcap", ManualClock())
    with pytest.raises(RecordError, match=r"No space left on device; free some space"):
        await session(recorder)
    assert recorder.path == tmp_path / "a.mcap.partial"
    assert not (tmp_path / "a.mcap").exists()
    recording = Recording.open(recorder.path)
    assert not recording.recovery.complete
    assert recording.recovery.lost_bytes > 0
    columns = recording.columns("arm.motion")
    assert 0 < len(columns) < put
    assert len(columns) == recorder.counts["arm.motion"]
    assert columns.gaps == []


async def test_a_disk_that_fills_at_the_end_is_told_at_the_exit(
    tmp_path: Path, motion: Stream, make_block: MakeBlock, monkeypatch: pytest.MonkeyPatch
) -> None:
    full_disk_after(monkeypatch, 1000)

    async def session(recorder: Recorder) -> None:
        async with recorder:
            recorder.block(make_block(motion))

    recorder = Recorder(tmp_path / "a.mcap", ManualClock())
    with pytest.raises(RecordError, match="No space left on device"):
        await session(recorder)
    assert recorder.path.name == "a.mcap.partial"


async def test_a_disk_that_is_full_from_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full_disk_after(monkeypatch, 10)
    with pytest.raises(RecordError, match="No space left on device"):
        async with Recorder(tmp_path / "a.mcap", ManualClock()):
            pass


async def test_a_failure_that_nobody_was_told_is_told_beside_another_error(
    tmp_path: Path, motion: Stream, make_block: MakeBlock, monkeypatch: pytest.MonkeyPatch
) -> None:
    full_disk_after(monkeypatch, 1000)

    async def session(recorder: Recorder) -> None:
        async with recorder:
            recorder.block(make_block(motion))
            raise ZeroDivisionError

    recorder = Recorder(tmp_path / "a.mcap", ManualClock())
    with pytest.raises(RecordError) as caught:
        await session(recorder)
    assert isinstance(caught.value.__context__, ZeroDivisionError)


async def test_time_goes_on_after_a_failure(
    tmp_path: Path, motion: Stream, make_block: MakeBlock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hold that a full queue opened is released, or a simulated session could never stop its arm."""
    gate = Gate(monkeypatch)
    full_disk_after(monkeypatch, 1000)
    clock = SimulatedClock()

    async def session(recorder: Recorder) -> None:
        async with recorder:
            for i in range(4):
                recorder.block(make_block(motion, 10 * i))
            gate.open.set()
            async with asyncio.timeout(30):
                await clock.sleep_until(2_000_000_000)

    recorder = Recorder(tmp_path / "a.mcap", clock, capacity=4)
    with pytest.raises(RecordError):
        await session(recorder)


async def test_cancellation_waits_for_the_file(
    tmp_path: Path, motion: Stream, make_block: MakeBlock, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    leaving = asyncio.Event()

    async def session() -> None:
        async with Recorder(tmp_path / "a.mcap", ManualClock()) as recorder:
            recorder.block(make_block(motion))
            leaving.set()

    task = asyncio.create_task(session())
    await leaving.wait()
    await asyncio.sleep(0)
    task.cancel()
    for _ in range(10):
        await asyncio.sleep(0)
    assert not task.done()
    gate.open.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert Recording.open(tmp_path / "a.mcap").recovery.ok


async def test_a_flush_comes_by_itself(tmp_path: Path, motion: Stream, make_block: MakeBlock) -> None:
    async with Recorder(tmp_path / "a.mcap", ManualClock()) as recorder:
        recorder.block(make_block(motion))
        await until(lambda: recorder.counts.get("arm.motion") == 10)
        assert len(Recording.open(recorder.path).columns("arm.motion")) == 10


async def test_a_stream_that_cannot_be_recorded_is_named(tmp_path: Path, motion: Stream) -> None:
    async def session(recorder: Recorder) -> None:
        async with recorder:
            recorder.describe(Stream("a.b", motion.columns, 1.0, ">f8"))

    recorder = Recorder(tmp_path / "a.mcap", ManualClock())
    with pytest.raises(RecordError, match=r"a\.b: numbers of type '>f8' cannot be recorded"):
        await session(recorder)
