"""`heft payload --live`: a service that weighs whatever the gripper picks up."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import signal
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from daq import topics
from daq.bus.endpoint import Endpoints
from daq.clock import HostClock, RealClock, SimulatedClock
from daq.config.objects import load_objects
from daq.config.rig import RigConfig, load_rig
from daq.config.session import SessionConfig, load_session
from daq.errors import CheckError, ConfigError
from daq.motion.plan import limits_of
from daq.mqtt import topics as mqtt_topics
from daq.mqtt.inbox import IncomingEvent
from daq.mqtt.link import Link
from daq.mqtt.session_report import SessionReport
from daq.record import Recorder
from daq.session.observer import Observer
from daq.session.session import Session
from daq.session.standby import Standby
from daq.trajectory.wrist import wrist_excitation
from drivers.block import Block
from drivers.stream import Stream
from heft.arming import Arming
from heft.attachments import attachments_of
from heft.exit_codes import of_state
from heft.terminal.payloads import describe_payload
from heft.thinker import Thinker
from identify.payload.events import Signal, SignalKind
from identify.payload.pickups import Pickup
from identify.payload.prior import ObjectPrior
from identify.payload.recorded import HAND_NOTE, hand_of
from identify.payload.report import Reporter
from identify.payload.streams import PayloadStreams
from identify.payload.wrist import sensor_in_flange
from identify.robot import Robot

__all__ = ["PayloadService", "run_live"]

_log = logging.getLogger("heft.payload")

_EARLIER_NS = 3_000_000_000  # that a pick-up's recording begins before it
_LATER_NS = 300_000_000
_MOTION_HZ = 1000.0
_WRIST_MOTION = (
    "After each pick-up the last three joints move for 5 s, by at most 0.6 rad and at most 40 % of their velocity and "
    "acceleration limits, back to where they began."
)


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

    Nothing that it hears by MQTT moves the arm: an event only says when to look at the weight. `on_pickup` is called
    once for each, when the weight is confirmed.
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
        on_pickup: Callable[[], None] = lambda: None,
        attachments: Mapping[str, bytes] | None = None,
    ) -> None:
        self._thinker, self._reporter, self._streams = thinker, reporter, streams
        self._clock, self._cell, self._out, self._link = clock, cell, out, link
        self._tell, self._on_pickup, self._attachments = tell, on_pickup, attachments or {}
        self.host: Host | None = None
        self.tally = Tally()
        self._blocks: deque[Block] = deque()
        self._signals: deque[Signal] = deque()
        self._earlier: deque[Block] = deque()
        self._work = asyncio.Event()
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

    async def run(self) -> None:
        """Until cancelled; simulated time stands still while it thinks."""
        try:
            while True:
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
            await self._end_recording(now=True)

    async def _news(self, pickup: Pickup) -> None:
        first = pickup.number not in self.tally.payloads
        facts = self._reporter.told(pickup)
        if first and pickup.t_pick is not None:
            facts["latency_s"] = self._clock.now_ns() * 1e-9 - pickup.t_signal
            self.tally.latencies.append(facts["latency_s"])
        self.tally.payloads[pickup.number] = facts
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
            self._on_pickup()

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
        if pickup.source == "mqtt":
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
            if keeping.pickup.source == "mqtt" and keeping.pickup.t_end is not None:
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
        self._signals.append(Signal(host_s, kind, "mqtt", None if target is None else str(target)))


def run_live(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C, or until the session ends."""
    return asyncio.run(_serve(arguments))


