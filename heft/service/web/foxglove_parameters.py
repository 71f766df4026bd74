"""What is estimated, as parameters of the Foxglove app: the arm's as the motion goes on, and those of what is held.

    session/rank            [rank, of]                      of the base parameters
    session/total_mass      kg
    base/link2.m            [value, half of its 95 % interval]
    payload/mass            [kg, half of its 95 % interval]
    payload/com             [x, y, z] in the flange's frame [m]
    payload/object          its name, where it is known

They are told and cannot be set: whoever sets one is answered with what is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foxglove.websocket import Parameter

from heft.daq import topics
from heft.daq.bus.message import Message

__all__ = ["FoxgloveParameters"]

#: Half of a normal 95 % interval, in standard deviations.
_HALF_95 = 1.96
#: The most of them: a stranger's word on the bus may hold any number of names.
_MOST = 500

Value = float | str | list[float]


class FoxgloveParameters:
    """The newest value of each parameter."""

    def __init__(self) -> None:
        self._values: dict[str, Value] = {}

    def hear(self, message: Message) -> list[Parameter]:
        """Take what a message tells; those that have changed."""
        told: dict[str, Value] = {}
        if message.topic.startswith(topics.WORKERS) and message.topic.endswith("/progress"):
            told = _of_the_arm(message.json)
        elif message.topic == topics.PAYLOAD:
            told = _of_the_payload(message.json)
        new = {name: value for name, value in told.items() if self._values.get(name) != value}
        room = _MOST - len(self._values)
        unknown = [name for name in new if name not in self._values]
        for name in unknown[max(room, 0) :]:
            del new[name]
        self._values = self._values | new  # a new one: `get` is called in threads of the SDK
        return _parameters(new)

    def get(self, names: Sequence[str]) -> list[Parameter]:
        """Those that are asked for; all where no name is given."""
        chosen = self._values if not names else {n: self._values[n] for n in names if n in self._values}
        return _parameters(chosen)


def _parameters(values: Mapping[str, Any]) -> list[Parameter]:
    return [Parameter(name, value=value) for name, value in values.items()]


def _of_the_arm(progress: Mapping[str, Any]) -> dict[str, Value]:
    if not progress.get("of"):
        return {}
    told: dict[str, Value] = {"session/rank": [float(progress["rank"]), float(progress["of"])]}
    if progress.get("total_mass") is not None:
        told["session/total_mass"] = float(progress["total_mass"])
    for name, (value, std) in (progress.get("base") or {}).items():
        if std is not None:
            told[f"base/{name}"] = [float(value), _HALF_95 * float(std)]
    return told


def _of_the_payload(facts: Mapping[str, Any]) -> dict[str, Value]:
    if "mass" not in facts:
        return {}
    recognition = facts.get("recognition") or {}
    spread = facts["std"]["mass"]
    return {
        "payload/mass": [float(facts["mass"]), *([] if spread is None else [_HALF_95 * float(spread)])],
        "payload/com": [float(v) for v in facts["com"]],
        "payload/object": str(recognition.get("name") or recognition.get("verdict") or ""),
    }
