"""Reading recordings: named columns, Blocks, events and segments; whatever state the file is in."""

from __future__ import annotations

from heft.daq.recording.columns import NO_TIME, Columns
from heft.daq.recording.event import Event, Segment
from heft.daq.recording.recording import Recording
from heft.daq.recording.recovery import DamagedChunk, Recovery

__all__ = ["NO_TIME", "Columns", "DamagedChunk", "Event", "Recording", "Recovery", "Segment"]
