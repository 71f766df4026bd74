"""What an archive answers, and its bytes: a session's description, and what a follower lacks. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from daq.errors import BusError
from drivers.stream import Stream

__all__ = ["Attachment", "Delivery", "Description", "Ending"]


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that travels with the session."""

    name: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Ending:
    """How a session ended: its final state, and why where that was early."""

    state: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Description:
    """A session as its archive tells it; `session` is its id and `name` its recording's, without a suffix."""

    session: str
    name: str
    replay: bool
    utc_offset_ns: int
    streams: tuple[Stream, ...]
    attachments: tuple[Attachment, ...] = ()

    def encode(self) -> tuple[dict[str, Any], tuple[bytes, ...]]:
        """As a JSON object and one buffer per attachment."""
        payload = {
            "session": self.session,
            "name": self.name,
            "replay": self.replay,
            "utc_offset_ns": self.utc_offset_ns,
            "streams": [stream.to_dict() for stream in self.streams],
            "attachments": [[a.name, a.media_type] for a in self.attachments],
        }
        return payload, tuple(a.data for a in self.attachments)

    @classmethod
    def decode(cls, payload: Mapping[str, Any], buffers: Sequence[bytes]) -> Self:
        """Inverse of `encode`; BusError for anything else."""
        try:
            files = zip(payload["attachments"], buffers, strict=True)
            return cls(
                session=str(payload["session"]),
                name=str(payload["name"]),
                replay=bool(payload["replay"]),
                utc_offset_ns=int(payload["utc_offset_ns"]),
                streams=tuple(Stream.from_dict(stream) for stream in payload["streams"]),
                attachments=tuple(Attachment(str(name), str(kind), data) for (name, kind), data in files),
            )
        except (KeyError, TypeError, ValueError) as exc:
            raise BusError(
                f"the archive's description cannot be read ({exc!r}); is it another version?"
            ) from exc


@dataclass(frozen=True, slots=True)
class Delivery:
    """What an archive answers to a follower who says what it has.

    counts   Blocks of each stream so far
    blocks   of each stream that something was missing of: Blocks that follow, one after the other
    events   JSON texts that follow, and how many there are so far
    notes    the recording's metadata; complete when the session has ended
    ended    how, or None while it goes on
    """

    counts: Mapping[str, int]
    blocks: Mapping[str, bytes] = field(default_factory=dict)
    events: tuple[str, ...] = ()
    event_count: int = 0
    notes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    ended: Ending | None = None

    def encode(self) -> tuple[dict[str, Any], tuple[bytes, ...]]:
        """As a JSON object and one buffer per stream in `blocks`."""
        ended = None if self.ended is None else {"state": self.ended.state, "reason": self.ended.reason}
        payload = {
            "counts": dict(self.counts),
            "streams": list(self.blocks),
            "events": list(self.events),
            "event_count": self.event_count,
            "notes": {name: dict(note) for name, note in self.notes.items()},
            "ended": ended,
        }
        return payload, tuple(self.blocks.values())

    @classmethod
    def decode(cls, payload: Mapping[str, Any], buffers: Sequence[bytes]) -> Self:
        """Inverse of `encode`; BusError for anything else."""
        try:
            ended = payload["ended"]
            return cls(
                counts={str(name): int(count) for name, count in payload["counts"].items()},
                blocks=dict(zip(payload["streams"], buffers, strict=True)),
                events=tuple(payload["events"]),
                event_count=int(payload["event_count"]),
                notes=payload["notes"],
                ended=None if ended is None else Ending(ended["state"], ended["reason"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as exc:
            raise BusError(f"the archive's answer cannot be read ({exc!r}); is it another version?") from exc
