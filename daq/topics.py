"""The names under which a session publishes; plain strings, so that anyone may know them without the bus.

A subscription is a name, or the beginning of names where it ends in `/`: `block/` is every stream.
"""

from __future__ import annotations

__all__ = [
    "BLOCKS",
    "CLOCK",
    "COUNTS",
    "EVENT",
    "PAYLOAD",
    "PROGRESS",
    "STATE",
    "WORKERS",
    "block",
    "matches",
    "stream_of",
    "worker",
]

BLOCKS = "block/"  #: Blocks of all streams: `block/arm.motion`
STATE = "state"  #: the session's state and its reason, whenever it changes
EVENT = "event"  #: what happened, once: segments, pick-ups, faults
PROGRESS = "progress"  #: where the session stands, a few times a second
CLOCK = "clock"  #: offset, skew and residual of each device's clock
PAYLOAD = "payload"  #: what the gripper holds, as known now (identify/payload/payload.schema.json)
COUNTS = "counts"  #: of each topic, the number of messages published so far; the subscriber reads it itself
WORKERS = "worker/"  #: what workers have to say: `worker/NAME/progress`, `worker/NAME/result`


def block(stream: str) -> str:
    """Topic of the Blocks of one stream."""
    return BLOCKS + stream


def worker(name: str, what: str) -> str:
    """Topic of what the worker of that name says: `progress` or `result`."""
    return f"{WORKERS}{name}/{what}"


def stream_of(topic: str) -> str:
    """Stream of a topic that `block` made."""
    if not topic.startswith(BLOCKS):
        raise ValueError(f"{topic!r} is not a topic of Blocks; they begin with {BLOCKS!r}")
    return topic.removeprefix(BLOCKS)


def matches(subscription: str, topic: str) -> bool:
    """Whether a subscription asks for this topic."""
    if subscription == "" or subscription.endswith("/"):
        return topic.startswith(subscription)
    return topic == subscription
