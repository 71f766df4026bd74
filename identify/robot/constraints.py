"""What is known exactly of a robot's links beside its model: weighed, equal, pinned, mirrored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heft.identify.errors import ModelError

__all__ = ["RobotConstraints"]

Vector3 = tuple[float, float, float]


@dataclass(frozen=True)
class RobotConstraints:
    """Linear equalities between the links' parameters; each link in its own frame.

    total_mass    of all links that move, and its standard deviation [kg]; None: not weighed
    equal         groups of links with the same ten numbers
    pinned        links that are exactly as the prior says
    mirrored      two links, and the normal of the plane that each is the other's image in
    com_on_line   by link, the line that its centre of mass lies on: a point [m] and a direction
    """

    total_mass: tuple[float, float] | None = None
    equal: tuple[tuple[str, ...], ...] = ()
    pinned: tuple[str, ...] = ()
    mirrored: tuple[tuple[str, str, Vector3], ...] = ()
    com_on_line: Mapping[str, tuple[Vector3, Vector3]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return self != RobotConstraints()

    def checked(self, robot: str, links: tuple[str, ...]) -> None:
        """`ModelError` where they name a link that is none of these."""
        named = {link for group in self.equal for link in group} | set(self.pinned) | set(self.com_on_line)
        named |= {link for pair in self.mirrored for link in pair[:2]}
        if unknown := named - set(links):
            raise ModelError(f"{robot}: constraints name {min(unknown)}, which is none of {', '.join(links)}")

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "total_mass": None if self.total_mass is None else list(self.total_mass),
            "equal": [list(group) for group in self.equal],
            "pinned": list(self.pinned),
            "mirrored": [[one, other, list(normal)] for one, other, normal in self.mirrored],
            "com_on_line": {link: [list(part) for part in line] for link, line in self.com_on_line.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RobotConstraints:
        """Inverse of `to_dict`."""
        weighed = data["total_mass"]
        return cls(
            total_mass=None if weighed is None else (float(weighed[0]), float(weighed[1])),
            equal=tuple(tuple(group) for group in data["equal"]),
            pinned=tuple(data["pinned"]),
            mirrored=tuple((one, other, _vector(normal)) for one, other, normal in data["mirrored"]),
            com_on_line={
                link: (_vector(point), _vector(along)) for link, (point, along) in data["com_on_line"].items()
            },
        )


def _vector(numbers: list[float]) -> Vector3:
    x, y, z = (float(number) for number in numbers)
    return x, y, z
