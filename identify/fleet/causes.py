"""What usually causes a change: which quantities moved together, how, and whether they came back.

Rules of thumb of people who look after arms, written as a table: the first that fits is named first. They name what to
look at, and prove nothing.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

__all__ = ["CAUSES", "Cause", "causes_of", "place_of"]

#: A load on the flange that is gone after so many days was forgotten there.
FORGOTTEN_DAYS = 45.0
#: A mass that came back to within this share of what it had gained.
CAME_BACK = 0.35
DAY_US = 86_400e6


class Moved(Protocol):
    """A quantity that has changed (`heft.identify.fleet.drift.Drifted`)."""

    @property
    def parameter(self) -> str: ...
    @property
    def kind(self) -> Literal["step", "trend"]: ...
    @property
    def size(self) -> float: ...
    @property
    def since(self) -> int: ...
    @property
    def z(self) -> float: ...


@dataclass(frozen=True)
class Cause:
    """`id` is stable; `text` for people; `check` what to look at."""

    id: str
    text: str
    check: str

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {"id": self.id, "text": self.text, "check": self.check}


CAUSES = {
    one.id: one
    for one in (
        Cause(
            "load-forgotten",
            "a load was left on the flange",
            "look at the flange, or state the load (--load)",
        ),
        Cause(
            "gripper-changed", "another gripper or tool is mounted", "state the new hand in the robot's file"
        ),
        Cause(
            "gearbox-replaced",
            "gearbox or drive of that joint was replaced or opened",
            "ask maintenance; identify anew",
        ),
        Cause(
            "torque-sensor",
            "torque sensor or current measurement of that joint drifts",
            "calibrate it (heft calibrate)",
        ),
        Cause(
            "wear", "wear: bearing, gear or lubrication of that joint", "plan maintenance; look at its grease"
        ),
        Cause("lubricated", "that joint was lubricated, or has run in", "ask maintenance"),
        Cause(
            "brake", "something drags in that joint: brake, cable or seal", "listen to it with the drives off"
        ),
        Cause(
            "clock", "clock of that device: another device or firmware", "compare serial numbers and firmware"
        ),
        Cause(
            "line",
            "cable, bus or load of the computer: samples are lost",
            "look at the line and at the host's load",
        ),
        Cause(
            "control",
            "gains of the position loop, or friction that it fights",
            "compare the drive's parameters",
        ),
        Cause("unknown", "no usual cause", "compare the sessions' reports before and after"),
    )
}


def place_of(parameter: str) -> str:
    """Where on the arm a quantity is: a joint by its name, what is mounted, or a device's line and clock."""
    head, _, what = parameter.partition(".")
    return "mounted" if what == "mass" else head


def causes_of(changes: Sequence[Moved], history: Sequence[Moved]) -> tuple[Cause, ...]:
    """Usual causes of changes that came together, the likeliest first.

    history   all changes of the arm, also later ones: a load that was taken off again was forgotten
    """
    found = [CAUSES[name] for name, fits in RULES if fits(changes, history)]
    return tuple(found) or (CAUSES["unknown"],)


Rule = Callable[[Sequence[Moved], Sequence[Moved]], bool]


def _of(changes: Sequence[Moved], pattern: str, kind: str = "*") -> list[Moved]:
    return [
        one
        for one in changes
        if fnmatch.fnmatchcase(one.parameter, pattern) and fnmatch.fnmatchcase(one.kind, kind)
    ]


def _surest(changes: Sequence[Moved], pattern: str, kind: str = "*") -> Moved | None:
    return max(_of(changes, pattern, kind), key=lambda one: abs(one.z), default=None)


def _mass(changes: Sequence[Moved]) -> Moved | None:
    """The step of what is on the flange: the hand's where a wrist sensor knows it, else of a link."""
    return _surest(changes, "hand.mass", "step") or _surest(changes, "*.mass", "step")


def _came_back(mass: Moved, history: Sequence[Moved]) -> bool:
    """Whether a later (or an earlier) step of the same quantity undoes this one soon."""
    return any(
        other.kind == "step"
        and other.parameter == mass.parameter
        and 0 < abs(other.since - mass.since) <= FORGOTTEN_DAYS * DAY_US
        and abs(other.size + mass.size) <= CAME_BACK * abs(mass.size)
        for other in history
    )


def _load_forgotten(changes: Sequence[Moved], history: Sequence[Moved]) -> bool:
    mass = _mass(changes)
    return mass is not None and _came_back(mass, history)


def _gripper(changes: Sequence[Moved], history: Sequence[Moved]) -> bool:
    mass = _mass(changes)
    return mass is not None and not _came_back(mass, history)


def _joint_step(changes: Sequence[Moved], history: Sequence[Moved]) -> Moved | None:
    return None if _mass(changes) is not None else _surest(changes, "*.friction", "step")


def _gearbox(changes: Sequence[Moved], history: Sequence[Moved]) -> bool:
    """Friction of a joint and its offset or gain stepped together."""
    friction = _joint_step(changes, history)
    if friction is None:
        return False
    joint = friction.parameter.removesuffix(".friction")
    return any(_of(changes, f"{joint}.{what}", "step") for what in ("offset", "gain"))


def _lubricated(changes: Sequence[Moved], history: Sequence[Moved]) -> bool:
    friction = _joint_step(changes, history)
    return friction is not None and friction.size < 0 and not _gearbox(changes, history)


def _brake(changes: Sequence[Moved], history: Sequence[Moved]) -> bool:
    friction = _joint_step(changes, history)
    return friction is not None and friction.size > 0 and not _gearbox(changes, history)


def _torque_sensor(changes: Sequence[Moved], history: Sequence[Moved]) -> bool:
    """Offset or gain of a joint moves, and its friction no more than the gain explains."""
    if _mass(changes) is not None or _joint_step(changes, history) is not None:
        return False
    moved = _surest(changes, "*.offset") or _surest(changes, "*.gain")
    friction = _surest(changes, "*.friction", "trend")
    return moved is not None and (friction is None or abs(friction.z) < abs(moved.z))


def _wear(changes: Sequence[Moved], history: Sequence[Moved]) -> bool:
    friction = _surest(changes, "*.friction", "trend")
    return friction is not None and friction.size > 0 and not _torque_sensor(changes, history)


def _family(*patterns: str) -> Rule:
    """Whether the surest change is of one of these quantities."""

    def fits(changes: Sequence[Moved], history: Sequence[Moved]) -> bool:
        main = max(changes, key=lambda one: abs(one.z))
        return any(fnmatch.fnmatchcase(main.parameter, pattern) for pattern in patterns)

    return fits


RULES: tuple[tuple[str, Rule], ...] = (
    ("load-forgotten", _load_forgotten),
    ("gripper-changed", _gripper),
    ("gearbox-replaced", _gearbox),
    ("torque-sensor", _torque_sensor),
    ("wear", _wear),
    ("lubricated", _lubricated),
    ("brake", _brake),
    ("clock", _family("clock_skew.*", "delay.*")),
    ("line", _family("loss.*")),
    ("control", _family("*.tracking_error")),
)
