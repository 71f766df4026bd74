"""The link to a real broker: state, events, last will, and the broker's absence."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
from typing import Any

import aiomqtt
import pytest

from heft.daq.config.broker import BrokerConfig
from heft.daq.errors import ConfigError
from heft.daq.mqtt import topics
from heft.daq.mqtt.link import Link, _end

CELL = "bench"
EVENTS = topics.gripper_event(CELL)


async def until(condition: Any, seconds: float = 10.0) -> None:
    """Wait for something that another program does."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - it cannot tell
            await asyncio.sleep(0.01)


def event(name: str, **facts: Any) -> bytes:
    return json.dumps({"event_id": name, "ts": time.time(), "event": "picked", **facts}).encode()


async def first(client: aiomqtt.Client) -> aiomqtt.Message:
    async with asyncio.timeout(5):
        return await anext(aiter(client.messages))


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Link, "FIRST_WAIT_NS", 50_000_000)
    monkeypatch.setattr(Link, "LONGEST_WAIT_NS", 200_000_000)


async def test_state_is_retained_and_says_when(broker) -> None:
    async with Link(broker.config, CELL, "session") as link:
        link.state(topics.session(CELL), {"state": "moving"})
        await until(lambda: link.connected)
    async with broker.client() as late:
        await late.subscribe(topics.session(CELL))
        message = await first(late)
        facts = json.loads(message.payload)
        assert message.retain
        assert facts["state"] == "moving"
        assert abs(facts["ts"] - time.time()) < 60


async def test_goodbye_and_last_will(broker) -> None:
    async with broker.client() as watcher:
        await watcher.subscribe(topics.online(CELL, "session"), qos=1)
        async with Link(broker.config, CELL, "session"):
            assert json.loads((await first(watcher)).payload)["online"] is True
        assert json.loads((await first(watcher)).payload)["online"] is False
        async with Link(broker.config, CELL, "session") as link:
            assert json.loads((await first(watcher)).payload)["online"] is True
            link._client._client.socket().shutdown(socket.SHUT_RDWR)  # the line breaks: no goodbye
            assert json.loads((await first(watcher)).payload)["online"] is False
            assert json.loads((await first(watcher)).payload)["online"] is True  # and it comes back by itself


async def test_events_are_confirmed_and_not_retained(broker) -> None:
    async with broker.client() as listener:
        await listener.subscribe(topics.payload_event(CELL), qos=1)
        async with Link(broker.config, CELL, "payload") as link:
            name = link.event(topics.payload_event(CELL), {"event": "picked"})
            message = await first(listener)
            assert not message.retain
            assert message.qos == 1
            assert json.loads(message.payload)["event_id"] == name
    async with broker.client() as late:
        await late.subscribe(topics.payload_event(CELL), qos=1)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await anext(aiter(late.messages))


async def test_retained_and_repeated_events_are_not_obeyed(broker) -> None:
    heard = []
    async with broker.client() as sender:
        await sender.publish(EVENTS, event("kept"), qos=1, retain=True)
        link = Link(broker.config, CELL, "payload")
        link.hear(EVENTS, heard.append)
        async with link:
            await until(lambda: link.refused.get("retained"))
            for name in ("one", "one", "two"):
                await sender.publish(EVENTS, event(name), qos=1)
            await sender.publish(EVENTS, event("old", ts=time.time() - 3600), qos=1)
            await until(lambda: link.refused.get("old"))
    assert [e.event_id for e in heard] == ["one", "two"]
    assert link.refused == {"retained": 1, "repeated": 1, "old": 1}


async def test_a_broker_restart_loses_no_event(broker) -> None:
    """In both directions: what was said while the broker was away, and what came while this side was."""
    heard: list[Any] = []
    told: list[str] = []
    link = Link(broker.config, CELL, "payload")
    link.hear(EVENTS, heard.append)
    async with broker.client("other") as other:
        await other.subscribe(topics.payload_event(CELL), qos=1)
    async with link:
        await until(lambda: link.connected)
        told.append(link.event(topics.payload_event(CELL), {"n": 0}))
        await until(lambda: not link._events)
        broker.stop()
        await until(lambda: not link.connected)
        told += [link.event(topics.payload_event(CELL), {"n": n}) for n in (1, 2)]
        broker.start()
        await until(lambda: not link._events)
    async with broker.client() as sender:  # the link is away; its broker-side session is not
        await sender.publish(EVENTS, event("while away"), qos=1)
    broker.stop()
    broker.start()
    again = Link(broker.config, CELL, "payload")
    again.hear(EVENTS, heard.append)
    async with again:
        await until(lambda: heard)
    assert [e.event_id for e in heard] == ["while away"]
    got = []
    async with broker.client("other") as other:
        while len(got) < 3:
            got.append(json.loads((await first(other)).payload)["event_id"])
    assert got == told
    assert link.lost_events == again.lost_events == 0


async def test_what_the_broker_has_not_confirmed_is_sent_again(broker) -> None:
    """It has taken the bytes, and dies with them."""
    async with broker.client("other") as other:
        await other.subscribe(topics.payload_event(CELL), qos=1)
    broker.stop()  # keeps that
    broker.start()
    async with Link(broker.config, CELL, "payload") as link:
        await until(lambda: link.connected)
        broker.freeze()
        name = link.event(topics.payload_event(CELL), {"event": "picked"})
        link.state(topics.payload(CELL), {"state": "carried"})
        await asyncio.sleep(0.1)
        assert len(link._events) == 1  # nobody has confirmed it
        broker.kill()
        broker.start()
        await until(lambda: not link._events and not link._changed)
        async with broker.client("other") as other:
            assert json.loads((await first(other)).payload)["event_id"] == name
        async with broker.client() as late:
            await late.subscribe(topics.payload(CELL))
            assert json.loads((await first(late)).payload)["state"] == "carried"
    assert link.lost_events == 0


