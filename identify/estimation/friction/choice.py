"""The friction that was chosen for each joint, and what it is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from heft.identify.bodies.parameters import JOINT_TERMS
from heft.identify.errors import ProblemError
from heft.identify.robot import Robot
from heft.identify.robot.regressor import Drives

__all__ = ["FRICTION_TERMS", "Friction", "FrictionChoice", "JointFriction", "with_friction"]

Friction = Literal["auto", "file"] | Sequence[str] | Mapping[str, Sequence[str]]
FRICTION_TERMS = tuple(term for term in JOINT_TERMS if term not in ("drive_inertia", "offset"))


@dataclass(frozen=True)
class JointFriction:
    """One joint's friction.

    joint                its name
    terms                all terms of the joint, the added ones last
    added                terms that the data ask for beyond the robot's own
    smoothing_velocity   v_s of tanh(v / v_s) [rad/s, m/s]
    stribeck_velocity    [rad/s, m/s]
    moved                velocities that the data ask for instead of the robot's own: their names
    gain                 held-out squared error that this saves, relative to the robot's own friction
    gain_std             standard error of it, over blocks of time
    """

    joint: str
    terms: tuple[str, ...]
    added: tuple[str, ...] = ()
    smoothing_velocity: float = 0.02
    stribeck_velocity: float = 0.1
    moved: tuple[str, ...] = ()
    gain: float = 0.0
    gain_std: float = 0.0

    @property
    def changed(self) -> bool:
        """Whether it is not the robot's own."""
        return bool(self.added or self.moved)

    def __str__(self) -> str:
        parts = [term.replace("_", " ") for term in self.added]
        if "stribeck" in self.terms and (self.added or self.moved):
            parts.append(f"Stribeck velocity {self.stribeck_velocity:.2g}")
        if "smoothing_velocity" in self.moved:
            parts.append(f"smoothing velocity {self.smoothing_velocity:.2g}")
        said = ", ".join(parts)
        return f"{self.joint} ({said}: {100 * self.gain:.0f} % less squared error on held-out data)"


@dataclass(frozen=True)
class FrictionChoice:
    """Friction of all joints in the robot's order; `searched` where the data were asked, at least for some."""

    joints: tuple[JointFriction, ...]
    searched: bool = True

    @property
    def changed(self) -> tuple[JointFriction, ...]:
        """Joints whose friction is not the robot's own."""
        return tuple(one for one in self.joints if one.changed)

    def drives(self, drives: Drives) -> Drives:
        """The same drives with the chosen friction."""
        return replace(
            drives,
            joint_terms=tuple(one.terms for one in self.joints),
            smoothing_velocity=np.array([one.smoothing_velocity for one in self.joints]),
            stribeck_velocity=np.array([one.stribeck_velocity for one in self.joints]),
        )

    def __str__(self) -> str:
        if not self.searched:
            return "as in the robot's file"
        if not self.changed:
            return "as in the robot's file: no further term or other velocity predicts held-out data better"
        return "chosen from the data: " + "; ".join(str(one) for one in self.changed)

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line that names the joints whose friction is not the robot's own."""
        if not self.changed:
            return ()
        joints = ", ".join(one.joint for one in self.changed)
        return (
            f"friction of {joints} is not of the form that the robot's file has; terms and velocities were chosen from "
            "the data, and the intervals of their friction take this form for exact: write it into the robot's file "
            "(`terms` of the joint), or keep the file's with friction `file`",
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {"searched": self.searched, "joints": [asdict(one) for one in self.joints]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_dict`."""
        lists = ("terms", "added", "moved")
        joints = (JointFriction(**{**one, **{k: tuple(one[k]) for k in lists}}) for one in data["joints"])
        return cls(tuple(joints), data["searched"])


def with_friction(robot: Robot, friction: Friction) -> Robot:
    """The robot with the friction that the user asks for.

    friction   `auto`: what is not fixed is chosen from data; `file`: all joints are fixed as they are; friction terms
               for all joints, or for some by name, which are fixed with them. Drive inertia and offset stay.
    """
    if friction == "auto":
        return robot
    drives = robot.drives
    if friction == "file":
        return robot.with_drives(replace(drives, fixed=frozenset(drives.joints)))
    if isinstance(friction, str):
        raise ProblemError(f"friction {friction!r}: give auto, file, or terms: {', '.join(FRICTION_TERMS)}")
    given = friction if isinstance(friction, Mapping) else dict.fromkeys(drives.joints, friction)
    if unknown := [joint for joint in given if joint not in drives.joints]:
        raise ProblemError(f"friction of {unknown[0]}: there are {', '.join(drives.joints)}")
    if unknown := [term for terms in given.values() for term in terms if term not in FRICTION_TERMS]:
        raise ProblemError(
            f"friction term {unknown[0]!r} is unknown; choose from {', '.join(FRICTION_TERMS)}"
        )
    own = dict(zip(drives.joints, drives.joint_terms, strict=True))
    for joint, terms in given.items():
        kept = {term for term in own[joint] if term not in FRICTION_TERMS} | set(terms)
        own[joint] = tuple(term for term in JOINT_TERMS if term in kept)
    return robot.with_drives(
        replace(drives, joint_terms=tuple(own.values()), fixed=drives.fixed | frozenset(given))
    )
