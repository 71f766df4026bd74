"""Telemetry: from a session to everyone who may lose some of it.

    async with Publisher("ipc:///run/heft/telemetry") as publisher:
        publisher.publish(block)

    async with Subscriber("ipc:///run/heft/telemetry", [topics.BLOCKS]) as telemetry:
        async for message in telemetry:
            message.block, message.lost

The publisher binds and never waits: what a slow subscriber does not take is dropped, and the subscriber
counts it. So nothing that must not lose a sample (safety, the recorder) is a subscriber. Only a replay has time to
wait: it publishes patiently, and nobody loses anything.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self
from uuid import uuid4

import zmq
import zmq.asyncio

from heft.daq import topics
from heft.daq.bus.channel import Channel
from heft.daq.bus.endpoint import Endpoint
from heft.daq.bus.gaps import Gaps
from heft.daq.bus.keyring import Keyring
from heft.daq.bus.message import Descriptions, Header, Message, decode, encode_block, encode_json
from heft.daq.errors import BusError
from heft.daq.record import codec
from heft.drivers.block import Block
from heft.drivers.stream import Stream

__all__ = ["Publisher", "Subscriber", "new_session"]

_log = logging.getLogger("heft.bus")

#: Messages that wait on each side for a slow subscriber before some are dropped: seconds of traffic.
HIGH_WATER = 1000
#: How much stream time passes between two counts [ns].
COUNT_EVERY_NS = 1_000_000_000
#: From this size on a copy costs more than the bookkeeping that avoids it [byte].
_ZERO_COPY = 65_536
#: How long a patient publisher waits for a subscriber that takes nothing at all [s], and how often it looks [s].
STALLED_S = 10.0
_LOOK_S = 0.001
#: The longest that a subscriber may send: a subscription is a topic [byte].
_MOST_SUBSCRIPTION = 1024


class Publisher:
    """The one source of a session's telemetry.

    session      names this publisher's life; sequence numbers begin at 0 in it
    replay       what is published comes from a recording
    high_water   messages kept for each subscriber that lags behind
    patient      drop nothing: what a subscriber cannot take yet is kept, and `room` waits until it has left
    """

    def __init__(
        self,
        endpoint: str | Endpoint,
        *,
        session: str | None = None,
        replay: bool = False,
        high_water: int = HIGH_WATER,
        patient: bool = False,
        context: zmq.asyncio.Context | None = None,
        keyring: Keyring | None = None,
    ) -> None:
        self.endpoint = Endpoint.parse(endpoint)
        self.session = session or new_session()
        self._replay = replay
        self._kept: deque[Sequence[bytes]] = deque()
        options: dict[int, int] = {zmq.SNDHWM: high_water, zmq.XPUB_NODROP: int(patient)}
        self._channel = Channel(
            "telemetry", zmq.PUB, options=options, context=context, keyring=keyring, most=_MOST_SUBSCRIPTION
        )
        self._descriptions = Descriptions()
        self._counts: dict[str, int] = {}
        self._counted_ns: int | None = None

    async def __aenter__(self) -> Self:
        self.endpoint = self._channel.bind(self.endpoint)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._channel.close()

    @property
    def counts(self) -> Mapping[str, int]:
        """Messages published so far, by topic."""
        return MappingProxyType(self._counts)

    def publish(self, block: Block) -> None:
        """Publish a Block under its stream's topic. Never waits, whoever lags behind."""
        self.publish_encoded(
            block.stream, codec.encode(block), int(block.host_ns[-1]) if len(block) else None
        )

    def publish_encoded(self, stream: Stream, data: bytes, last_ns: int | None) -> None:
        """Publish a Block by its bytes as in the recording, and the host time of its last sample [ns]."""
        name = topics.block(stream.name)
        header = self._header(name, is_block=True)
        self._send(encode_block(stream, data, header, name.encode(), self._descriptions))
        if last_ns is not None:
            self._publish_counts(last_ns)

    def publish_json(self, topic: str, value: Any) -> None:
        """Publish a JSON value. Never waits; what JSON cannot say (NaN, infinity) becomes null."""
        self._send(encode_json(value, self._header(topic, is_block=False), topic.encode()))

    def publish_text(self, topic: str, text: bytes) -> None:
        """Publish what somebody else says is JSON, unread: whoever listens reads it within bounds."""
        self._send((topic.encode(), self._header(topic, is_block=False), text))

    def begin_session(self) -> None:
        """From here on another session: a new id, counted from 0. For a replay that jumps."""
        self.session = new_session()
        self._counts.clear()
        self._counted_ns = None

    @property
    def keeps(self) -> bool:
        """Is there anything that has not left?"""
        return bool(self._kept)

    async def room(self) -> None:
        """Return when all that was published has left; a patient publisher's wait for its subscribers.

        One that takes nothing for STALLED_S holds the others up no longer: from then on it loses messages.
        """
        since = time.monotonic()
        while self._kept:
            try:
                self._channel.send_now(self._kept[0])
            except zmq.Again:  # ZMQ does not signal room on a publishing socket
                if time.monotonic() - since > STALLED_S:
                    _log.warning("a subscriber takes nothing for %g s; it will lose messages", STALLED_S)
                    self._channel.set_option(zmq.XPUB_NODROP, 0)
                await asyncio.sleep(_LOOK_S)
            else:
                self._kept.popleft()
                since = time.monotonic()

    def _send(self, parts: Sequence[bytes]) -> None:
        try:
            if self._kept:
                raise zmq.Again
            self._channel.send_now(parts, copy=len(parts[-1]) < _ZERO_COPY)
        except zmq.Again:
            self._kept.append(parts)

    def _publish_counts(self, now_ns: int) -> None:
        if self._counted_ns is None:
            self._counted_ns = now_ns
        elif now_ns - self._counted_ns >= COUNT_EVERY_NS:
            self._counted_ns = now_ns
            self.publish_json(topics.COUNTS, self._counts)

    def _header(self, topic: str, *, is_block: bool) -> bytes:
        sequence = self._counts.get(topic, 0)
        self._counts[topic] = sequence + 1
        return Header(self.session, sequence, self._replay, is_block).encode()


