"""What happened during a session, and the segments that events mark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from heft.daq.bounded_json import bounded_json
from heft.daq.errors import RecordingError
from heft.daq.record import layout

__all__ = ["Event", "Segment", "segments"]

MOST_BYTES = 1 << 20  # of an event


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at host time `t_ns` [ns]; `facts` are all its other entries."""

    t_ns: int
    name: str
    facts: Mapping[str, Any]

    @classmethod
    def from_json(cls, data: bytes) -> Event:
        try:
            facts = bounded_json(data, most=MOST_BYTES)
            return cls(int(facts.pop("t_ns")), str(facts.pop("name")), facts)
        except (ValueError, KeyError, TypeError, AttributeError) as exc:
            raise RecordingError(f"an event of the recording cannot be read: {data[:80]!r}") from exc


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a session with a purpose (`use`: identification, validation, payload, ...), host time [ns].

    `finished` is False where the recording ends before the segment; `end_ns` is then the recording's end.
    """

    name: str
    use: str
    start_ns: int
    end_ns: int
    finished: bool = True


def segments(events: Iterable[Event], end_ns: int) -> tuple[Segment, ...]:
    """Segments in the order of their starts; those without an end last until `end_ns`."""
    open_: dict[str, Event] = {}
    found: list[Segment] = []
    for event in events:
        name = str(event.facts.get("segment", ""))
        if event.name == layout.SEGMENT_START:
            open_[name] = event
        elif event.name == layout.SEGMENT_END and name in open_:
            start = open_.pop(name)
            found.append(Segment(name, str(start.facts.get("use", "")), start.t_ns, event.t_ns))
    for name, start in open_.items():
        use = str(start.facts.get("use", ""))
        found.append(Segment(name, use, start.t_ns, max(start.t_ns, end_ns), finished=False))
    return tuple(sorted(found, key=lambda segment: segment.start_ns))
