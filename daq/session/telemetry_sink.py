"""Telemetry as a sink: everything for whoever subscribes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heft.daq import topics
from heft.daq.bus.telemetry import Publisher
from heft.daq.session.sink import Sink
from heft.drivers.block import Block

__all__ = ["TelemetrySink"]


class TelemetrySink(Sink):
    """Publishes blocks, events, states, progress and clock fits."""

    required = True

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher

    def block(self, block: Block) -> None:
        self._publisher.publish(block)

    def event(self, name: str, t_ns: int, facts: Mapping[str, Any]) -> None:
        self._publisher.publish_json(topics.EVENT, {"t_ns": t_ns, "name": name, **facts})

    def state(self, state: str, reason: str) -> None:
        self._publisher.publish_json(topics.STATE, {"state": state, "reason": reason})

    def progress(self, snapshot: dict[str, Any]) -> None:
        self._publisher.publish_json(topics.PROGRESS, snapshot)

    def clocks(self, fits: dict[str, dict[str, Any]]) -> None:
        self._publisher.publish_json(topics.CLOCK, fits)
