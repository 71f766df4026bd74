"""Recording a session into one MCAP file; reading it is `daq.recording`, the layout `docs/file-format.md`."""

from __future__ import annotations

from daq.record.recorder import Recorder
from daq.record.writer import Writer

__all__ = ["Recorder", "Writer"]
