"""Prior parameters of a robot, from a vector, from values by name, or from masses alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.parameters import Layout
from heft.identify.bodies.pseudo_inertia import from_mass_com_inertia
from heft.identify.errors import ProblemError
from heft.identify.robot import Robot

__all__ = ["PriorLike", "prior_for", "prior_of"]

PriorLike = Sequence[float] | Array | Mapping[str, float | Sequence[float]] | Literal["none"] | None

UNKNOWN_RADIUS = 0.1  # [m] of gyration, for a link of which only the mass is known


def prior_of(robot: Robot, prior: PriorLike) -> Array | None:
    """Prior parameters, shape (p,), or None where nothing is known.

    `prior` is None for the robot's own, "none" for no prior at all, a vector, or values by name on top of the robot's
    own: `link3` (ten numbers), `joint3.viscous`, or `link3.m` alone. A mass alone keeps the link's centre and radii of
    gyration, or those of its box filled evenly, or of a small ball where there is no box either.
    """
    layout = Layout(robot.parameter_names)
    if prior is None:
        return robot.prior
    if isinstance(prior, str):
        if prior != "none":
            raise ProblemError(f'prior {prior!r}: give "none", a vector, or values by name')
        return None
    if not isinstance(prior, Mapping):
        return layout.checked(prior)
    parameters = np.zeros(len(layout)) if robot.prior is None else robot.prior.copy()
    for link in layout.links:
        mass = prior.get(f"{link}.m")
        if mass is not None and link not in prior:
            parameters[layout.link(link)] = _with_mass(
                robot, link, float(np.asarray(mass)), parameters[layout.link(link)]
            )
    for name, value in prior.items():
        if name in layout.links:
            parameters[layout.link(name)] = value
        else:
            parameters[layout.index(name)] = value
    return parameters


def prior_for(prior: PriorLike, before: Robot, robot: Robot) -> PriorLike:
    """A vector for `before` as one for `robot`, the same with other joint terms; other forms of a prior as they are."""
    if prior is None or isinstance(prior, str | Mapping):
        return prior
    known = Layout(before.parameter_names).unpack(prior)
    return np.array([known.get(name, 0.0) for name in robot.parameter_names])


def _with_mass(robot: Robot, link: str, mass: float, ten: Array) -> Array:
    if ten[0] > 0:
        return ten * (mass / ten[0])
    if link in robot.boxes:
        low, high = robot.boxes[link]
        side = (high - low) ** 2
        inertia = mass / 12 * (side.sum() * np.eye(3) - np.diag(side))
        return from_mass_com_inertia(mass, (low + high) / 2, inertia)
    return from_mass_com_inertia(mass, np.zeros(3), 2 * mass * UNKNOWN_RADIUS**2 * np.eye(3))
