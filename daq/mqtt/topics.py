"""Topics of a cell. State topics are retained: the last value is the truth. Events happen once."""

from __future__ import annotations

__all__ = ["drift", "drift_event", "gripper_event", "health", "online", "payload", "payload_event", "session"]


def online(cell: str, role: str) -> str:
    """State: whether a program of this cell (`session`, `payload`) is there; its last will says that it is not."""
    return f"heft/{cell}/{role}/online"


def session(cell: str) -> str:
    """State: where the session stands."""
    return f"heft/{cell}/session"


def health(cell: str, stream: str) -> str:
    """State: what became of one stream's samples, once a second."""
    return f"heft/{cell}/health/{stream}"


def payload(cell: str) -> str:
    """State: what the gripper holds, as known now."""
    return f"heft/{cell}/payload"


def payload_event(cell: str) -> str:
    """Event: a payload was picked up, released, dropped, or slipped."""
    return f"heft/{cell}/event/payload"


def gripper_event(cell: str) -> str:
    """Event, incoming: a gripper that others command has taken or let go of something."""
    return f"heft/{cell}/event/gripper"


def drift(fleet: str) -> str:
    """State: how many events of drift a fleet has, and on which arms."""
    return f"heft/{fleet}/drift"


def drift_event(fleet: str) -> str:
    """Event: an arm of a fleet has changed."""
    return f"heft/{fleet}/event/drift"