async def _serve(arguments: argparse.Namespace) -> int:
    config, rig = _load(arguments.live)
    speed = arguments.speed
    if speed != 1.0 and not rig.simulated:
        raise ConfigError(f"{rig.path}: --speed {speed:g}: real and emulated devices run at speed 1 only")
    arming = Arming(rig, arguments.arm, moves=config is not None or arguments.arm is not None)
    clock: HostClock = SimulatedClock() if speed == float("inf") else RealClock(speed)
    out = arguments.out or Path("sessions") / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-payload"
    robot = Robot.from_config(rig.robot)
    hand = (
        None
        if arguments.bare is None
        else hand_of(arguments.bare, robot, find_gravity=arguments.find_gravity)
    )
    prior = ObjectPrior(dimensions=arguments.dimensions, density=arguments.density)
    library = load_objects(arguments.objects)

    def tell(facts: dict[str, Any]) -> None:
        sys.stderr.write(describe_payload(facts) + "\n")
        if arguments.json:
            sys.stdout.write(json.dumps(facts, allow_nan=False) + "\n")
            sys.stdout.flush()

    async with AsyncExitStack() as stack:
        thinker = await stack.enter_async_context(Thinker(robot))
        endpoints = stack.enter_context(Endpoints.private(telemetry=rig.telemetry))
        report = SessionReport(rig, rig.name if config is None else config.name)
        watched: list[Observer] = [report]
        host: Session | Standby
        if config is None:
            host = Standby(
                rig,
                clock=clock,
                telemetry=endpoints.telemetry,
                seed=arguments.seed,
                armed=arguments.arm is not None,
                observers=watched,
            )
            if host.armed:
                arming.announce(_WRIST_MOTION)
        else:
            host = Session(
                config,
                clock=clock,
                out=out,
                endpoints=endpoints,
                seed=arguments.seed,
                attachments=attachments_of(config),
                observers=watched,
                confirm=arming.confirm,
            )
        streams = {stream.name: stream for stream in host.streams}
        if PayloadStreams.find(streams, robot, str(rig.path)).gripper is None and rig.mqtt is None:
            raise ConfigError(
                f"{rig.path}: no stream says that the gripper holds something (`object.detected`), and there is no "
                "broker to hear of it: nothing would ever be weighed; add the gripper's device, or `mqtt:`"
            )
        link = None if rig.mqtt is None else Link(rig.mqtt, rig.cell, "payload", folder=rig.path.parent)
        await thinker.begin(streams, hand, prior)
        service = PayloadService(
            thinker,
            Reporter(sensor_in_flange(robot), origin=clock.now_ns() * 1e-9, library=library),
            streams,
            clock=clock,
            cell=rig.cell,
            out=out,
            link=link,
            tell=tell,
            on_pickup=_excite(host) if isinstance(host, Standby) and host.armed else lambda: None,
            attachments=attachments_of(config or rig),
        )
        service.host = host
        host.watch_too(service)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, host.stop, f"{number.name} received")
        await stack.enter_async_context(report)
        if link is not None:
            await stack.enter_async_context(link)
        thinking = asyncio.create_task(service.run(), name="payload service")
        try:
            end = await host.run()
        finally:
            thinking.cancel()
            await asyncio.gather(thinking, return_exceptions=True)
    if end.reason:
        sys.stderr.write(f"heft payload: {end.state}: {end.reason}\n")
    return of_state(end.state)


def _excite(standby: Standby) -> Callable[[], None]:
    """Plays a short wrist motion for a pick-up; one that may not be played is told and left out."""

    def play() -> None:
        asyncio.get_running_loop().create_task(_play(standby), name="wrist motion")

    return play


async def _play(standby: Standby) -> None:
    arm = standby.rig.actuators[0]
    here = np.asarray(await arm.position())
    limits = limits_of(standby.config.robot.joints)
    try:
        standby.play(wrist_excitation(limits, here, rate_hz=_MOTION_HZ))
    except CheckError as exc:
        sys.stderr.write(f"heft payload: the wrist motion may not be played from here: {exc}\n")


def _load(path: Path) -> tuple[SessionConfig | None, RigConfig]:
    """A session's file (it has `steps`), or a rig's."""
    if any(line.startswith("steps:") for line in path.read_text(encoding="utf-8").splitlines()):
        session = load_session(path)
        return session, session.rig
    return None, load_rig(path)
