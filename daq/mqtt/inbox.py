"""Which events are believed: fresh ones, each once, and none that a broker has kept.

A broker keeps a retained message and hands it to everyone who subscribes later; a "picked" that someone retained by
mistake would be obeyed again at every reconnect.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from heft.daq.bounded_json import bounded_json

__all__ = ["Inbox", "IncomingEvent"]

_REMEMBERED = 10_000  # event ids
_MOST_BYTES = 1 << 16  # of a message that is read
_LONGEST_ID = 200
_AHEAD_S = 5.0  # by which the sender's clock may be ahead


@dataclass(frozen=True, slots=True)
class IncomingEvent:
    """One event: who made it unique, when it happened (UTC [s]), and all that it says.

    age_s   how long ago that was when it arrived, by the clock of then [s]
    """

    topic: str
    event_id: str
    ts: float
    facts: Mapping[str, Any]
    age_s: float = 0.0


class Inbox:
    """Judges messages; `refused` counts what was not believed, by reason."""

    def __init__(self, age_s: float) -> None:
        self._age_s = age_s
        self._seen: OrderedDict[str, None] = OrderedDict()
        self.refused: Counter[str] = Counter()

    def judge(self, topic: str, payload: bytes, *, retained: bool, utc_s: float) -> IncomingEvent | str:
        """The event, or why it is not one: `retained`, `malformed`, `old`, `early`, `repeated`."""
        verdict = self._judge(topic, payload, retained, utc_s)
        if isinstance(verdict, str):
            self.refused[verdict] += 1
        return verdict

    def _judge(self, topic: str, payload: bytes, retained: bool, utc_s: float) -> IncomingEvent | str:
        if retained:
            return "retained"
        try:
            facts = bounded_json(payload, most=_MOST_BYTES)
            ts = _utc(facts["ts"])
            event = IncomingEvent(topic, _id(facts["event_id"]), ts, facts, utc_s - ts)
        except (ValueError, KeyError, TypeError, OverflowError):
            return "malformed"
        if utc_s - event.ts > self._age_s:
            return "old"
        if event.ts - utc_s > _AHEAD_S:
            return "early"
        if event.event_id in self._seen:
            return "repeated"
        self._seen[event.event_id] = None
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        return event


def _id(value: Any) -> str:
    """What makes an event unique: a text or a whole number, of reasonable length."""
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise TypeError("an event_id is a text")
    text = str(value)
    if not 0 < len(text) <= _LONGEST_ID:
        raise ValueError(f"an event_id of {len(text)} characters")
    return text


def _utc(ts: Any) -> float:
    """UTC [s] from a number, or from ISO 8601 with a zone."""
    if isinstance(ts, str):
        moment = datetime.fromisoformat(ts)
        if moment.tzinfo is None:
            raise ValueError(f"{ts}: a time without a zone")
        return moment.timestamp()
    if isinstance(ts, bool):
        raise TypeError("a truth value is no time")
    seconds = float(ts)
    if not math.isfinite(seconds):
        raise ValueError("no time")
    return seconds
