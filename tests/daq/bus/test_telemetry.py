"""Telemetry from publisher to subscriber: same task, other process, late, slow."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest
import zmq
import zmq.asyncio

from heft.daq import topics
from heft.daq.bus import Endpoints, Message, Publisher, Subscriber, private_endpoints
from heft.daq.errors import BusError
from heft.drivers import Block

MakeBlock = Callable[..., Block]


async def joined(publisher: Publisher, subscriber: Subscriber, topic: str = topics.EVENT) -> Message:
    """Publish until the subscriber has joined: the first message that it gets."""
    first = asyncio.create_task(subscriber.receive())
    while not first.done():
        publisher.publish_json(topic, "join")
        await asyncio.sleep(0.001)
    return first.result()


async def drain(subscriber: Subscriber, until: int) -> list[Message]:
    """Messages up to event number `until`."""
    messages = []
    async for message in subscriber:
        messages.append(message)
        if message.topic == topics.EVENT and message.sequence >= until:
            return messages
    raise AssertionError


@pytest.mark.parametrize("telemetry", [None, "tcp://127.0.0.1:*"])
async def test_blocks_and_values_arrive_in_order(make_block: MakeBlock, telemetry: str | None) -> None:
    async with AsyncExitStack() as stack:
        endpoint = stack.enter_context(private_endpoints(telemetry=telemetry)).telemetry
        publisher = await stack.enter_async_context(Publisher(endpoint, session="s1", replay=True))
        subscriber = await stack.enter_async_context(Subscriber(publisher.endpoint))
        first = await joined(publisher, subscriber)
        for index in range(20):
            publisher.publish(make_block(10 * index))
        publisher.publish_json(topics.EVENT, {"event": "end"})
        last = publisher.counts[topics.EVENT] - 1
        messages = [m for m in await drain(subscriber, last) if m.json != "join"]
    blocks = [m.block for m in messages[:-1]]
    assert [b.sequence for b in blocks if b is not None] == list(range(0, 200, 10))
    assert [m.sequence for m in messages[:-1]] == list(range(20))
    assert {m.topic for m in messages[:-1]} == {"block/arm.motion"}
    assert blocks[7] is not None
    assert blocks[7].values.tobytes() == make_block(70).values.tobytes()
    assert blocks[7].si.shape == (10, 14)
    assert messages[-1].json == {"event": "end"}
    assert first.session == "s1"
    assert first.replay
    assert subscriber.lost == 0
    assert not any(m.lost for m in messages)


async def test_only_what_was_asked_for(endpoints: Endpoints, make_block: MakeBlock) -> None:
    async with (
        Publisher(endpoints.telemetry) as publisher,
        Subscriber(endpoints.telemetry, [topics.STATE, topics.EVENT]) as subscriber,
    ):
        await joined(publisher, subscriber)
        publisher.publish_json("states", "begins like a topic that was asked for")
        publisher.publish(make_block())
        publisher.publish_json(topics.STATE, {"state": "armed"})
        publisher.publish_json(topics.EVENT, "end")
        messages = await drain(subscriber, publisher.counts[topics.EVENT] - 1)
    assert {m.topic for m in messages} == {topics.STATE, topics.EVENT}


async def test_whoever_joins_late_can_read_the_first_block(
    endpoints: Endpoints, make_block: MakeBlock
) -> None:
    async with Publisher(endpoints.telemetry) as publisher:
        for index in range(50):
            publisher.publish(make_block(10 * index))
        async with Subscriber(endpoints.telemetry, [topics.BLOCKS]) as subscriber:
            first = asyncio.create_task(subscriber.receive())
            while not first.done():
                publisher.publish(make_block(500))
                await asyncio.sleep(0.001)
            message = first.result()
            assert message.block is not None
            assert message.block.stream == make_block().stream
            assert message.sequence >= 50
            assert message.lost == 0  # what was before its time is not lost


async def test_a_stalled_subscriber_loses_messages_and_knows_how_many(
    endpoints: Endpoints, make_block: MakeBlock
) -> None:
    async with (
        Publisher(endpoints.telemetry, high_water=10) as publisher,
        Subscriber(endpoints.telemetry, high_water=10) as subscriber,
    ):
        await joined(publisher, subscriber)
        big = make_block(0, samples=200)  # so that the kernel's buffers are soon full
        for _ in range(400):
            publisher.publish(big)  # never waits, never raises
        received: list[Message] = []

        async def read() -> None:
            while not received or received[-1].sequence < 400:  # one from after the stall
                message = await subscriber.receive()
                if message.block is not None:
                    received.append(message)

        reader = asyncio.create_task(read())
        while not reader.done():
            publisher.publish(make_block())
            await asyncio.sleep(0.001)
        lost = subscriber.gaps["block/arm.motion"]
        assert lost > 0
        assert len(received) + lost == received[-1].sequence + 1
        assert sum(message.lost for message in received) == lost


async def test_a_loss_that_no_later_message_shows_is_found_by_the_counts(
    endpoints: Endpoints, make_block: MakeBlock
) -> None:
    """A rare event is lost, and nothing follows it under its topic."""
    async with (
        Publisher(endpoints.telemetry) as publisher,
        Subscriber(endpoints.telemetry) as subscriber,
    ):
        await joined(publisher, subscriber)
        await joined(publisher, subscriber, topics.STATE)
        publisher._counts[topics.STATE] += 3  # three were published and never arrived
        while topics.STATE not in subscriber.gaps:
            index = publisher.counts.get("block/arm.motion", 0)
            publisher.publish(make_block(100 * index, samples=100))  # 0.1 s each; counts come every second
            await subscriber.receive()
        assert subscriber.gaps == {topics.STATE: 3}
        publisher.publish_json(topics.STATE, "next")
        while (message := await subscriber.receive()).json != "next":
            pass
        assert message.lost == 3
        assert subscriber.lost == 3


async def test_a_publisher_that_comes_back_is_no_loss(endpoints: Endpoints) -> None:
    async with Subscriber(endpoints.telemetry) as subscriber:
        sessions = set()
        for _ in range(2):
            async with Publisher(endpoints.telemetry) as publisher:
                sessions.add((await joined(publisher, subscriber)).session)
        assert len(sessions) == 2
        assert subscriber.lost == 0


READER = """
import asyncio, json, sys
from heft.daq.bus import Subscriber
async def main():
    async with Subscriber(sys.argv[1], ["block/"]) as subscriber:
        message = await subscriber.receive()
        block = message.block
        print(json.dumps({"stream": block.stream.to_dict(), "sequence": block.sequence, "lost": message.lost,
                          "values": block.values.tolist(), "host_ns": block.host_ns.tolist()}))
