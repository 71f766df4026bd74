"""What pages are told: the newest of everything that the bus says, and the samples at full rate.

The hub is an observer of the bus like any other. It keeps a bounded amount whatever comes, and each page takes from it
what it needs when it can: one that stalls is told later how much it has missed, and delays nobody.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from heft.daq import topics
from heft.daq.bus.message import Message
from heft.daq.bus.telemetry import Subscriber
from heft.daq.errors import BusError
from heft.drivers.stream import Role, Stream
from heft.service.web.ring import StreamRing

__all__ = ["Hub"]

_log = logging.getLogger("heft.service")

_EVENTS = 200
_PAYLOADS = 50


class Pace:
    """Whether time passes in a stream as it does here: by marks of the last seconds."""

    EVERY_NS, MARKS = 500_000_000, 7

    def __init__(self) -> None:
        self._marks: deque[tuple[int, int]] = deque(maxlen=self.MARKS)

    def heard(self, now_ns: int, t_ns: int) -> None:
        """A sample of this time has come now [ns]."""
        if not self._marks or now_ns - self._marks[-1][0] >= self.EVERY_NS:
            self._marks.append((now_ns, t_ns))

    @property
    def real(self) -> bool:
        """Whether it does, within a tenth; False, too, while too little has been heard."""
        if len(self._marks) < 3:
            return False
        (begin_ns, first_ns), (end_ns, last_ns) = self._marks[0], self._marks[-1]
        return abs((last_ns - first_ns) / (end_ns - begin_ns) - 1) < 0.1 and abs(end_ns - last_ns) < 60e9


class Hub:
    """Listens at a telemetry endpoint while `run` runs.

    `latest` is the newest JSON value by kind (progress, clock, state, worker, payload...), with a number that grows;
    `hear` are called with every message, for further observers.
    """

    def __init__(self, endpoint: str, joints: Callable[[], list[str]]) -> None:
        self._endpoint, self._joints = endpoint, joints
        self.rings: dict[str, StreamRing] = {}
        self.latest: dict[str, tuple[int, Any]] = {}
        self.events: deque[tuple[int, Any]] = deque(maxlen=_EVENTS)
        self.number = 0
        self.lost = 0
        self._posture: tuple[str, list[int]] | None = None
        self.hear: list[Callable[[Message], None]] = []
        self._pace = Pace()
        self._utc_offset_ns = time.time_ns() - time.monotonic_ns()

    async def run(self) -> None:
        """For ever."""
        if not self._endpoint:
            await asyncio.Event().wait()
        async with Subscriber(self._endpoint, high_water=10_000) as subscriber:
            async for message in subscriber:
                try:
                    self._take(message)
                except (KeyError, ValueError, TypeError, IndexError, BusError) as exc:
                    _log.warning("a message under %s is not shown: %s", message.topic, exc)

    def put(self, kind: str, value: Any) -> None:
        """The newest of a kind; nothing where it is as before."""
        if self.latest.get(kind, (0, None))[1] != value:
            self.number += 1
            self.latest[kind] = self.number, value

    def _take(self, message: Message) -> None:
        self.lost += message.lost
        block = message.block
        if block is not None:
            ring = self.rings.get(block.stream.name)
            if ring is None or ring.stream != block.stream:
                ring = self.rings[block.stream.name] = StreamRing(block.stream)
                self._posture = None
                self.put("streams", self.streams())
            ring.add(block)
            if self._posture is not None and self._posture[0] == block.stream.name:
                self._pace.heard(time.monotonic_ns(), ring.last_ns)
        elif message.topic == topics.EVENT:
            self.number += 1
            self.events.append((self.number, message.json))
        elif message.topic.startswith(topics.WORKERS):
            kind = "worker" if message.topic.endswith("/progress") else "identified"
            self.put(kind, message.json)
        elif message.topic == topics.PAYLOAD:
            self._payload(message.json)
        else:
            self.put(message.topic, message.json)
            if message.replay and message.topic == topics.PROGRESS:
                self.put("replay", _time_line(message.json))
        for hear in self.hear:
            hear(message)

    def forget(self) -> None:
        """Something else begins: what was picked up and identified is of before."""
        self.put("payloads", [])
        self.put("identified", None)
        self.put("worker", None)

    def scene_changed(self) -> None:
        """Another arm may be drawn: its joints are looked for anew, and pages fetch it."""
        self._posture = None
        self.number += 1
        self.latest["scene"] = self.number, self.number

    def _payload(self, facts: Any) -> None:
        known = {one["number"]: one for one in self.latest.get("payloads", (0, []))[1]}
        known[facts["number"]] = facts
        self.put("payloads", list(known.values())[-_PAYLOADS:])

    def streams(self) -> dict[str, Any]:
        """Every stream with its columns, as plain JSON values."""
        return {name: _described(ring.stream) for name, ring in sorted(self.rings.items())}

    def posture(self) -> tuple[list[float] | None, int]:
        """Joint positions [rad] in the order of the drawn arm's joints, and their host time [ns]; None: not known."""
        joints = self._joints()
        if self._posture is None:
            self._posture = self._find(joints)
        if self._posture is None:
            return None, 0
        name, columns = self._posture
        ring = self.rings[name]
        values = ring.latest[columns]
        if not np.isfinite(values).all():
            return None, ring.last_ns
        return [round(float(v), 5) for v in values], ring.last_ns

    def utc_ms(self, t_ns: int) -> float | None:
        """UTC of a host time [ms]; None where the clock of what is shown is another: it is replayed, or slowed."""
        return (t_ns + self._utc_offset_ns) * 1e-6 if self._pace.real else None

    def _find(self, joints: list[str]) -> tuple[str, list[int]] | None:
        """The stream that tells where the joints are, and its columns."""
        wanted = [f"{joint}.position" for joint in joints]
        if not wanted:
            return None
        for role in (Role.MEASURED, Role.PLAYED, Role.SENT):
            for name, ring in sorted(self.rings.items()):
                columns = [column.name for column in ring.stream.columns]
                if ring.stream.role is role and set(wanted) <= set(columns):
                    return name, [columns.index(one) for one in wanted]
        return None


def _described(stream: Stream) -> dict[str, Any]:
    return {
        "rate_hz": stream.rate_hz,
        "role": str(stream.role),
        "columns": [
            {"name": c.name, "quantity": str(c.quantity), "unit": str(c.unit)} for c in stream.columns
        ],
    }


def _time_line(progress: dict[str, Any]) -> dict[str, Any]:
    """Where a replay stands [s]."""
    return {
        "seconds": progress["seconds_done"],
        "duration": progress["seconds_total"],
        "paused": str(progress["state"]).startswith("paused"),
    }
