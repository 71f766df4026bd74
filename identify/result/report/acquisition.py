"""How a recording was made: when, what was lost, how the clocks went, what broke."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from heft.daq.errors import RecordingError
from heft.daq.recording import Recording, Segment
from heft.daq.stamps import ClockFit

__all__ = ["Acquisition", "Clock", "StreamAccount"]


@dataclass(frozen=True)
class StreamAccount:
    """Samples of one stream; None where the session left no account of it."""

    stream: str
    recorded: int
    expected: int | None = None
    lost: int | None = None
    gaps: int | None = None
    invalid: int | None = None
    rate_hz: float | None = None


@dataclass(frozen=True)
class Clock:
    """A device's clock against the host's: rate [ppm], jitter and bend of arrivals [us], jumps [us]."""

    device: str
    skew_ppm: float
    jitter_us: float
    bend_us: float
    jumps_us: tuple[float, ...]


@dataclass(frozen=True)
class Acquisition:
    """One recording. `trouble` are lines about what was wrong with it; `started` is UTC, or empty if unknown."""

    name: str
    started: str
    duration_s: float
    segments: tuple[Segment, ...]
    streams: tuple[StreamAccount, ...]
    clocks: tuple[Clock, ...]
    trouble: tuple[str, ...]

    @property
    def lost(self) -> int:
        """Samples lost in all."""
        return sum(stream.lost or 0 for stream in self.streams)

    @classmethod
    def of(cls, recording: Recording) -> Acquisition:
        """Read the notes of a recording; those that are missing leave blanks."""
        losses, trouble = _table(recording, "losses"), []
        if recording.complete:  # what its recorder counted; to check every chunk would take long
            samples = {name: said["samples"] for name, said in _table(recording, "heft.streams").items()}
        else:
            samples = dict(recording.recovery.samples)
            trouble += str(recording.recovery).splitlines()
        for device, counters in _table(recording, "counters").items():
            counted = {k: v for k, v in counters.items() if v and k not in ("received", "lost")}
            if counted:
                trouble.append(f"{device}: {', '.join(f'{v} {k}' for k, v in counted.items())} on its line")
        refused = _table(recording, "heft.refused")
        if refused:
            trouble.append(
                "the recorder could not take all: " + ", ".join(f"{v} of {k}" for k, v in refused.items())
            )
        for event in recording.events:
            if event.name == "state" and event.facts.get("state") in ("aborted", "failed"):
                trouble.append(f"the session {event.facts['state']}: {event.facts.get('reason', '')}")
        return cls(
            name=recording.path.name,
            started=_started(recording),
            duration_s=recording.duration_s,
            segments=recording.segments,
            streams=tuple(
                _account(name, samples.get(name, 0), losses.get(name, {})) for name in recording.streams
            ),
            clocks=tuple(_clock(device, fit) for device, fit in _table(recording, "clock_fits").items()),
            trouble=tuple(trouble),
        )


def _table(recording: Recording, note: str) -> dict[str, Any]:
    """A note whose values are JSON; empty where it is missing or cannot be read."""
    try:
        return {key: json.loads(text) for key, text in recording.metadata.get(note, {}).items()}
    except json.JSONDecodeError:
        return {}


def _account(stream: str, recorded: int, said: Mapping[str, Any]) -> StreamAccount:
    return StreamAccount(
        stream,
        recorded,
        *(said.get(name) for name in ("expected", "lost", "gaps", "invalid", "rate_hz")),
    )


def _clock(device: str, said: Mapping[str, Any]) -> Clock:
    fit = ClockFit.from_dict(dict(said))
    return Clock(
        device,
        fit.skew_ppm,
        fit.main.residual_rms_ns / 1e3,
        fit.main.bend_ns / 1e3,
        tuple(jump / 1e3 for jump in fit.jumps_ns),
    )


def _started(recording: Recording) -> str:
    """When the first event was, or empty where nobody knows."""
    try:
        start_ns = recording.utc_offset_ns + recording.events[0].t_ns
    except (RecordingError, IndexError):
        return ""
    return f"{datetime.fromtimestamp(start_ns * 1e-9, UTC):%Y-%m-%d %H:%M} UTC"
