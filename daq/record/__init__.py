"""Recording a session into one MCAP file; reading it is `heft.daq.recording`, the layout `docs/file-format.md`."""

from __future__ import annotations

from heft.daq.record.recorder import Recorder
from heft.daq.record.writer import Writer

__all__ = ["Recorder", "Writer"]
