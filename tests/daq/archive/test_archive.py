"""The archive's channel: what a follower gets, who is waited for, and that nothing else can be done there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from daq import topics
from daq.archive import archive as archive_module
from daq.archive import server as server_module
from daq.archive.client import ArchiveClient
from daq.archive.live import LiveStore
from daq.archive.messages import Attachment, Delivery, Description, Ending
from daq.archive.source import LiveSource
from daq.bus import Endpoint, Subscriber
from daq.bus.requests import RequestClient
from daq.errors import BusError, RemoteError
from daq.record.codec import encode
from drivers import Block, Stream

MakeBlock = Callable[..., Block]


@pytest_asyncio.fixture
async def source(tmp_path: Path, stream: Stream) -> AsyncIterator[LiveSource]:
    endpoint = Endpoint.parse(f"ipc://{tmp_path}/telemetry")
    async with LiveSource(endpoint, "short", LiveStore(lambda: tmp_path / "none"), 77) as source:
        source.attach("configuration/robot.yaml", "text/yaml", b"name: x")
        source.describe(stream)
        yield source


@pytest_asyncio.fixture
async def client(source: LiveSource) -> AsyncIterator[ArchiveClient]:
    async with ArchiveClient(source.server.endpoint, "worker", timeout_s=2.0) as client:
        yield client


def test_messages_survive_the_way(stream: Stream) -> None:
    description = Description("id", "short", True, 5, (stream,), (Attachment("a", "b", b"c"),))
    assert Description.decode(*description.encode()) == description
    delivery = Delivery(
        {"arm.motion": 3}, {"arm.motion": b"xyz"}, ("{}",), 4, {"n": {"k": "v"}}, Ending("done")
    )
    assert Delivery.decode(*delivery.encode()) == delivery
    with pytest.raises(BusError, match="another version"):
        Description.decode({}, ())
    with pytest.raises(BusError, match="another version"):
        Delivery.decode({"counts": 3}, ())


async def test_a_follower_gets_all_of_a_session_in_order(
    source: LiveSource, client: ArchiveClient, stream: Stream, make_block: MakeBlock
) -> None:
    with pytest.raises(RemoteError, match="just beginning; ask again"):
        await client.describe()
    source.begin()
    session = await client.describe()
    assert (session.name, session.replay, session.utc_offset_ns) == ("short", False, 77)
    assert session.streams == (stream,)
    assert session.attachments == (Attachment("configuration/robot.yaml", "text/yaml", b"name: x"),)
    blocks = [make_block(number) for number in range(4)]
    for block in blocks[:3]:
        source.block(block)
    source.event("segment_start", t_ns=5, segment="sway")
    first = await client.fetch(session.session, {}, 0)
    assert first.counts == {"arm.motion": 3}
    assert first.blocks == {"arm.motion": b"".join(encode(block) for block in blocks[:3])}
    assert first.events == ('{"t_ns": 5, "name": "segment_start", "segment": "sway"}',)
    assert (first.event_count, first.ended) == (1, None)
    source.block(blocks[3])
    second = await client.fetch(session.session, {"arm.motion": 3}, 1)
    assert second.blocks == {"arm.motion": encode(blocks[3])}
    assert second.events == ()
    source.note("losses", {"arm.motion": 0})
    source.archive.end(Ending("aborted", "a hand"))
    last = await client.fetch(session.session, {"arm.motion": 4}, 1)
    assert last.blocks == {}
    assert last.ended == Ending("aborted", "a hand")
    assert last.notes == {"losses": {"arm.motion": "0"}}


async def test_an_answer_is_bounded(
    source: LiveSource, client: ArchiveClient, make_block: MakeBlock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_module, "DELIVERY_BYTES", 500)
    source.begin()
    encoded = [encode(make_block(number)) for number in range(10)]
    for number in range(10):
        source.block(make_block(number))
    delivery = await client.fetch(source.archive.session, {"arm.motion": 2}, 0)
    assert delivery.blocks == {"arm.motion": encoded[2] + encoded[3]}
    assert delivery.counts == {"arm.motion": 10}


async def test_a_block_without_samples_has_no_number(
    source: LiveSource, client: ArchiveClient, make_block: MakeBlock, stream: Stream
) -> None:
    full = make_block(0)
    empty = Block(stream, 10, full.host_ns[:0], full.values[:0], full.validity[:0], ticks=full.host_ns[:0])
    source.begin()
    source.block(full)
    source.block(empty)
    source.block(make_block(1))
    delivery = await client.fetch(source.archive.session, {}, 0)
    assert delivery.blocks["arm.motion"] == encode(full) + encode(make_block(1))


async def test_what_a_follower_says_is_on_the_bus(source: LiveSource, client: ArchiveClient) -> None:
    source.begin()
    async with Subscriber(source.publisher.endpoint, [topics.WORKERS]) as telemetry:
        heard = asyncio.create_task(telemetry.receive())
        while not heard.done():
            await client.tell(source.archive.session, "progress", {"rank": 3})
            await asyncio.sleep(0.01)
    message = heard.result()
    assert (message.topic, message.json) == ("worker/worker/progress", {"rank": 3})


async def test_requests_that_make_no_sense_are_refused(source: LiveSource, client: ArchiveClient) -> None:
    source.begin()
    with pytest.raises(RemoteError, match="not another"):
        await client.fetch("another", {}, 0)
    for blocks, events in (({"arm.motion": -1}, 0), ({"arm.motion": "x"}, 0), ({}, -1)):
        with pytest.raises(RemoteError, match="fetch:"):
            await client.fetch(source.archive.session, blocks, events)  # type: ignore[arg-type]
    with pytest.raises(RemoteError, match="small letters"):
        await client.tell(source.archive.session, "../state", {})
    async with ArchiveClient(source.server.endpoint, "a/b") as rude:
        with pytest.raises(RemoteError, match="letters, digits"):
            await rude.leave(source.archive.session)
    async with RequestClient("archive", source.server.endpoint) as arm:
        with pytest.raises(RemoteError, match="no command 'play'; there are describe, fetch, leave, tell"):
            await arm.request("play")


async def test_the_end_waits_until_a_follower_has_everything(
    source: LiveSource, client: ArchiveClient, make_block: MakeBlock
) -> None:
    source.begin()
    source.block(make_block(0))
    await client.fetch(source.archive.session, {}, 0)
    ending = asyncio.create_task(source.end("done", "", {}))
    await asyncio.sleep(0.05)
    assert not ending.done()
    await client.fetch(source.archive.session, {"arm.motion": 1}, 0)
    await asyncio.wait_for(ending, 2.0)


async def test_a_follower_that_is_expected_is_waited_for_until_it_leaves_or_dies(
    source: LiveSource, client: ArchiveClient
) -> None:
    source.begin()
    ending = asyncio.create_task(source.end("done", "", {"worker": lambda: True}))
    await client.fetch(source.archive.session, {}, 0)
    await asyncio.sleep(0.05)
    assert not ending.done()
    await client.leave(source.archive.session)
    await asyncio.wait_for(ending, 2.0)
    await asyncio.wait_for(source.end("done", "", {"other": lambda: False}), 2.0)


async def test_nobody_waits_for_one_who_fell_silent(
    source: LiveSource, client: ArchiveClient, make_block: MakeBlock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "SILENT_S", 0.05)
    source.begin()
    await client.fetch(source.archive.session, {}, 0)
    source.block(make_block(0))
    await asyncio.wait_for(source.end("done", "", {"worker": lambda: True}), 5.0)


async def test_nobody_waits_for_ever_for_one_who_never_came(
    source: LiveSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that stalled before its first word is alive all the same."""
    monkeypatch.setattr(server_module, "LOADING_S", 0.05)
    source.begin()
    await asyncio.wait_for(source.end("done", "", {"worker": lambda: True}), 5.0)


async def test_waiting_can_be_given_up(source: LiveSource) -> None:
    source.begin()
    ending = asyncio.create_task(source.end("done", "", {"worker": lambda: True}))
    await asyncio.sleep(0.01)
    source.server.release()
    await asyncio.wait_for(ending, 2.0)


@pytest.mark.parametrize(
    ("telemetry", "archive"),
    [
        ("tcp://192.0.2.7:5570", "tcp://192.0.2.7:5571"),
        ("tcp://*:5570", "tcp://*:5571"),
        ("tcp://127.0.0.1:*", "tcp://127.0.0.1:*"),
        ("ipc:///run/heft/t", "ipc:///run/heft/t.archive"),
        ("inproc://x", "inproc://x.archive"),
    ],
)
def test_where_the_archive_is(telemetry: str, archive: str) -> None:
    assert str(Endpoint.parse(telemetry).archive) == archive


def test_there_is_no_port_behind_the_last_one() -> None:
    with pytest.raises(BusError, match="65536 is above 65535"):
        _ = Endpoint.parse("tcp://127.0.0.1:65535").archive
