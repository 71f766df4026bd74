"""The constraints of a robot's file, as rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.parameters import LINK_TERMS, Layout
from heft.identify.bodies.pseudo_inertia import skew, transform_matrix
from heft.identify.errors import ProblemError
from heft.identify.estimation.constraints.equalities import Equalities
from heft.identify.robot import Robot
from heft.identify.robot.regressor import AXES, BIAS_TERMS

__all__ = ["declared"]

Demand = tuple[str, Array, Array, float]  # name, rows (k, p), values (k,), standard deviation


def declared(robot: Robot, prior: Array | None) -> Equalities:
    """What the robot's file demands (`heft.identify.robot.constraints`), and what it knows of its sensors' biases.

    Pinned links are at `prior` (p,).
    """
    layout = Layout(robot.parameter_names)
    known = Equalities.none(len(layout))
    for name, rows, values, std in _demands(robot, layout, prior):
        known = known.and_also(Equalities(rows, values, np.full(len(rows), std), (name,) * len(rows)))
    return known


def _demands(robot: Robot, layout: Layout, prior: Array | None) -> Iterator[Demand]:
    constraints = robot.constraints
    if constraints.total_mass is not None:
        value, std = constraints.total_mass
        row = sum(_ten(layout, link)[:1] for link in layout.links)
        yield f"total_mass == {value:g}", np.asarray(row), np.array([value]), std
    for first, *others in constraints.equal:
        for other in others:
            rows = _ten(layout, first) - _ten(layout, other)
            yield f"{first} == {other}", rows, np.zeros(len(LINK_TERMS)), 0.0
    for link in constraints.pinned:
        if prior is None:
            raise ProblemError(
                f"{link} is pinned to its prior, and there is none; give the prior of its links"
            )
        yield f"{link} == prior", _ten(layout, link), prior[layout.link(link)], 0.0
    for one, other, normal in constraints.mirrored:
        n = np.array(normal) / np.linalg.norm(normal)
        image = transform_matrix(np.eye(3) - 2 * np.outer(n, n), np.zeros(3))
        rows = image @ _ten(layout, one) - _ten(layout, other)
        yield f"{one} == mirrored {other}", rows, np.zeros(len(LINK_TERMS)), 0.0
    for link, (point, direction) in constraints.com_on_line.items():
        along = np.array(direction) / np.linalg.norm(direction)
        ten = _ten(layout, link)
        rows = skew(along) @ (ten[1:4] - np.outer(point, ten[0]))
        yield f"{link}.com on its line", rows, np.zeros(3), 0.0
    yield from _biases(robot, layout)


def _biases(robot: Robot, layout: Layout) -> Iterator[Demand]:
    """What sensors read at no load, as far as the robot's file knows; several recordings' mean is no worse known."""
    for sensor, one in robot.sensors.items():
        if one.bias is None or f"{sensor}.{AXES[0]}.{BIAS_TERMS[0]}" not in layout.names:
            continue
        for axes, std, unit in zip((AXES[:3], AXES[3:]), one.bias, ("N", "N m"), strict=True):
            places = [layout.index(f"{sensor}.{axis}.{BIAS_TERMS[0]}") for axis in axes]
            name = f"bias of {sensor} == 0 +- {std:g} {unit}"
            yield name, np.eye(len(layout))[places], np.zeros(len(axes)), std


def _ten(layout: Layout, link: str) -> Array:
    """Rows that select a link's ten numbers, shape (10, p)."""
    return np.asarray(np.eye(len(layout))[layout.link(link)])
