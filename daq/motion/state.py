"""The states of a session.

idle -> connected -> armed -> moving -> stopping -> done | aborted(reason) | failed(reason)

From armed and from moving it may be paused, and goes back to what it was.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

__all__ = ["State", "StateMachine"]


class State(StrEnum):
    """Where a session stands."""

    IDLE = "idle"
    CONNECTED = "connected"
    ARMED = "armed"
    MOVING = "moving"
    PAUSED = "paused"  # by the operator: drives on, at rest on the path
    STOPPING = "stopping"
    DONE = "done"
    ABORTED = "aborted"  # by safety or the operator
    FAILED = "failed"  # a device, the recording or the program itself

    @property
    def final(self) -> bool:
        return self in (State.DONE, State.ABORTED, State.FAILED)


_FINAL = {State.DONE, State.ABORTED, State.FAILED}
_NEXT = {
    State.IDLE: {State.CONNECTED, State.ABORTED, State.FAILED},
    State.CONNECTED: {State.ARMED, State.STOPPING},
    State.ARMED: {State.MOVING, State.PAUSED, State.STOPPING},
    State.MOVING: {State.ARMED, State.PAUSED, State.STOPPING},  # armed again between two motions
    State.PAUSED: {State.ARMED, State.MOVING, State.STOPPING},
    State.STOPPING: _FINAL,
    State.DONE: set(),
    State.ABORTED: set(),
    State.FAILED: set(),
}


class StateMachine:
    """Holds the state, refuses a step that the diagram does not have, and tells `on_change` of each one taken."""

    def __init__(self, on_change: Callable[[State, str], None]) -> None:
        self._state = State.IDLE
        self._on_change = on_change

    @property
    def state(self) -> State:
        return self._state

    def enter(self, state: State, reason: str = "") -> None:
        """Go to `state`; entering the present state again changes nothing."""
        if state is self._state:
            return
        if state not in _NEXT[self._state]:
            raise RuntimeError(f"a session does not go from {self._state} to {state}")
        self._change(state, reason)

    def finish(self, state: State, reason: str) -> None:
        """Enter a final state: after `stopping`, or while nothing is connected."""
        if not state.final or self._state not in (State.IDLE, State.STOPPING):
            raise RuntimeError(f"a session does not end as {state} when it is {self._state}")
        self._change(state, reason)

    def _change(self, state: State, reason: str) -> None:
        self._state = state
        self._on_change(state, reason)
