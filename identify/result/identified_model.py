"""A robot with identified parameters: what is exported to model files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.consistency import Consistency, Level, consistency_of_links
from heft.identify.bodies.parameters import Layout
from heft.identify.estimation.problem import link_sizes
from heft.identify.result.parameter_values import Parameters
from heft.identify.result.verdict import Verdict
from heft.identify.robot import Robot

__all__ = ["IdentifiedModel"]


@dataclass(frozen=True, kw_only=True)
class IdentifiedModel:
    """Parameters of a robot, and how they were found.

    robot        the model they belong to
    method       name of the estimator
    level        of consistency that was asked for
    parameters   by link and joint
    prior        parameters known beforehand (p,), or None
    """

    robot: Robot
    method: str
    level: Level
    parameters: Parameters
    prior: Array | None = None

    @property
    def layout(self) -> Layout:
        """Names and places of the parameters."""
        return self.parameters.layout

    @property
    def total_mass(self) -> float:
        """Of all links [kg]."""
        return self.parameters.total_mass

    @property
    def verdict(self) -> Verdict | None:
        """Whether to use it, where somebody has judged it."""
        return None

    def consistency(self, level: Level | None = None) -> Consistency:
        """Of the links, at the level that was asked for or at another."""
        links = {link.name: link.ten for link in self.parameters.links}
        return consistency_of_links(links, level or self.level, self.robot.boxes, self._sizes)

    @property
    def consistent(self) -> bool:
        """At the level that was asked for."""
        return self.consistency().ok

    @cached_property
    def _sizes(self) -> dict[str, float]:
        """Half the length of each link [m]."""
        return link_sizes(self.layout, self.robot.extents, self.prior)
