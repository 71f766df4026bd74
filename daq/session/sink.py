"""Sinks: whoever is handed what an acquisition takes in. The recorder, telemetry, a broker, a service: one list."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from heft.drivers.block import Block

__all__ = ["Sink", "Sinks"]

_log = logging.getLogger("heft.session")


class Sink:
    """Is handed everything in the acquisition's own process, and must not wait. Methods not overridden do nothing."""

    #: A failure of a required sink ends the acquisition; any other sink that fails is removed from the list.
    required = False

    def block(self, block: Block) -> None:
        """A block has been judged by the watch and counted."""

    def event(self, name: str, t_ns: int, facts: Mapping[str, Any]) -> None:
        """Something happened at host time `t_ns` [ns]."""

    def state(self, state: str, reason: str) -> None:
        """A state has been entered."""

    def progress(self, snapshot: dict[str, Any]) -> None:
        """Where the acquisition stands (`Progress.snapshot`), five times a second."""

    def clocks(self, fits: dict[str, dict[str, Any]]) -> None:
        """Fits of device time to host time by device, once a second."""


class Sinks:
    """The list of an acquisition's sinks, served in order; one that fails does not keep the next from its turn.

    blame   is called with what a required sink has raised
    """

    def __init__(self, sinks: Sequence[Sink], blame: Callable[[Exception], None]) -> None:
        self._sinks = list(sinks)
        self._blame = blame

    def add(self, sink: Sink) -> None:
        """Append one more."""
        self._sinks.append(sink)

    def block(self, block: Block) -> None:
        self._each(lambda sink: sink.block(block))

    def event(self, name: str, t_ns: int, facts: Mapping[str, Any]) -> None:
        self._each(lambda sink: sink.event(name, t_ns, facts))

    def state(self, state: str, reason: str) -> None:
        self._each(lambda sink: sink.state(state, reason))

    def progress(self, snapshot: dict[str, Any]) -> None:
        self._each(lambda sink: sink.progress(snapshot))

    def clocks(self, fits: dict[str, dict[str, Any]]) -> None:
        self._each(lambda sink: sink.clocks(fits))

    def _each(self, call: Callable[[Sink], None]) -> None:
        for sink in tuple(self._sinks):
            try:
                call(sink)
            except Exception as exc:
                if sink.required:
                    self._blame(exc)
                    continue
                self._sinks.remove(sink)
                _log.exception("%s failed and is left out; the session goes on", type(sink).__name__)
