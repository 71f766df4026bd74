"""One program's link to the broker: it comes back by itself, and nothing ever waits for it.

    async with Link(rig.mqtt, rig.cell, "session") as link:
        link.state(topics.session(cell), {"state": "moving"})
        link.event(topics.payload_event(cell), {"event": "picked"})

While the broker is away, the last value of every state topic and all events wait here. An event leaves the queue
when the broker has confirmed it (QoS 1), so it may be delivered twice and is never lost: its `event_id` stays the
same. The client's id is stable and its session is kept by the broker, so events that come while this side is away
wait there.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import aiomqtt

from heft.daq.bounded_json import bounded_text
from heft.daq.clock import RealClock
from heft.daq.config.broker import BrokerConfig
from heft.daq.mqtt import topics
from heft.daq.mqtt.credentials import password_of, tls_of
from heft.daq.mqtt.inbox import Inbox, IncomingEvent
from heft.drivers.clock import Clock

__all__ = ["Link"]

_log = logging.getLogger("heft.mqtt")
_wire = logging.getLogger("heft.mqtt.wire")
_wire.setLevel(logging.CRITICAL)  # what goes wrong on the wire is told here, once

Handler = Callable[[IncomingEvent], None]


class Link:
    """The link of one `role` of a cell (`session`, `payload`). No method waits.

    `clock` is real time: a broker does not live in simulated time. `utc_s` tells UTC [s] as it is now, also after the
    clock of the host has been corrected.
    """

    FIRST_WAIT_NS = 250_000_000
    LONGEST_WAIT_NS = 15_000_000_000
    WAITING_EVENTS = 10_000
    WAITING_MESSAGES = 1000  # that have arrived and were not looked at yet
    TELL_NS = 10_000_000_000  # between two words about messages that are not believed
    GOODBYE_S = 1.0  # for what is left to be said
    CONNECT_S = 1.0  # a thread connects: nobody can interrupt it, and the program ends after it
    ANSWER_S = 5.0

    def __init__(
        self,
        config: BrokerConfig,
        cell: str,
        role: str,
        *,
        clock: Clock | None = None,
        utc_s: Callable[[], float] = time.time,
        folder: Path = Path(),
    ) -> None:
        self._config, self._cell, self._role = config, cell, role
        self._clock, self._utc_s = clock or RealClock(), utc_s
        self._password, self._tls = password_of(config, folder), tls_of(config, folder)
        self._online = topics.online(cell, role)
        self._handlers: dict[str, Handler] = {}
        self._inbox = Inbox(config.event_age_s)
        self._states: dict[str, bytes] = {}
        self._changed: dict[str, None] = {}  # state topics that the broker does not have yet, in order
        self._events: deque[tuple[str, bytes]] = deque()
        self._work = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._client: aiomqtt.Client | None = None
        self._settled = asyncio.Event()  # connected, or not: no attempt is under way
        self._away = False
        self._leaving = False
        self._told_ns: dict[str, int] = {}  # when each reason for a refusal was last told of
        self.lost_events = 0

    @property
    def connected(self) -> bool:
        """Is the broker there?"""
        return self._client is not None

    @property
    def waiting(self) -> int:
        """Events and states that the broker has not taken yet."""
        return len(self._events) + len(self._changed)

    @property
    def refused(self) -> Mapping[str, int]:
        """Incoming messages that were not believed, by reason."""
        return self._inbox.refused

    def hear(self, topic: str, handler: Handler) -> None:
        """Call `handler` for every event of a topic that is believed; before entering."""
        self._handlers[topic] = handler

    async def __aenter__(self) -> Self:
        self._states[self._online] = self._said({"schema": "heft.online", "online": True})
        self._task = asyncio.create_task(self._stay(), name=f"mqtt {self._role}")
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Say what is left to be said, if the broker listens, then goodbye; within `GOODBYE_S` and a little."""
        self._leaving = True
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.GOODBYE_S):
                    await self._settled.wait()
                    if self.connected:
                        self.state(self._online, {"schema": "heft.online", "online": False})
                        await self._all_said()
        finally:
            if self._task is not None:
                await _end(self._task, again_s=0.3)
        unsaid = len(self._events)
        if unsaid:
            self.lost_events += unsaid
            _log.warning("%s: %d events were never taken by the broker", self._where, unsaid)

    def state(self, topic: str, facts: Mapping[str, Any]) -> None:
        """The new value of a state topic: retained, the last one counts."""
        self._states[topic] = self._said(facts)
        self._changed[topic] = None
        self._work.set()

    def event(self, topic: str, facts: Mapping[str, Any]) -> str:
        """Something happened, once: never retained, QoS 1. Its `event_id`."""
        event_id = uuid.uuid4().hex
        if len(self._events) >= self.WAITING_EVENTS:
            self._events.popleft()
            self.lost_events += 1
        self._events.append((topic, self._said({**facts, "event_id": event_id})))
        self._work.set()
        return event_id

    def _said(self, facts: Mapping[str, Any]) -> bytes:
        return json.dumps({"ts": self._utc_s(), **facts}, allow_nan=False).encode()

    @property
    def _hint(self) -> str:
        return (
            ""
            if self._tls is None
            else "; check host, ca, certificate and key of mqtt.tls, and the broker's log"
        )

    @property
    def _where(self) -> str:
        return f"broker {self._config.host}:{self._config.port}"

    # -- the task -----------------------------------------------------------------------------------------------------

    async def _stay(self) -> None:
        """Connect, work, and when that ends, wait and begin again."""
        wait_ns = self.FIRST_WAIT_NS
        while not self._leaving:
            self._settled.clear()
            client = self._new_client()
            try:
                async with client:
                    if self._away:
                        _log.info("%s: is there again", self._where)
                    self._away, wait_ns = False, self.FIRST_WAIT_NS
                    await self._speak(client)
            except aiomqtt.MqttError as exc:
                if not self._away:
                    text = "%s: %s; going on without it, and trying again%s"
                    _log.warning(text, self._where, bounded_text(str(exc), 300), self._hint)
                self._away = True
            except Exception as exc:  # a link that has failed is made anew, whatever it was
                _log.error("%s: internal error: %r; connecting again", self._where, exc)
                self._away = True
            finally:
                self._client = None
                self._settled.set()
                _hang_up(client)
            await self._clock.sleep_until(self._clock.now_ns() + wait_ns)
            wait_ns = min(2 * wait_ns, self.LONGEST_WAIT_NS)

    def _new_client(self) -> aiomqtt.Client:
        gone = {"schema": "heft.online", "online": False, "ts": self._utc_s()}
        client = aiomqtt.Client(
            self._config.host,
            self._config.port,
            username=self._config.username,
            password=self._password,
            tls_context=self._tls,
            max_queued_incoming_messages=self.WAITING_MESSAGES,
            identifier=f"heft-{self._cell}-{self._role}",
            clean_session=False,
            will=aiomqtt.Will(self._online, json.dumps(gone), qos=1, retain=True),
            keepalive=self._config.keepalive_s,
            timeout=self.ANSWER_S,
            logger=_wire,
        )
        client._client.connect_timeout = self.CONNECT_S  # aiomqtt has no option for it
        return client

    async def _speak(self, client: aiomqtt.Client) -> None:
        for topic in self._handlers:
            await client.subscribe(topic, qos=1)
        self._changed = dict.fromkeys(self._states)  # whatever the broker had, it may have lost
        self._client = client
        self._settled.set()
        self._work.set()
        listener = asyncio.create_task(self._listen(client), name=f"mqtt {self._role} listener")
        sender = asyncio.create_task(self._send(client), name=f"mqtt {self._role} sender")
        try:
            done, _ = await asyncio.wait({listener, sender}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except aiomqtt.MqttError:
            raise
        except Exception:
            await self._say_offline(client)  # it leaves in order, so the broker would not tell the last will
            raise
        finally:
            await _end(listener, sender, again_s=0.05)

    async def _say_offline(self, client: aiomqtt.Client) -> None:
        said = self._said({"schema": "heft.online", "online": False})
        with suppress(aiomqtt.MqttError, TimeoutError):
            async with asyncio.timeout(self.GOODBYE_S):
                await client.publish(self._online, said, qos=1, retain=True)

    async def _listen(self, client: aiomqtt.Client) -> None:
        async for message in client.messages:
            payload = message.payload if isinstance(message.payload, bytes) else b""
            topic = str(message.topic)
            handler = self._handlers.get(topic)
            if handler is None:
                continue
            try:
                verdict = self._inbox.judge(topic, payload, retained=message.retain, utc_s=self._utc_s())
                if isinstance(verdict, str):
                    self._tell_refused(topic, verdict)
                else:
                    handler(verdict)
            except Exception as exc:  # one message, whatever is in it, silences nothing
                _log.error("%s: a message of %d bytes led to %r; ignored", topic, len(payload), exc)

    def _tell_refused(self, topic: str, why: str) -> None:
        """In the log, and with the retained state of being online; not for every message of a flood."""
        now_ns = self._clock.now_ns()
        if now_ns - self._told_ns.get(why, now_ns - self.TELL_NS) < self.TELL_NS:
            return
        self._told_ns[why] = now_ns
        if self._leaving:
            return
        hint = "; compare the clocks of both hosts" if why in ("old", "early") else ""
        _log.warning("%s: an event is not believed: %s (%d so far)%s", topic, why, self.refused[why], hint)
        self.state(self._online, {"schema": "heft.online", "online": True, "refused": dict(self.refused)})

    async def _send(self, client: aiomqtt.Client) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            while self._events or self._changed:
                if self._events:
                    event = self._events[0]
                    await client.publish(event[0], event[1], qos=1)
                    if self._events and self._events[0] is event:
                        self._events.popleft()
                    continue
                topic = next(iter(self._changed))
                del self._changed[topic]
                try:
                    await client.publish(topic, self._states[topic], qos=1, retain=True)
                except aiomqtt.MqttError:
                    self._changed[topic] = None
                    raise

    async def _all_said(self) -> None:
        while (self._events or self._changed) and self.connected:
            await self._clock.sleep_until(self._clock.now_ns() + 5_000_000)


def _hang_up(client: aiomqtt.Client) -> None:
    """Close the line where connecting was given up halfway: aiomqtt would leave it open."""
    wire = client._client
    if wire.socket() is not None:
        wire.on_disconnect = None
        wire.disconnect()


async def _end(*tasks: asyncio.Task[None], again_s: float) -> None:
    """Cancel tasks until they have ended.

    Once is not enough: `asyncio.wait_for`, through which all answers of the broker come, forgets a cancellation that
    arrives together with the answer (before Python 3.12), and the task goes on as if nothing had been asked of it.
    """
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=again_s)
    await asyncio.gather(*tasks, return_exceptions=True)  # what they raised has been heard
