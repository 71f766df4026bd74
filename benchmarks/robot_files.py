"""Robot files that are wrong: by as much as their spread says, or in one way that it does not know of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from heft.identify import Robot
from heft.identify.bodies.arrays import Array
from heft.identify.bodies.consistency import consistency
from heft.identify.bodies.parameters import Layout
from heft.identify.bodies.prior_spread import body_metric
from heft.identify.bodies.pseudo_inertia import from_mass_com_inertia, inertia_about_com
from heft.identify.estimation.problem import link_sizes
from heft.identify.robot import PriorSpread

__all__ = ["FILES", "about", "mistaken"]

MISTAKES = ("thin", "heavy", "shifted")
FILES = (*MISTAKES, "all")
DRAWS = 10_000  # of a link: one in twenty of a long thin one can exist
ROUNDS = 40  # of the fixed point below: a file that has a third of the mass takes thirty


def about(robot: Robot, true: Array, seed: int) -> Robot:
    """The robot with a file whose links are as far from the truth as the usual spread says.

    Ten numbers of each link are those from which the truth is a draw, true = file + S x, with x standard normal and S
    the spread's own (`body_metric`, at the file's body: a file that is too light says a small spread); drawn anew
    until the body can exist, for files are of such. `true` are all parameters, shape (p,).
    """
    assert robot.prior is not None
    prior, layout, rng = robot.prior.copy(), Layout(robot.parameter_names), np.random.default_rng([seed, 11])
    spread, sizes = PriorSpread(), link_sizes(layout, robot.extents, true)
    for link in layout.links:
        block = layout.link(link)
        drawn = (_seen_from(true[block], rng.standard_normal(10), spread, sizes[link]) for _ in range(DRAWS))
        prior[block] = next(ten for ten in drawn if ten is not None and consistency(ten, "full").ok)
    return replace(robot, prior=prior, spread=spread)


def _seen_from(true: Array, x: Array, spread: PriorSpread, size: float) -> Array | None:
    """The body (10,) whose metric times x leads to `true` (10,), by iteration; None where there is none."""
    ten = true
    for _ in range(ROUNDS):
        if not ten[0] > 0:
            return None
        before, ten = ten, true - body_metric(ten, spread.inertia, size) @ x
    return ten if np.allclose(ten, before, rtol=1e-3, atol=1e-6) else None


def mistaken(robot: Robot, kind: str, seed: int) -> Robot:
    """The robot with a file that is wrong in one way, and the usual spread.

    `thin`: rods for links; `heavy`: masses off by up to 50 %; `shifted`: centres of mass off by 5 cm; `all` of it.
    """
    if kind == "all":
        for one in MISTAKES:
            robot = mistaken(robot, one, seed)
        return robot
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