asyncio.run(main())
"""


async def test_another_process_reads_the_same_block(make_block: MakeBlock) -> None:
    async with Publisher("tcp://127.0.0.1:*") as publisher:
        reader = await asyncio.create_subprocess_exec(
            sys.executable, "-c", READER, str(publisher.endpoint), stdout=asyncio.subprocess.PIPE
        )
        answer = asyncio.create_task(reader.communicate())
        block = make_block(30)
        while not answer.done():
            publisher.publish(block)
            await asyncio.sleep(0.01)
        seen = json.loads((await answer)[0])
    assert reader.returncode == 0
    assert seen["stream"] == json.loads(json.dumps(block.stream.to_dict()))
    assert seen["values"] == block.values.tolist()
    assert seen["host_ns"] == block.host_ns.tolist()
    assert (seen["sequence"], seen["lost"]) == (30, 0)


async def test_a_foreign_publisher_is_an_error_that_says_so(endpoints: Endpoints) -> None:
    context = zmq.asyncio.Context()
    foreign = context.socket(zmq.PUB)
    foreign.bind(str(endpoints.telemetry))
    try:
        async with Subscriber(endpoints.telemetry) as subscriber:
            receiving = asyncio.create_task(subscriber.receive())
            while not receiving.done():
                await foreign.send_multipart([b"x", b"y", b"z"])
                await asyncio.sleep(0.001)
            with pytest.raises(BusError, match="telemetry header of 1 bytes"):
                receiving.result()
    finally:
        context.destroy(linger=0)


def test_topics() -> None:
    assert topics.stream_of(topics.block("arm.motion")) == "arm.motion"
    assert topics.matches("block/", "block/arm.motion")
    assert topics.matches("", "anything")
    assert topics.matches("state", "state")
    assert not topics.matches("state", "states")
    assert not topics.matches("block/arm", "block/arm.motion")
    with pytest.raises(ValueError, match="is not a topic of Blocks"):
        topics.stream_of("state")


async def test_a_patient_publisher_loses_nothing_to_a_slow_subscriber(
    make_block: Callable[..., Block],
) -> None:
    """Far more than the high-water marks hold, while the subscriber sleeps: it gets all of them, in order."""
    async with (
        Publisher("tcp://127.0.0.1:*", replay=True, patient=True, high_water=5) as publisher,
        Subscriber(publisher.endpoint, [topics.BLOCKS], high_water=5) as subscriber,
    ):
        arrived: list[int] = []

        async def listen() -> None:
            async for message in subscriber:
                assert message.replay
                assert message.block is not None
                arrived.append(message.block.sequence)
                if len(arrived) % 100 == 1:
                    await asyncio.sleep(0.01)

        listening = asyncio.create_task(listen())
        while not arrived:
            publisher.publish(make_block(0))
            await publisher.room()
            await asyncio.sleep(0.01)
        for index in range(1, 2001):
            publisher.publish(make_block(10 * index, samples=50))
            await publisher.room()
        while arrived[-1] != 20_000:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        assert arrived[-2000:] == list(range(10, 20_001, 10))
        assert subscriber.lost == 0


async def test_a_subscriber_that_stalls_does_not_hold_up_a_patient_publisher_for_ever(
    make_block: Callable[..., Block], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("heft.daq.bus.telemetry.STALLED_S", 0.1)
    async with (
        Publisher("tcp://127.0.0.1:*", patient=True, high_water=2) as publisher,
        Subscriber(publisher.endpoint, [topics.BLOCKS], high_water=2) as subscriber,
    ):
        first = asyncio.create_task(subscriber.receive())
        while not first.done():
            publisher.publish(make_block())
            await asyncio.sleep(0.01)
        for _ in range(500):
            publisher.publish(make_block(0, samples=2000))
            await publisher.room()
    assert "takes nothing for 0.1 s; it will lose messages" in caplog.text
