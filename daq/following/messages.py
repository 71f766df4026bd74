"""What a session answers to those that follow it, and how it is encoded. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any, Self

from heft.daq.errors import BusError

__all__ = ["Ending", "RecordedBytes", "SessionInfo"]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a session ended: its final state, and why where that was early."""

    state: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """What to know before reading: all else is in the recording.

    session         id, as in telemetry
    name            of the recording, without suffix
    replay          the session is a recording that is played again
    utc_offset_ns   UTC minus host time [ns]
    """

    session: str
    name: str
    replay: bool
    utc_offset_ns: int

    def encode(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)

    @classmethod
    def decode(cls, payload: Mapping[str, Any]) -> Self:
        """Inverse of `encode`; BusError for anything else, and for names that would leave a follower's folder."""
        try:
            info = cls(
                session=str(payload["session"]),
                name=str(payload["name"]),
                replay=bool(payload["replay"]),
                utc_offset_ns=int(payload["utc_offset_ns"]),
            )
        except (KeyError, TypeError, ValueError) as exc:
            raise BusError(
                f"the session's description cannot be read ({exc!r}); is it another version?"
            ) from exc
        for text in (info.session, info.name):
            if not text or text == ".." or PurePath(text).name != text or "\0" in text:
                raise BusError(f"the session calls itself {text!r}, which is no name of a file; refused")
        return info


@dataclass(frozen=True, slots=True)
class RecordedBytes:
    """A byte range of the recording.

    data    bytes from the offset that was asked for; fewer than asked for where the file ends, or the answer would
            be too long
    size    of the recording so far [byte]; final when `ended` is set
    ended   how the session ended, None while it goes on
    """

    data: bytes
    size: int
    ended: Ending | None = None

    def encode(self) -> tuple[dict[str, Any], tuple[bytes, ...]]:
        """As a JSON object and one buffer."""
        ended = None if self.ended is None else asdict(self.ended)
        return {"size": self.size, "ended": ended}, (self.data,)

    @classmethod
    def decode(cls, payload: Mapping[str, Any], buffers: Sequence[bytes]) -> Self:
        """Inverse of `encode`; BusError for anything else."""
        try:
            (data,) = buffers
            ended = payload["ended"]
            ending = None if ended is None else Ending(str(ended["state"]), str(ended["reason"]))
            return cls(data, int(payload["size"]), ending)
        except (KeyError, TypeError, ValueError) as exc:
            raise BusError(f"the session's answer cannot be read ({exc!r}); is it another version?") from exc