def new_session() -> str:
    """An id that no other session has."""
    return uuid4().hex[:12]


class Subscriber:
    """Reads telemetry in this process or any other, on this host or, over tcp, on any other.

    subscriptions   topics, or beginnings of topics that end in `/` (see `heft.daq.topics`)
    """

    def __init__(
        self,
        endpoint: str | Endpoint,
        subscriptions: Iterable[str] = ("",),
        *,
        high_water: int = HIGH_WATER,
        guard_s: float = 0.25,
        context: zmq.asyncio.Context | None = None,
        keyring: Keyring | None = None,
    ) -> None:
        self.endpoint = Endpoint.parse(endpoint)
        self.subscriptions = tuple(subscriptions)
        self._channel = Channel(
            "telemetry",
            zmq.SUB,
            guard_s=guard_s,
            options={zmq.RCVHWM: high_water},
            context=context,
            keyring=keyring,
        )
        self._descriptions = Descriptions()
        self._gaps = Gaps()

    async def __aenter__(self) -> Self:
        self._channel.connect(self.endpoint)
        for subscription in {*self.subscriptions, topics.COUNTS}:
            self._channel.subscribe(subscription)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._channel.close()

    @property
    def gaps(self) -> Mapping[str, int]:
        """Messages that were published since each topic was first heard of and never arrived, by topic."""
        return MappingProxyType(self._gaps.lost)

    @property
    def lost(self) -> int:
        """All of them."""
        return sum(self._gaps.lost.values())

    async def receive(self) -> Message:
        """The next message that was asked for, its `lost` filled in."""
        while True:
            parts = await self._channel.receive()
            try:
                message = decode(parts, self._descriptions)
            except BusError as exc:
                if not parts[0].startswith(topics.WORKERS.encode()):
                    raise
                _log.warning("%s", exc)  # some follower's word, which the session passes on unread
                continue
            if message.topic == topics.COUNTS:
                self._gaps.counted(message.session, self._wanted(message.json))
            if self._wants(message.topic):
                lost = self._gaps.arrived(message.session, message.topic, message.sequence)
                return replace(message, lost=lost) if lost else message

    async def __aiter__(self) -> AsyncIterator[Message]:
        """Messages, for ever; a publisher that has gone may come back."""
        while True:
            yield await self.receive()

    def _wanted(self, counts: Any) -> dict[str, int]:
        """Of a publisher's counts those of topics that are asked for; BusError where they are none."""
        if not isinstance(counts, dict) or not all(type(count) is int for count in counts.values()):
            raise BusError("a publisher's counts are no whole numbers by topic; is it Heft's endpoint?")
        return {topic: count for topic, count in counts.items() if self._wants(topic)}

    def _wants(self, topic: str) -> bool:
        return any(topics.matches(subscription, topic) for subscription in self.subscriptions)
