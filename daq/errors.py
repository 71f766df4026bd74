"""What can go wrong in a session, and how it reads.

    HeftError
    +-- ConfigError (ValueError)     a configuration file: file, key, value, remedy
    +-- CheckError (ValueError)      a trajectory that may not be played: joint, time, value, bound
    +-- SafetyStop                   motion was stopped: what was watched, value, bound
    +-- RecordError (OSError)        the recorder cannot keep up or cannot write
    +-- RecordingError (ValueError)  a file that is not a usable recording
    +-- ImportFileError (ValueError) a file of another tool that cannot be imported
    +-- BusError (OSError)           an endpoint that cannot or may not be used, a peer that does not answer
        +-- RemoteError              a peer that answers with an error of its own
        +-- UnreadableAnswer         a peer that answers with something else than an answer
        +-- NotAuthorised            a peer that does not let this one in, or is not the one that is trusted

The root and the device errors are in `heft.drivers.errors`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heft.drivers.errors import HeftError

__all__ = [
    "BusError",
    "CheckError",
    "ConfigError",
    "HeftError",
    "ImportFileError",
    "NotAuthorised",
    "RecordError",
    "RecordingError",
    "RemoteError",
    "SafetyStop",
    "UnreadableAnswer",
    "Violation",
]


class ConfigError(HeftError, ValueError):
    """A configuration that cannot be used."""


@dataclass(frozen=True, slots=True)
class Violation:
    """Where a trajectory leaves a bound the most, in SI units; `time_s` counts from its start."""

    joint: str
    quantity: str
    time_s: float
    value: float
    bound: float


class CheckError(HeftError, ValueError):
    """A trajectory that may not be played; `violations` are the bounds that it leaves, where that is why."""

    def __init__(self, message: str, violations: Sequence[Violation] = ()) -> None:
        self.violations = tuple(violations)
        super().__init__(message)


class SafetyStop(HeftError):
    """Motion was stopped because something that is watched left its bounds."""


class RecordError(HeftError, OSError):
    """The recorder cannot keep up or cannot write."""


class RecordingError(HeftError, ValueError):
    """A file that is not a usable recording."""


class ImportFileError(HeftError, ValueError):
    """A file of another tool that cannot be imported."""


class BusError(HeftError, OSError):
    """An endpoint that cannot or may not be used, or a peer that does not answer."""


class RemoteError(BusError):
    """The session refused a command: `kind` is the name of the error that it raised, `text` what it said."""

    def __init__(self, command: str, kind: str, text: str) -> None:
        self.command, self.kind, self.text = command, kind, text
        super().__init__(f"{command}: {text}")


class UnreadableAnswer(BusError):
    """A peer answers with something else than an answer: another program, another version, or one who means ill."""


class NotAuthorised(BusError):
    """A peer does not let this one in, or has not the key that it is known by."""
