"""What is chosen for one identification: the robot, the method, and the other arguments of `fit`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from heft.identify.bodies.consistency import Level
from heft.identify.bodies.parameters import Layout
from heft.identify.data import Processing
from heft.identify.errors import ProblemError
from heft.identify.estimation.estimators import Method
from heft.identify.estimation.friction import Friction
from heft.identify.estimation.prior import PriorLike
from heft.identify.estimation.problem import Bounds
from heft.identify.robot import Robot

__all__ = ["Choices"]


@dataclass(frozen=True)
class Choices:
    """Arguments of `heft.identify.fit.fit`, put together one by one.

    filter     fields of `Processing` beside the cut-off
    prior      values by name, "none", or None for the robot's own
    bounds     fields of `Bounds` that are not the robot's own
    friction   as of `fit`: chosen from the data, the robot's file's, or terms
    common     what several recordings have in common (`Signals.common`)
    """

    robot: Robot
    method: Method = field(default_factory=Method)
    level: Level = "full"
    cutoff_hz: float | None = None
    filter: Mapping[str, Any] = field(default_factory=dict)
    delay_s: float | None = None
    prior: PriorLike = None
    bounds: Mapping[str, Any] = field(default_factory=dict)
    friction: Friction = "auto"
    common: tuple[str, ...] = ()

    def with_option(self, name: str, value: Any) -> Choices:
        """With an option of the estimator."""
        return replace(self, method=replace(self.method, options={**self.method.options, name: value}))

    def with_weighting(self, value: Any) -> Choices:
        """With weights of the joints: `joint`, `none`, or one number for each."""
        weights: Any = value if isinstance(value, str) else np.asarray(value, dtype=np.float64)
        if not isinstance(weights, str) and weights.shape != (len(self.robot.joints),):
            raise ProblemError(
                f"weighting: {weights.size} numbers for {len(self.robot.joints)} joints; give one each"
            )
        return replace(self, method=replace(self.method, weighting=weights))

    def with_filter(self, name: str, value: Any) -> Choices:
        """With a field of the processing."""
        return replace(self, filter={**self.filter, name: value})

    def with_bound(self, name: str, value: Any) -> Choices:
        """With a field of the bounds."""
        return replace(self, bounds={**self.bounds, name: value})

    def with_mass_bound(self, link: str, value: Any) -> Choices:
        """With bounds on the mass of a link."""
        Layout(self.robot.parameter_names).link(link)
        return self.with_bound("mass", {**self.bounds.get("mass", {}), link: tuple(value)})

    def with_prior(self, name: str, value: Any) -> Choices:
        """With a prior value by name: ten numbers of a link, or one of any other parameter."""
        layout, count = Layout(self.robot.parameter_names), np.size(value)
        ten = name in layout.links
        if not ten:
            layout.index(name)
        if count != (10 if ten else 1):
            raise ProblemError(
                f"{count} numbers, must be {'ten: m, mx my mz, xx xy yy xz yz zz' if ten else 'one'}"
            )
        if isinstance(self.prior, str):
            raise ProblemError(f"prior none and prior.{name}: the one excludes the other; leave one out")
        return replace(self, prior={**(self.prior if isinstance(self.prior, Mapping) else {}), name: value})

    def with_spread(self, name: str, value: Any) -> Choices:
        """With another spread of the robot's prior."""
        return replace(self, robot=replace(self.robot, spread=replace(self.robot.spread, **{name: value})))

    def with_unmeasured(self, joints: Any) -> Choices:
        """With joints whose torque is left out."""
        return replace(self, robot=replace(self.robot, unmeasured=tuple(joints)))

    def with_constraint(self, name: str, value: Any) -> Choices:
        """With another constraint of the robot's links."""
        constraints = replace(self.robot.constraints, **{name: value})
        return replace(self, robot=replace(self.robot, constraints=constraints))

    def with_smoothing_velocity(self, value: Any) -> Choices:
        """With another velocity at which Coulomb friction turns over, one number or one for each joint."""
        velocity = np.broadcast_to(np.asarray(value, dtype=np.float64), len(self.robot.joints))
        joints = frozenset(self.robot.joints)  # not to be chosen from the data any more
        drives = replace(self.robot.drives, smoothing_velocity=velocity, fixed=joints)
        return replace(self, robot=replace(self.robot, drives=drives))

    def checked(self) -> Choices:
        """Itself; an error where values do not go with each other."""
        self.bounds_of()
        Processing(**{"cutoff_hz": self.cutoff_hz or 1.0, **self.filter})
        return self

    def bounds_of(self) -> Bounds | None:
        """The robot's own where nothing else was chosen."""
        return Bounds(**{"total_mass": self.robot.total_mass, **self.bounds}) if self.bounds else None
