"""Robot files that are wrong in one way: thin rods for links, masses off by up to 50 %, centres of mass off by 5 cm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from heft.identify import Robot
from heft.identify.bodies.parameters import Layout
from heft.identify.bodies.pseudo_inertia import from_mass_com_inertia, inertia_about_com
from heft.identify.robot import PriorSpread

__all__ = ["FILES", "mistaken"]

FILES = ("thin", "heavy", "shifted")


def mistaken(robot: Robot, kind: str, seed: int) -> Robot:
    """The robot with a file of this kind, and the usual spread."""
    assert robot.prior is not None
    prior, layout, rng = robot.prior.copy(), Layout(robot.parameter_names), np.random.default_rng([seed, 7])
    for link in layout.links:
        block = layout.link(link)
        mass, com = prior[block][0], prior[block][1:4] / prior[block][0]
        inertia = inertia_about_com(prior[block])
        if kind == "heavy":
            mass, inertia = mass * (factor := rng.uniform(0.5, 1.5)), inertia * factor
        elif kind == "shifted":
            way = rng.standard_normal(3)
            com = com + 0.05 * way / np.linalg.norm(way)
        else:  # a rod with a radius of 1 cm on the axis of the link's box, and as long
            low, high = robot.extents[link]
            axis = np.eye(3)[int(np.argmax(high - low))]
            com = (low + high) / 2 + axis * ((com - (low + high) / 2) @ axis)
            long, along = float((high - low).max()), np.outer(axis, axis)
            inertia = mass * (long**2 / 12 + 0.01**2 / 4) * (np.eye(3) - along) + mass * 0.01**2 / 2 * along
        prior[block] = from_mass_com_inertia(mass, com, inertia)
    return replace(robot, prior=prior, spread=PriorSpread())
