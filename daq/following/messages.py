"""What a session answers to those that follow it, and how it is encoded. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any, Self

from heft.daq.bounded_json import bounded_text
from heft.daq.errors import UnreadableAnswer

__all__ = ["Ending", "RecordedBytes", "SessionInfo"]

_SESSION = re.compile(r"[A-Za-z0-9_-]{1,64}")  # names a folder of the worker's
_LONGEST_NAME = 200  # [byte], so that `NAME.mcap.partial` is a name as well
_LONGEST_REASON = 2000


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
        """Inverse of `encode`; UnreadableAnswer for anything else, also for names that leave a follower's folder."""
        try:
            info = cls(
                session=str(payload["session"]),
                name=str(payload["name"]),
                replay=bool(payload["replay"]),
                utc_offset_ns=_whole(payload["utc_offset_ns"]),
            )
        except (KeyError, TypeError, ValueError) as exc:
            raise UnreadableAnswer(
                f"the session's description cannot be read ({exc!r}); is it another version?"
            ) from exc
        if not _SESSION.fullmatch(info.session) or not _is_file_name(info.name):
            raise UnreadableAnswer(
                f"the session calls itself {bounded_text(info.session, 80)!r} and its recording "
                f"{bounded_text(info.name, 80)!r}, which is no name of a file; refused"
            )
        return info


def _line(text: Any) -> str:
    """A word of the session's, fit to be shown."""
    return bounded_text(str(text), _LONGEST_REASON)


def _whole(value: Any) -> int:
    """A time [ns] that a file can hold."""
    if type(value) is not int or not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"{value!r:.40} is no time")
    return value


def _is_file_name(text: str) -> bool:
    """Whether it can be the beginning of a file's name, in the folder that it is meant for."""
    inside = PurePath(text).name == text and not text.startswith(".")
    return inside and text.isprintable() and 0 < len(text.encode(errors="replace")) <= _LONGEST_NAME


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
        """Inverse of `encode`; UnreadableAnswer for anything else."""
        try:
            (data,) = buffers
            ended, size = payload["ended"], payload["size"]
            if type(size) is not int or not 0 <= size < 1 << 63:
                raise ValueError(f"size is {size!r:.40}")
            ending = None if ended is None else Ending(*(_line(ended[key]) for key in ("state", "reason")))
            return cls(data, size, ending)
        except (KeyError, TypeError, ValueError) as exc:
            raise UnreadableAnswer(
                f"the session's answer cannot be read ({exc!r}); is it another version?"
            ) from exc
