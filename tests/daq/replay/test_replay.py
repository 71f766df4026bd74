"""A replay: everything again, in order and marked; its pace, its jumps; and all of it for followers in the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from heft.daq import topics
from heft.daq.bus import Endpoint, Message, Subscriber
from heft.daq.clock import ManualClock
from heft.daq.following.client import FollowClient
from heft.daq.following.messages import Ending, RecordedBytes
from heft.daq.record.codec import encode
from heft.daq.recording import Recording
from heft.daq.replay import replay as replay_module
from heft.daq.replay.replay import Replay

START_NS = 5_000_000_000


class Stage:
    """A replay, and one who listens to all of it from before its beginning."""

    def __init__(self, replay: Replay, subscriber: Subscriber) -> None:
        self.replay = replay
        self.heard: list[Message] = []
        self._subscriber = subscriber

    async def listen(self) -> None:
        async for message in self._subscriber:
            if message.topic != "join":
                self.heard.append(message)

    def of(self, topic: str) -> list[Message]:
        return [message for message in self.heard if message.topic == topic]

    @property
    def lost(self) -> int:
        return self._subscriber.lost


@asynccontextmanager
async def staged(path: Path, folder: Path, clock: ManualClock | None = None) -> AsyncIterator[Stage]:
    endpoint = Endpoint.parse(f"ipc://{folder}/telemetry")
    async with (
        Replay(Recording.open(path), endpoint, clock) as replay,
        Subscriber(endpoint) as subscriber,
    ):
        first = asyncio.create_task(subscriber.receive())
        while not first.done():
            replay.source.publisher.publish_json("join", {})
            await asyncio.sleep(0.001)
        stage = Stage(replay, subscriber)
        listening = asyncio.create_task(stage.listen())
        try:
            yield stage
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)


async def arrived(stage: Stage, count: int, topic: str) -> None:
    while len(stage.of(topic)) < count:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.001)


async def test_all_of_it_comes_in_order_marked_and_unchanged(session: Path, tmp_path: Path) -> None:
    recording = Recording.open(session)
    async with staged(session, tmp_path) as stage:
        await stage.replay.play()
        await arrived(stage, 100, topics.block("wrist.wrench"))
        await arrived(stage, 4, topics.STATE)
    for name in ("arm.motion", "wrist.wrench"):
        played = [encode(m.block) for m in stage.of(topics.block(name)) if m.block is not None]
        assert played == [encode(block) for block in recording.blocks(name)]
    assert all(message.replay for message in stage.heard)
    assert stage.lost == 0
    assert [m.json["state"] for m in stage.of(topics.STATE)] == ["connected", "moving", "stopping", "done"]
    events = [m.json["name"] for m in stage.of(topics.EVENT)]
    assert events == ["state", "segment_start", "state", "state", "state"]
    blocks = [m.block for m in stage.heard if m.block is not None]
    ends = [int(block.host_ns[-1]) for block in blocks]
    assert ends == sorted(ends)
    assert stage.replay.seconds == stage.replay.duration_s == pytest.approx(1.999)


async def test_an_event_comes_when_it_was_told_not_when_it_is_about(session: Path, tmp_path: Path) -> None:
    async with staged(session, tmp_path) as stage:
        await stage.replay.play()
        await arrived(stage, 4, topics.STATE)
    at = next(
        i for i, m in enumerate(stage.heard) if m.topic == topics.EVENT and m.json["name"] == "segment_start"
    )
    before = [m.block for m in stage.heard[:at] if m.block is not None]
    assert max(int(block.host_ns[-1]) for block in before) <= START_NS + 100_000_000


async def test_progress_is_told_like_a_sessions(session: Path, tmp_path: Path) -> None:
    async with staged(session, tmp_path) as stage:
        await stage.replay.play()
        while not any(m.json["seconds_done"] > 1.99 for m in stage.of(topics.PROGRESS)):  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    last = stage.of(topics.PROGRESS)[-1].json
    assert last["seconds_done"] == last["seconds_total"] == pytest.approx(1.999)
    assert last["state"] == "replay done"
    assert last["step"] == "sway"
    assert last["streams"]["arm.motion"] == {
        "rate_hz": pytest.approx(995.0, abs=0.1),
        "received": 1990,
        "lost": 10,
    }
    assert last["streams"]["wrist.wrench"]["lost"] == 0


async def test_it_keeps_the_sessions_time(session: Path, tmp_path: Path) -> None:
    clock = ManualClock()
    async with staged(session, tmp_path, clock) as stage:
        playing = asyncio.create_task(stage.replay.play())
        await clock.advance(499_500_000)
        await arrived(stage, 50, topics.block("arm.motion"))
        assert len(stage.of(topics.block("arm.motion"))) == 50  # the next one ends at 0.519 s
        assert stage.replay.seconds == pytest.approx(0.499)
        await clock.advance(20_000_000)
        await arrived(stage, 51, topics.block("arm.motion"))
        while not playing.done():
            await clock.advance(100_000_000)
        await playing


async def test_pause_stops_it_where_it_is(session: Path, tmp_path: Path) -> None:
    clock = ManualClock()
    async with staged(session, tmp_path, clock) as stage:
        playing = asyncio.create_task(stage.replay.play())
        await clock.advance(200_000_000)
        stage.replay.pause()
        await clock.advance(1_000_000_000)
        assert stage.replay.paused
        assert stage.replay.seconds == pytest.approx(0.2, abs=0.011)
        stage.replay.pause()
        await clock.advance(200_000_000)
        assert stage.replay.seconds == pytest.approx(0.4, abs=0.021)
        while not any(m.json["state"] == "paused" for m in stage.of(topics.PROGRESS)):  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        stage.replay.stop()
        await clock.advance(100_000_000)
        await playing
    assert stage.replay.stopped


async def test_a_jump_is_a_new_session_on_the_bus_and_no_loss(session: Path, tmp_path: Path) -> None:
    clock = ManualClock()
    async with staged(session, tmp_path, clock) as stage:
        playing = asyncio.create_task(stage.replay.play())
        await clock.advance(300_000_000)
        stage.replay.seek(1.5)
        assert stage.replay.seconds == 1.5
        await clock.advance(100_000_000)
        await clock.advance(100_000_000)
        stage.replay.seek(-3.0)
        await clock.advance(100_000_000)
        await clock.advance(100_000_000)
        stage.replay.stop()
        await clock.advance(100_000_000)
        await playing
        await arrived(stage, 1, topics.block("arm.motion"))
        await asyncio.sleep(0.05)
    blocks = [(m.session, m.block.sequence) for m in stage.of(topics.block("arm.motion")) if m.block]
    sessions = list(dict.fromkeys(name for name, _ in blocks))
    assert len(sessions) == 3
    firsts = [next(sequence for name, sequence in blocks if name == one) for one in sessions]
    assert firsts == [0, 1500, 0]
    assert stage.lost == 0


async def test_a_jump_while_it_stands_still_is_shown(session: Path, tmp_path: Path) -> None:
    clock = ManualClock()
    async with staged(session, tmp_path, clock) as stage:
        playing = asyncio.create_task(stage.replay.play())
        await clock.advance(50_000_000)
        stage.replay.pause()
        stage.replay.loop()
        await clock.advance(100_000_000)
        stage.replay.seek(1.95)
        found = stage.of(topics.PROGRESS)
        while not any(m.json["seconds_done"] > 1.9 for m in found):
            await asyncio.sleep(0.001)
            found = stage.of(topics.PROGRESS)
        assert (found[-1].json["state"], found[-1].json["step"]) == ("paused, looping", "sway")
        assert not any(m.block and m.block.sequence > 100 for m in stage.of(topics.block("arm.motion")))
        stage.replay.stop()
        await playing


async def test_a_loop_begins_anew(session: Path, tmp_path: Path) -> None:
    async with staged(session, tmp_path) as stage:
        stage.replay.loop()
        playing = asyncio.create_task(stage.replay.play())
        await arrived(stage, 500, topics.block("arm.motion"))
        stage.replay.loop()
        await playing
        await arrived(stage, 597, topics.block("arm.motion"))
    firsts = [m for m in stage.of(topics.block("arm.motion")) if m.block and m.block.sequence == 0]
    assert len(firsts) >= 3
    assert len({m.session for m in firsts}) == len(firsts)


async def test_followers_get_the_whole_recording_whatever_was_skipped(session: Path, tmp_path: Path) -> None:
    recording, data = Recording.open(session), session.read_bytes()  # noqa: ASYNC240 - once
    endpoint = Endpoint.parse(f"ipc://{tmp_path}/telemetry")
    async with (
        Replay(recording, endpoint, None) as replay,
        FollowClient(endpoint.following, "test") as client,
    ):
        info = await client.describe()
        assert (info.name, info.replay, info.utc_offset_ns) == ("short", True, 123)
        before = await client.read(info.session, 0)
        assert b"name: x" in before.data  # the files at its beginning, and not yet a Block
        first = min(entry.offset for name in recording.streams for entry in recording.chunks(name))
        assert before == RecordedBytes(data[:first], first)
        replay.seek(1.2)
        await replay.play()
        assert await client.read(info.session, 0) == RecordedBytes(data, len(data), Ending("done"))
        await client.read(info.session, len(data))
        await asyncio.wait_for(replay.followed({}), 5.0)


async def test_followers_get_what_has_been_played_and_keep_it(session: Path, tmp_path: Path) -> None:
    recording, data = Recording.open(session), session.read_bytes()  # noqa: ASYNC240 - once
    clock = ManualClock()
    endpoint = Endpoint.parse(f"ipc://{tmp_path}/telemetry")
    async with (
        Replay(recording, endpoint, clock) as replay,
        FollowClient(endpoint.following, "test") as client,
    ):
        info = await client.describe()
        playing = asyncio.create_task(replay.play())
        await clock.advance(1_000_000_000)
        half = await client.read(info.session, 0)
        later = [e.offset for e in recording.chunks("arm.motion") if e.end_ns > START_NS + 1_000_000_000]
        earlier = [e.offset for e in recording.chunks("arm.motion") if e.end_ns < START_NS + 900_000_000]
        assert max(earlier) < half.size <= min(later)
        assert half == RecordedBytes(data[: half.size], half.size)
        replay.seek(0.0)
        await clock.advance(100_000_000)
        assert (await client.read(info.session, 0)).size == half.size
        replay.stop()
        await clock.advance(100_000_000)
        await playing


async def test_a_recording_that_was_cut_off_is_played_as_far_as_it_goes(
    write_session: Callable[..., Path], tmp_path: Path
) -> None:
    path = write_session(tmp_path / "cut.mcap.partial", finish=False)
    path.write_bytes(path.read_bytes()[:-50])
    recording = Recording.open(path)
    async with staged(path, tmp_path) as stage:
        await stage.replay.play()
        count = len(list(recording.blocks("arm.motion")))
        await arrived(stage, count, topics.block("arm.motion"))
        assert stage.replay.source.server.info.name == "cut"
        ended = stage.replay.source.server.ended
        assert ended is not None
        assert ended.state == "cut"
    assert 100 < count < 200


async def test_a_slow_subscriber_slows_it_down_and_loses_nothing(
    session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heft.daq.bus.telemetry.HIGH_WATER", 5)
    monkeypatch.setattr(replay_module, "_BURST", 1)
    endpoint = Endpoint.parse("tcp://127.0.0.1:*")
    async with Replay(Recording.open(session), endpoint, None) as replay:  # noqa: SIM117 - the port is known now
        async with Subscriber(replay.source.publisher.endpoint, [topics.BLOCKS], high_water=5) as subscriber:
            numbers: list[int] = []

            async def listen() -> None:
                async for message in subscriber:
                    if message.block is not None and message.block.stream.name == "arm.motion":
                        numbers.append(message.block.sequence)
                        await asyncio.sleep(0.0005)

            listening = asyncio.create_task(listen())
            await asyncio.sleep(0.2)  # so that the subscription is there
            await replay.play()
            while not numbers or numbers[-1] != 1990:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.01)
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
            assert subscriber.lost == 0
    expected = [10 * number for number in range(200) if number != 50]
    np.testing.assert_array_equal(numbers, expected)
