"""What is planted into a simulated year: events of arms, with what they do to the quantities of the table."""

from __future__ import annotations

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
    arms: list[str], nights: int, joints: int, rng: np.random.Generator, share: float
) -> list[PlantedEvent]:
    """A `share` of the arms have one event each, between a third and three quarters of the time; kinds in turn."""
    events = []
    for number, arm in enumerate(rng.permutation(arms)[: round(share * len(arms))]):
        kind = EVENTS[number % len(EVENTS)]
        joint, night = int(rng.integers(joints)), int(rng.integers(nights // 3, 3 * nights // 4))
        sign = float(rng.choice([-1.0, 1.0]))
        until = -1
        if kind == "wear":
            size = float(rng.uniform(0.01, 0.02))
        elif kind == "gearbox-replaced":
            size = sign * float(rng.uniform(0.1, 0.25))
        elif kind == "gripper-changed":
            joint, size = -1, sign * float(rng.uniform(0.1, 0.3))
        elif kind == "load-forgotten":
            joint, size = -1, float(rng.uniform(0.2, 1.0))
            until = night + int(rng.integers(3, 15))
        else:
            size = sign * float(rng.uniform(0.01, 0.03))
        events.append(PlantedEvent(str(arm), kind, joint, night, size, until))
    return events
