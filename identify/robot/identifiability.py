"""What each source of data can tell of a robot's links, by itself and together: known before anything is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heft.identify.bodies.parameters import LINK_TERMS
from heft.identify.robot.base import link_combinations
from heft.identify.robot.robot import Robot

__all__ = ["TOGETHER", "Identifiability", "identifiability"]

TOGETHER = "together"


@dataclass(frozen=True)
class Identifiability:
    """What one source tells, with any motion.

    source   `joints`, a sensor, `base`, or all of them `together`
    rank     number of combinations of the links' parameters that it determines, whatever its sensors' biases are
    blind    links of which it tells nothing, and parameters of other links that it does not depend on
    """

    source: str
    rank: int
    blind: tuple[str, ...] = ()

    def __str__(self) -> str:
        shown = ", ".join(self.blind[:6]) + (
            f" and {len(self.blind) - 6} more" if len(self.blind) > 6 else ""
        )
        return f"{self.source}: {self.rank} combinations of link parameters" + (
            f"; nothing of {shown}" if shown else ""
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {"source": self.source, "rank": self.rank, "blind": list(self.blind)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Identifiability:
        """Inverse of `to_dict`."""
        return cls(data["source"], data["rank"], tuple(data["blind"]))


def identifiability(robot: Robot, sources: Sequence[str]) -> tuple[Identifiability, ...]:
    """Of each source by itself, then of all together. Contacts that the base's wrench is the sum of are one source."""
    contacts = [name for name in sources if name in robot.sensors and robot.sensors[name].contact]
    groups = [[name] for name in sources if name not in contacts] + ([contacts] if contacts else [])
    found = [_alone(robot, "+".join(group), group) for group in groups]
    if len(groups) > 1:
        found.append(_alone(robot, TOGETHER, sources))
    return tuple(found)


def _alone(robot: Robot, name: str, sources: Sequence[str]) -> Identifiability:
    rank, unseen = link_combinations(robot.measuring(sources))
    blind = []
    for link in robot.links:
        missing = [one for one in unseen if one.rpartition(".")[0] == link]
        blind += [link] if len(missing) == len(LINK_TERMS) else missing
    return Identifiability(name, rank, tuple(blind))
