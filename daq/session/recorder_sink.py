"""The recorder as a sink of a session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heft.daq.record import Recorder
from heft.daq.session.sink import Sink
from heft.drivers.block import Block

__all__ = ["RecorderSink"]


class RecorderSink(Sink):
    """Records blocks and events."""

    required = True

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def block(self, block: Block) -> None:
        self._recorder.block(block)

    def event(self, name: str, t_ns: int, facts: Mapping[str, Any]) -> None:
        self._recorder.event(name, t_ns=t_ns, **facts)
