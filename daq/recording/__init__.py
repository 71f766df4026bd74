"""Reading recordings: named columns, Blocks, events and segments; whatever state the file is in."""

from __future__ import annotations

from daq.recording.columns import NO_TIME, Columns
from daq.recording.event import Event, Segment
from daq.recording.recording import Recording
from daq.recording.recovery import DamagedChunk, Recovery

__all__ = ["NO_TIME", "Columns", "DamagedChunk", "Event", "Recording", "Recovery", "Segment"]
