"""What a recording tells beside the arm's parameters: which arm, when, what was lost, clocks, tracking errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
import yaml

from heft.daq.errors import RecordingError
from heft.daq.recording import Recording
from heft.drivers.stream import Role
from heft.identify.result.report.acquisition import Acquisition

__all__ = ["RIG_FILE", "SessionFacts"]

#: Attachment that names the arm: the rig's file, as `heft run` attaches it.
RIG_FILE = "configuration/rig.yaml"
#: The name of a cell that nobody has named (`heft.daq.config.rig`).
UNNAMED = "cell"
#: A setpoint counts where the joint was measured within so much of its instant [ns].
NEAR_NS = 10_000_000
#: Times that are no dates are not known [s]: a millennium from 1970.
MOST_S = 3e10


@dataclass(frozen=True)
class SessionFacts:
    """Of one recording.

    arm        the rig's cell, or the rig's name; empty where no rig's file is inside
    utc_s      when it began [s]; NaN where nobody knows
    loss       share of each stream's samples that were lost, and its standard deviation as that of a count
    skew_ppm   rate of each device's clock against the host's, minus one [ppm]
    tracking   rms of setpoint minus position by joint [rad, m]
    """

    arm: str
    utc_s: float
    loss: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    skew_ppm: Mapping[str, float] = field(default_factory=dict)
    tracking: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, recording: Recording, *, brief: bool = False) -> SessionFacts:
        """Read them; `brief`: arm and time alone."""
        arm, utc_s = _arm(recording), _began(recording)
        if brief:
            return cls(arm, utc_s)
        account = Acquisition.of(recording)
        losses = {}
        for stream in account.streams:
            if stream.expected:
                lost = float(stream.lost or 0)
                losses[stream.stream] = (lost / stream.expected, float(np.sqrt(lost + 1.0)) / stream.expected)
        skews = {clock.device: clock.skew_ppm for clock in account.clocks}
        return cls(arm, utc_s, losses, skews, _tracking(recording))

    @classmethod
    def of_kept(cls, facts: Mapping[str, Any]) -> SessionFacts:
        """Arm and time as they were written beside kept triangles (`heft.identify.fleet.triangles`)."""
        arm, utc_s = facts.get("arm"), facts.get("utc_s")
        return cls(
            arm if isinstance(arm, str) else "",
            float(utc_s) if isinstance(utc_s, float | int) and abs(utc_s) < MOST_S else float("nan"),
        )

    @property
    def night(self) -> str:
        """The night it belongs to, from noon to noon UTC, as a date; empty where the time is not known."""
        if not np.isfinite(self.utc_s):
            return ""
        return f"{datetime.fromtimestamp(self.utc_s - 43_200, UTC):%Y-%m-%d}"


def _arm(recording: Recording) -> str:
    if RIG_FILE not in recording.attachments:
        return ""
    try:
        rig = yaml.safe_load(recording.attachment(RIG_FILE))
    except (yaml.YAMLError, RecordingError, ValueError, RecursionError):
        return ""
    if not isinstance(rig, dict):
        return ""
    cell = rig.get("cell", UNNAMED)
    name = rig.get("name", "") if cell == UNNAMED else cell
    return str(name) if isinstance(name, str | int | float) else ""


def _began(recording: Recording) -> float:
    try:
        began_s = (recording.utc_offset_ns + recording.span_ns[0]) * 1e-9
    except RecordingError:
        return float("nan")
    return began_s if abs(began_s) < MOST_S else float("nan")


def _tracking(recording: Recording) -> dict[str, float]:
    """Of every joint whose setpoints and positions were recorded."""
    found: dict[str, float] = {}
    positions = {
        column.name: name
        for name, stream in recording.streams.items()
        if stream.role is Role.MEASURED
        for column in stream.columns
        if column.quantity == "position"
    }
    for name, stream in recording.streams.items():
        wanted = [c.name for c in stream.columns if c.quantity == "position" and c.name in positions]
        if stream.role is not Role.SENT or not wanted:
            continue
        sent = recording.columns(name)
        for measured in sorted({positions[key] for key in wanted}):
            seen = recording.columns(measured)
            if len(seen.host_ns) < 2 or not len(sent.host_ns):
                continue
            after = np.clip(np.searchsorted(seen.host_ns, sent.host_ns), 1, len(seen.host_ns) - 1)
            near = np.diff(seen.host_ns)[after - 1] <= NEAR_NS
            inside = (sent.host_ns >= seen.host_ns[0]) & (sent.host_ns <= seen.host_ns[-1]) & near
            for key in wanted:
                if positions[key] == measured and inside.any():
                    at = np.interp(sent.host_ns[inside], seen.host_ns, seen[key])
                    error = sent[key][inside] - at
                    error = error[np.isfinite(error)]
                    if len(error):
                        found[key.removesuffix(".position")] = float(np.sqrt((error**2).mean()))
    return found