async def test_without_a_broker_work_goes_on_and_the_log_says_it_once(port, caplog) -> None:
    caplog.set_level(logging.INFO, "heft.mqtt")
    async with Link(BrokerConfig(host="127.0.0.1", port=port), CELL, "session") as link:
        link.state(topics.session(CELL), {"state": "moving"})
        await until(lambda: link._away)
        await asyncio.sleep(0.5)  # several attempts
        assert not link.connected
    assert [r.levelname for r in caplog.records] == ["WARNING"]
    assert f"127.0.0.1:{port}" in caplog.text


def test_a_password_that_is_not_there(tmp_path) -> None:
    config = BrokerConfig(host="h", username="u", password_file="secret")
    with pytest.raises(ConfigError, match="password_file"):
        Link(config, CELL, "session", folder=tmp_path)


async def test_a_link_that_is_left_while_it_connects_ends(broker) -> None:
    """At whatever moment of connecting: a cancellation that meets the broker's answer must not be lost."""
    async with asyncio.timeout(20):
        for moment in range(60):
            async with Link(broker.config, CELL, "session"):
                await asyncio.sleep(1e-4 * moment)


async def test_a_cancellation_that_is_lost_is_repeated() -> None:
    swallowed = []

    async def stubborn() -> None:
        while len(swallowed) < 2:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                swallowed.append(True)
        await asyncio.Event().wait()

    task = asyncio.create_task(stubborn())
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await _end(task, again_s=0.01)
    assert task.cancelled()


async def test_a_link_leaves_a_broker_that_no_longer_answers(port) -> None:
    """It takes connections and says nothing."""

    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1024):
            pass
        writer.close()

    async with await asyncio.start_server(mute, "127.0.0.1", port):
        link = Link(BrokerConfig(host="127.0.0.1", port=port), CELL, "session")
        link.GOODBYE_S = 0.1
        async with asyncio.timeout(4):  # less than ANSWER_S
            async with link:
                await asyncio.sleep(0.1)
        assert not link.connected


HUGE = str(10**310).encode()


@pytest.mark.parametrize(
    "payload",
    [
        b'{"event_id": "x", "ts": ' + HUGE + b"}",
        b'{"event_id": "x", "ts": 1e999}',
        b'{"event_id": "x", "ts": NaN}',
        b"[" * 100_000,
        b'{"event_id": "x", "ts": 1, "a": ' + b"[" * 60 + b"]" * 60 + b"}",
        b'{"event_id": "' + b"x" * 5_000_000 + b'", "ts": 1}',
        b'{"event_id": {"a": 1}, "ts": 1}',
        b"\xff\xfe",
    ],
    ids=["big", "infinite", "nan", "deep", "nested", "long id", "no id", "no text"],
)
async def test_no_message_silences_the_link(broker, payload: bytes, caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Any] = []
    link = Link(broker.config, CELL, "payload")
    link.hear(EVENTS, heard.append)
    async with broker.client() as sender, broker.client() as watcher:
        await watcher.subscribe(topics.online(CELL, "payload"), qos=1)
        async with link:
            await until(lambda: link.connected)
            assert json.loads((await first(watcher)).payload)["online"] is True
            await sender.publish(EVENTS, payload, qos=1)
            await sender.publish(EVENTS, event("after"), qos=1)
            await until(lambda: heard)
            assert json.loads((await first(watcher)).payload)["refused"] == {"malformed": 1}
    assert [e.event_id for e in heard] == ["after"]
    assert "an event is not believed: malformed" in caplog.text


async def test_a_handler_that_fails_and_a_link_that_fails_are_told_and_outlived(
    broker, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Any] = []

    def fail_first(event: Any) -> None:
        heard.append(event)
        if len(heard) == 1:
            raise RuntimeError("cannot")

    link = Link(broker.config, CELL, "payload")
    link.hear(EVENTS, fail_first)
    async with broker.client() as sender, link:
        await until(lambda: link.connected)
        for name in ("one", "two"):
            await sender.publish(EVENTS, event(name), qos=1)
        await until(lambda: len(heard) == 2)
        assert "RuntimeError('cannot'); ignored" in caplog.text
        listen, failed = Link._listen, []

        async def fail_once(self: Link, client: aiomqtt.Client) -> None:
            if not failed:
                failed.append(True)
                raise RuntimeError("wire")
            await listen(self, client)

        monkeypatch.setattr(Link, "_listen", fail_once)
        link._client._client.socket().shutdown(socket.SHUT_RDWR)  # so that it listens anew
        await until(lambda: failed)
        await until(lambda: link.connected)
        await sender.publish(EVENTS, event("three"), qos=1)
        await until(lambda: len(heard) == 3)
    assert "internal error: RuntimeError('wire'); connecting again" in caplog.text


async def test_events_are_judged_by_utc_as_it_is_now(broker, caplog: pytest.LogCaptureFixture) -> None:
    """A clock that was wrong by an hour at the start and has been corrected since."""
    heard: list[Any] = []
    wrong_s = [-3600.0]
    link = Link(broker.config, CELL, "payload", utc_s=lambda: time.time() + wrong_s[0])
    link.hear(EVENTS, heard.append)
    async with broker.client() as sender, link:
        await until(lambda: link.connected)
        await sender.publish(EVENTS, event("early"), qos=1)
        await until(lambda: link.refused.get("early"))
        assert "early (1 so far); compare the clocks of both hosts" in caplog.text
        wrong_s[0] = 0.0
        await sender.publish(EVENTS, event("now"), qos=1)
        await until(lambda: heard)
    assert [e.event_id for e in heard] == ["now"]
    assert abs(heard[0].age_s) < 60
