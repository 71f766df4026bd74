"""Who looks at a session from inside its process: a link to the outside, a service. None of them can disturb it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from drivers.block import Block

__all__ = ["Observer", "Observers"]

_log = logging.getLogger("heft.session")


class Observer:
    """Sees everything at once and must not wait; what it does not override does nothing."""

    def block(self, block: Block) -> None:
        """A block was taken."""

    def state(self, state: str, reason: str) -> None:
        """The session has entered a state."""

    def progress(self, snapshot: dict[str, Any]) -> None:
        """Where the session stands, a few times a second."""


class Observers:
    """All of them; one that fails is left out from then on, and the log says why."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = list(observers)

    def add(self, observer: Observer) -> None:
        self._observers.append(observer)

    def block(self, block: Block) -> None:
        self._tell(lambda observer: observer.block(block))

    def state(self, state: str, reason: str) -> None:
        self._tell(lambda observer: observer.state(state, reason))

    def progress(self, snapshot: dict[str, Any]) -> None:
        self._tell(lambda observer: observer.progress(snapshot))

    def _tell(self, call: Callable[[Observer], None]) -> None:
        for observer in tuple(self._observers):
            try:
                call(observer)
            except Exception:
                self._observers.remove(observer)
                _log.exception("%s failed and is left out; the session goes on", type(observer).__name__)
