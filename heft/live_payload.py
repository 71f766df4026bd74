"""The service that weighs whatever the gripper picks up, while a session runs or a rig stands by."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from daq import topics
from daq.clock import HostClock
from daq.mqtt import topics as mqtt_topics
from daq.mqtt.inbox import IncomingEvent
from daq.mqtt.link import Link
from daq.record import Recorder
from daq.session.observer import Observer
from drivers.block import Block
from drivers.stream import Stream
from heft.thinker import Thinker
from identify.payload.events import MQTT, Signal, SignalKind
from identify.payload.pickups import End, Pickup
from identify.payload.report import SCHEMA, VERSION, Reporter
from identify.payload.source import HAND_NOTE

__all__ = ["PayloadService"]

_log = logging.getLogger("heft.payload")

_EARLIER_NS = 3_000_000_000  # that a pick-up's recording begins before it
_LATER_NS = 300_000_000


class Host(Protocol):
    """What the service asks of the session or the stand-by that it watches."""

    def publish(self, topic: str, facts: Mapping[str, Any]) -> None: ...


@dataclass
class _Keeping:
    """A recording of one pick-up in the making."""

    pickup: Pickup
    recorder: Recorder
    until_ns: int | None = None


@dataclass
class Tally:
    """What the service has told: last word on each pick-up, by number; latencies from event to first estimate [s]."""

    payloads: dict[int, dict[str, Any]] = field(default_factory=dict)
    latencies: list[float] = field(default_factory=list)


class PayloadService(Observer):
    """Takes every block, lets a process of its own think, and tells of pick-ups on the bus, by MQTT and to `tell`.

    Nothing that it hears by MQTT moves the arm: an event only says when to look at the weight. `on_news` gets each
    pick-up of which there is something new, the first time when its weight is confirmed and its recording begun.
    """

    def __init__(
        self,
        thinker: Thinker,
        reporter: Reporter,
        streams: Mapping[str, Stream],
        *,
        clock: HostClock,
        cell: str,
        out: Path,
        link: Link | None = None,
        tell: Callable[[dict[str, Any]], None] = lambda facts: None,
        on_news: Callable[[Pickup], None] = lambda pickup: None,
        attachments: Mapping[str, bytes] | None = None,
    ) -> None:
        self._thinker, self._reporter, self._streams = thinker, reporter, streams
        self._clock, self._cell, self._out, self._link = clock, cell, out, link
        self._tell, self._on_news, self._attachments = tell, on_news, attachments or {}
        self.host: Host | None = None
        self.tally = Tally()
        self._blocks: deque[Block] = deque()
        self._signals: deque[Signal] = deque()
        self._earlier: deque[Block] = deque()
        self._work = asyncio.Event()
        self._over = False
        self._carried: Pickup | None = None
        self._keeping: _Keeping | None = None
        self._free_ns = 0  # when the last pick-up's object was gone
        if link is not None:
            link.hear(mqtt_topics.gripper_event(cell), self._heard)

    def block(self, block: Block) -> None:
        self._earlier.append(block)
        now_ns = int(block.host_ns[-1])
        while int(self._earlier[0].host_ns[-1]) < now_ns - _EARLIER_NS:
            self._earlier.popleft()
        if self._keeping is not None:
            self._keeping.recorder.block(block)
        if block.stream.name in self._thinker.wanted:
            self._blocks.append(block)
            self._work.set()

    def end(self) -> None:
        """Nothing more will come: `run` thinks about what has come, and returns. The bus is closed."""
        self._over, self.host = True, None
        self._work.set()

    async def run(self) -> None:
        """Until `end`; simulated time stands still while it thinks. What is held then is told to be unfinished."""
        if self._link is not None:  # what the broker has kept is of another day
            waiting = {"schema": SCHEMA, "version": VERSION, "state": "waiting", "notes": []}
            self._link.state(mqtt_topics.payload(self._cell), waiting)
        try:
            while self._blocks or not self._over:
                await self._work.wait()
                self._work.clear()
                blocks, signals = tuple(self._blocks), tuple(self._signals)
                self._blocks.clear()
                self._signals.clear()
                with self._clock.hold():
                    for pickup in await self._thinker.take(blocks, signals):
                        await self._news(pickup)
                    await self._end_recording()
        finally:
            if self._carried is not None:
                await self._news(
                    replace(self._carried, end=End.UNFINISHED, t_end=self._clock.now_ns() * 1e-9)
                )
            await self._end_recording(now=True)

    async def _news(self, pickup: Pickup) -> None:
        first = pickup.number not in self.tally.payloads
        facts = self._reporter.told(pickup)
        if first and pickup.t_pick is not None:
            facts["latency_s"] = self._clock.now_ns() * 1e-9 - pickup.t_signal
            self.tally.latencies.append(facts["latency_s"])
        self.tally.payloads[pickup.number] = facts
        self._carried = pickup if pickup.end is None else None
        if self._keeping is not None and self._keeping.pickup.number == pickup.number:
            self._keeping.pickup = pickup
        if self.host is not None:
            self.host.publish(topics.PAYLOAD, facts)
        if self._link is not None:
            self._link.state(mqtt_topics.payload(self._cell), facts)
            if first or pickup.end is not None:
                event = "picked" if pickup.end is None else str(pickup.end)
                self._link.event(mqtt_topics.payload_event(self._cell), {**facts, "event": event})
        self._tell(facts)
        if first and pickup.end is None:
            await self._begin_recording(pickup)
        self._on_news(pickup)

    # -- a recording of each ------------------------------------------------------------------------------------------

    async def _begin_recording(self, pickup: Pickup) -> None:
        await self._end_recording(now=True)
        recorder = Recorder(self._out / f"pickup-{pickup.number:03d}.mcap", self._clock)
        await recorder.__aenter__()
        for name, data in self._attachments.items():
            recorder.attach(name, "application/octet-stream", data)
        for stream in self._streams.values():
            recorder.describe(stream)
        if self._thinker.hand is not None:
            recorder.note(HAND_NOTE, {"hand": self._thinker.hand.to_dict()})
        if pickup.source == MQTT:
            self._record_signal(recorder, pickup.t_signal, SignalKind.HELD)
        for block in self._earlier:
            if int(block.host_ns[0]) > self._free_ns:
                recorder.block(block)
        self._keeping = _Keeping(pickup, recorder)

    def _record_signal(self, recorder: Recorder, time: float, kind: SignalKind) -> None:
        recorder.event("gripper_event", t_ns=round(time * 1e9), kind=str(kind))

    async def _end_recording(self, *, now: bool = False) -> None:
        keeping = self._keeping
        if keeping is None or (keeping.pickup.end is None and not now):
            return
        if keeping.until_ns is None:
            keeping.until_ns = self._clock.now_ns() + _LATER_NS
        if now or self._clock.now_ns() >= keeping.until_ns:
            self._free_ns = round((keeping.pickup.t_end or 0.0) * 1e9) + _LATER_NS // 2
            if keeping.pickup.source == MQTT and keeping.pickup.t_end is not None:
                self._record_signal(keeping.recorder, keeping.pickup.t_end, SignalKind.OPEN)
            keeping.recorder.note("payloads", {"payload": self._reporter.told(keeping.pickup)})
            self._keeping = None
            await keeping.recorder.__aexit__(None, None, None)

    # -- what others say ----------------------------------------------------------------------------------------------

    def _heard(self, event: IncomingEvent) -> None:
        kinds = {"picked": SignalKind.HELD, "dropped": SignalKind.OPEN, "released": SignalKind.OPEN}
        kind = kinds.get(str(event.facts.get("event")))
        if kind is None:
            _log.warning(
                "%s: event %r is not known; one of %s",
                event.topic,
                event.facts.get("event"),
                ", ".join(kinds),
            )
            return
        host_s = event.ts - self._clock.utc_offset_ns * 1e-9
        target = event.facts.get("object")
        self._signals.append(Signal(host_s, kind, MQTT, None if target is None else str(target)))
