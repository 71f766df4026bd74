"""How a replay stands, in the form of a session's progress."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from heft.daq.record import layout
from heft.daq.record.codec import HEADER

__all__ = ["ReplayProgress"]


class ReplayProgress:
    """Counts what has been played since the last jump, by the devices' own sequence numbers."""

    def __init__(self, streams: Iterable[str], start_ns: int, end_ns: int) -> None:
        self._streams = tuple(streams)
        self._start_ns, self._end_ns = start_ns, end_ns
        self._state, self._step = "", ""
        self._first: dict[str, tuple[int, int]] = {}  # sequence number and host time [ns] of the first sample
        self._last: dict[str, tuple[int, int]] = {}  # sequence number after, and host time of, the last one
        self._received: dict[str, int] = {}

    def jump(self, events: Iterable[bytes]) -> None:
        """Begin to count anew: what comes next follows these events, not what was played before."""
        self._state, self._step = "", ""
        for text in events:
            self.event(text)
        self._first.clear()
        self._last.clear()
        self._received.clear()

    def block(self, stream: str, data: bytes) -> None:
        """A Block that was played."""
        _, _, _, n, _, sequence, _, _ = HEADER.unpack_from(data)
        host_ns = np.frombuffer(data, "<i8", n, HEADER.size)
        if stream not in self._first:
            self._first[stream] = sequence, int(host_ns[0])
            self._last[stream] = sequence, 0
        after = max(self._last[stream][0], sequence + len(host_ns))
        self._last[stream] = after, int(host_ns[-1])
        self._received[stream] = self._received.get(stream, 0) + len(host_ns)

    def event(self, text: bytes) -> dict[str, Any]:
        """An event that was played."""
        event: dict[str, Any] = json.loads(text)
        match event["name"]:
            case "state":
                self._state = event["state"]
            case layout.SEGMENT_START:
                self._step = event["segment"]
        return event

    def snapshot(self, now_ns: int, *, paused: bool, looping: bool) -> dict[str, Any]:
        """As plain JSON values, like a session's; tracking is not watched here."""
        state = "paused" if paused else f"replay {self._state}".strip()
        return {
            "t_ns": now_ns,
            "state": f"{state}, looping" if looping else state,
            "step": self._step,
            "seconds_done": (now_ns - self._start_ns) * 1e-9,
            "seconds_total": (self._end_ns - self._start_ns) * 1e-9,
            "tracking_error": None,
            "streams": {name: self._account(name) for name in self._streams},
        }

    def _account(self, stream: str) -> dict[str, Any]:
        if stream not in self._first:
            return {"rate_hz": 0.0, "received": 0, "lost": 0}
        (first, first_ns), (after, last_ns) = self._first[stream], self._last[stream]
        received, span_s = self._received[stream], (last_ns - first_ns) * 1e-9
        rate = (received - 1) / span_s if span_s > 0 else 0.0
        return {"rate_hz": rate, "received": received, "lost": after - first - received}
