"""What is planted into a simulated year: events of arms, with what they do to the quantities of the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

__all__ = ["EVENTS", "EventKind", "PlantedEvent", "planted"]

EventKind = Literal["wear", "gearbox-replaced", "gripper-changed", "load-forgotten", "torque-sensor"]
EVENTS: tuple[EventKind, ...] = (
    "wear",
    "gearbox-replaced",
    "gripper-changed",
    "load-forgotten",
    "torque-sensor",
)


@dataclass(frozen=True)
class PlantedEvent:
    """One event of one arm.

    joint   that it happens to; -1: the flange
    night   that it begins with; `until` the first night without it (a load that is taken off), or -1
    size    wear: share of friction per 30 nights; gearbox: step of friction as a share; gripper and load [kg];
            torque sensor: drift of the offset per 30 nights over the joint's friction
    """

    arm: str
    kind: EventKind
    joint: int
    night: int
    size: float
    until: int = -1

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)


def planted(
    first: Mapping[str, int], nights: int, joints: int, rng: np.random.Generator, share: float, each: int = 1
) -> list[PlantedEvent]:
    """A `share` of the arms have events, between a third and three quarters of their time; kinds in turn.

    first   the night that each arm starts
    each    so many events of one arm, of different kinds and joints, three to thirty nights apart
    """
    events = []
    for number, arm in enumerate(rng.permutation(list(first))[: round(share * len(first))]):
        begin, life = first[str(arm)], nights - first[str(arm)]
        night = begin + int(rng.integers(life // 3, 3 * life // 4))
        at = rng.permutation(joints)
        for more in range(each):
            kind = EVENTS[(number + more) % len(EVENTS)]
            events.append(_event(str(arm), kind, int(at[more % joints]), night, rng))
            night += int(rng.integers(3, 31))
    return events


def _event(arm: str, kind: EventKind, joint: int, night: int, rng: np.random.Generator) -> PlantedEvent:
    """One event of a drawn size."""
    sign = float(rng.choice([-1.0, 1.0]))
    if kind == "wear":
        return PlantedEvent(arm, kind, joint, night, float(rng.uniform(0.01, 0.02)))
    if kind == "gearbox-replaced":
        return PlantedEvent(arm, kind, joint, night, sign * float(rng.uniform(0.1, 0.25)))
    if kind == "gripper-changed":
        return PlantedEvent(arm, kind, -1, night, sign * float(rng.uniform(0.1, 0.3)))
    if kind == "load-forgotten":
        size, until = float(rng.uniform(0.2, 1.0)), night + int(rng.integers(3, 15))
        return PlantedEvent(arm, kind, -1, night, size, until)
    return PlantedEvent(arm, kind, joint, night, sign * float(rng.uniform(0.01, 0.03)))
