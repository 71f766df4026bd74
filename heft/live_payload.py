"""The service that weighs whatever the gripper picks up, while a session runs or a rig stands by."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from heft.daq import topics
from heft.daq.clock import HostClock
from heft.daq.mqtt import topics as mqtt_topics
from heft.daq.mqtt.inbox import IncomingEvent
from heft.daq.mqtt.link import Link
from heft.daq.record import Recorder
from heft.daq.session.sink import Sink
from heft.drivers.block import Block
from heft.drivers.stream import Stream
from heft.identify.payload.bare_hand.hand import Hand
from heft.identify.payload.output.document import SCHEMA, VERSION, Reporter
from heft.identify.payload.pickups.pickup import End, Pickup
from heft.identify.payload.pickups.signals import MQTT, Signal, SignalKind
from heft.identify.payload.weighing.recorded_streams import HAND_NOTE
from heft.payload_process import PayloadProcess

__all__ = ["PayloadService"]

_log = logging.getLogger("heft.payload")

_EARLIER_NS = 3_000_000_000  # that a pick-up's recording begins before it
_LATER_NS = 300_000_000


class Host(Protocol):
    """What the service asks of the session or the stand-by that it watches."""

    def publish(self, topic: str, facts: Mapping[str, Any]) -> None: ...


@dataclass
class _PickupRecording:
    """A recording of one pick-up in the making."""

    pickup: Pickup
    recorder: Recorder
    until_ns: int | None = None


@dataclass
class Tally:
    """The latest facts of each pick-up, by number; latencies from event to first estimate [s]."""

    payloads: dict[int, dict[str, Any]] = field(default_factory=dict)
    latencies: list[float] = field(default_factory=list)


class PayloadService(Sink):
    """Hands every block to a process that estimates, and reports pick-ups on the bus, by MQTT and to `tell`.

    Nothing that it hears by MQTT moves the arm: an event only says when to look at the weight. `on_update` gets each
    pick-up of which there is something new, the first time when its weight is confirmed and its recording begun;
    `on_hand` the bare hand, once it is known.
    """

    def __init__(
        self,
        process: PayloadProcess,
        reporter: Reporter,
        streams: Mapping[str, Stream],
        *,
        clock: HostClock,
        cell: str,
        out: Path,
        link: Link | None = None,
        tell: Callable[[dict[str, Any]], None] = lambda facts: None,
        on_update: Callable[[Pickup], None] = lambda pickup: None,
        on_hand: Callable[[Hand], None] = lambda hand: None,
        attachments: Mapping[str, bytes] | None = None,
    ) -> None:
        self._process, self._reporter, self._streams = process, reporter, streams
        self._clock, self._cell, self._out, self._link = clock, cell, out, link
        self._tell, self._on_update, self._attachments = tell, on_update, attachments or {}
        self._on_hand, self._hand_told = on_hand, False
        self.host: Host | None = None
        self.tally = Tally()
        self._blocks: deque[Block] = deque()
        self._signals: deque[Signal] = deque()
        self._earlier: deque[Block] = deque()
        self._work = asyncio.Event()
        self._over = False
        self._carried: Pickup | None = None
        self._ended: set[int] = set()  # pick-ups whose end was told: once, whatever is found out later
        self._recording: _PickupRecording | None = None
        self._free_ns = 0  # when the last pick-up's object was gone
        if link is not None:
            link.hear(mqtt_topics.gripper_event(cell), self._on_gripper_event)

    def block(self, block: Block) -> None:
        self._earlier.append(block)
        now_ns = int(block.host_ns[-1])
        while int(self._earlier[0].host_ns[-1]) < now_ns - _EARLIER_NS:
            self._earlier.popleft()
        if self._recording is not None:
            self._recording.recorder.block(block)
        if block.stream.name in self._process.wanted:
            self._blocks.append(block)
            self._work.set()

    def end(self) -> None:
        """Nothing more will come: `run` thinks about what has come, and returns. The bus is closed."""
        self._over, self.host = True, None
        self._work.set()

    async def run(self) -> None:
        """Until `end`; simulated time stands still while it estimates. A pick-up not ended by then is `unfinished`."""
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
                    news = await self._process.take(blocks, signals)
                    if self._process.hand is not None and not self._hand_told:
                        self._hand_told = True
                        self._on_hand(self._process.hand)
                    for pickup in news:
                        await self._update(pickup)
                    await self._end_recording()
        finally:
            if self._carried is not None:
                await self._update(
                    replace(self._carried, end=End.UNFINISHED, t_end=self._clock.now_ns() * 1e-9)
                )
            await self._end_recording(now=True)

    async def _update(self, pickup: Pickup) -> None:
        first = pickup.number not in self.tally.payloads
        ends = pickup.end is not None and pickup.number not in self._ended
        if ends:
            self._ended.add(pickup.number)
        facts = self._reporter.document(pickup, self._process.hand)
        if first and pickup.t_pick is not None:
            facts["latency_s"] = self._clock.now_ns() * 1e-9 - pickup.t_signal
            self.tally.latencies.append(facts["latency_s"])
        self.tally.payloads[pickup.number] = facts
        self._carried = pickup if pickup.end is None else None
        if self._recording is not None and self._recording.pickup.number == pickup.number:
            self._recording.pickup = pickup
        if self.host is not None:
            self.host.publish(topics.PAYLOAD, facts)
        if self._link is not None:
            self._link.state(mqtt_topics.payload(self._cell), facts)
            if ends or (first and pickup.end is None):
                event = "picked" if pickup.end is None else str(pickup.end)
                self._link.event(mqtt_topics.payload_event(self._cell), {**facts, "event": event})
        if ends or pickup.end is None:
            self._tell(facts)
        if first and pickup.end is None:
            await self._begin_recording(pickup)
        self._on_update(pickup)

    # -- a recording of each ------------------------------------------------------------------------------------------

    async def _begin_recording(self, pickup: Pickup) -> None:
        await self._end_recording(now=True)
        recorder = Recorder(self._out / f"pickup-{pickup.number:03d}.mcap", self._clock)
        await recorder.__aenter__()
        for name, data in self._attachments.items():
            recorder.attach(name, "application/octet-stream", data)
        for stream in self._streams.values():
            recorder.describe(stream)
        if self._process.hand is not None:
            recorder.note(HAND_NOTE, {"hand": self._process.hand.to_dict()})
        if pickup.source == MQTT:
            self._record_signal(recorder, pickup.t_signal, SignalKind.HELD)
        for block in self._earlier:
            if int(block.host_ns[0]) > self._free_ns:
                recorder.block(block)
        self._recording = _PickupRecording(pickup, recorder)

    def _record_signal(self, recorder: Recorder, time: float, kind: SignalKind) -> None:
        recorder.event("gripper_event", t_ns=round(time * 1e9), kind=str(kind))

    async def _end_recording(self, *, now: bool = False) -> None:
        recording = self._recording
        if recording is None or (recording.pickup.end is None and not now):
            return
        if recording.until_ns is None:
            recording.until_ns = self._clock.now_ns() + _LATER_NS
        if now or self._clock.now_ns() >= recording.until_ns:
            self._free_ns = round((recording.pickup.t_end or 0.0) * 1e9) + _LATER_NS // 2
            if recording.pickup.source == MQTT and recording.pickup.t_end is not None:
                self._record_signal(recording.recorder, recording.pickup.t_end, SignalKind.OPEN)
            recording.recorder.note(
                "payloads", {"payload": self._reporter.document(recording.pickup, self._process.hand)}
            )
            self._recording = None
            await recording.recorder.__aexit__(None, None, None)

    # -- what others say ----------------------------------------------------------------------------------------------

    def _on_gripper_event(self, event: IncomingEvent) -> None:
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
        host_s = self._clock.now_ns() * 1e-9 - event.age_s  # whatever has become of the clock that tells UTC
        target = event.facts.get("object")
        self._signals.append(Signal(host_s, kind, MQTT, None if target is None else str(target)))
