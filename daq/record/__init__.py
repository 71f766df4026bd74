"""Recording a session into one MCAP file; reading it is `heft.daq.recording`, the layout `docs/file-format.md`."""

from __future__ import annotations

from heft.daq.record.recorder import Recorder
from heft.daq.record.transforms import LinkFrames
from heft.daq.record.viewer import Viewer
from heft.daq.record.writer import Writer

__all__ = ["LinkFrames", "Recorder", "Viewer", "Writer"]
