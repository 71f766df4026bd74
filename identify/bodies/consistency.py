"""Could this body exist? Four levels, each with the margin to its border and the culprit.

    mass      m > 0                                           margin: m [kg]
    inertia   and inertia about the centre of mass > 0        margin: its smallest eigenvalue / (m size^2)
    full      and triangle inequality: pseudo-inertia > 0     margin: smallest second moment / (m size^2)
    shape     and mass that can lie inside the link's box     margin: share that can fill the box evenly

`size` [m] is half the diagonal of the link's box; for a body without one, the radius of gyration along its
longest axis. Second moments are about the centre of mass: at level `full` the square root of the margin is
the smallest radius of gyration over the size. The condition of level `shape` is exact (`bodies.shape`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.pseudo_inertia import inertia_about_com
from heft.identify.errors import ParameterError, ProblemError

__all__ = ["LEVELS", "Box", "Consistency", "Level", "consistency", "consistency_of_links", "half_diagonal"]

Level = Literal["mass", "inertia", "full", "shape"]
LEVELS: tuple[Level, ...] = get_args(Level)
Box = Array | tuple[Sequence[float], Sequence[float]]
"""Lowest and highest corner of a link's bounding box in its own frame [m], (2, 3)."""


@dataclass(frozen=True)
class Consistency:
    """The answer at one level.

    `margin` is positive if `ok`; for a robot it is that of the weakest link, and `margins` has every link's.
    `culprit` is None if `ok`; for one body what is wrong (`mass`, `inertia`, `triangle` or `shape`), for a
    robot the weakest link's name.
    """

    level: Level
    ok: bool
    margin: float
    culprit: str | None
    margins: Mapping[str, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.ok


def consistency(
    ten_numbers: ArrayLike, level: Level = "full", *, box: Box | None = None, size: float | None = None
) -> Consistency:
    """Consistency of one body: m, mc (3), Ixx Ixy Iyy Ixz Iyz Izz about its frame (`shape`: `box` too)."""
    ten = np.asarray(ten_numbers, dtype=np.float64)
    if ten.shape != (10,):
        raise ParameterError(f"shape {ten.shape} instead of ten numbers: m, mc (3), Ixx Ixy Iyy Ixz Iyz Izz")
    if level not in LEVELS:
        raise ParameterError(f"no level {level!r}; there are {', '.join(LEVELS)}")
    if not np.all(np.isfinite(ten)):
        raise ParameterError(f"a body with numbers that are not finite: {ten.tolist()}; it cannot be judged")
    if level == "shape" and box is None:
        raise ProblemError(
            "level shape asks for a bounding box and there is none; give `box`, or use level full"
        )
    if size is None and box is not None:
        size = half_diagonal(box)
    mass = float(ten[0])
    if mass <= 0 or level == "mass":
        return _judged(level, mass if level == "mass" else min(mass, 0.0), "mass")
    moments = np.linalg.eigvalsh(inertia_about_com(ten))
    seconds = moments.sum() / 2 - moments[::-1]
    unit = mass * size**2 if size is not None else max(np.abs(seconds).max(), np.finfo(float).tiny)
    if level == "inertia" or moments[0] <= 0:
        return _judged(level, float(moments[0] / unit), "inertia")
    if level == "full" or seconds[0] <= 0:
        return _judged(level, float(seconds[0] / unit), "triangle")
    from heft.identify.bodies.shape import share_inside  # the one level that needs a solver

    low, high = box  # type: ignore[misc]  # looked at above
    return _judged(level, share_inside(ten, low, high), "shape")


def consistency_of_links(
    links: Mapping[str, Array],
    level: Level,
    boxes: Mapping[str, Box],
    sizes: Mapping[str, float] | None = None,
) -> Consistency:
    """Consistency of a robot: its links' ten numbers by name. The weakest link decides."""
    sizes = sizes or {}
    missing = [name for name in links if name not in boxes] if level == "shape" else []
    if missing:
        raise ProblemError(
            f"level shape asks for bounding boxes and {', '.join(missing)} has none; "
            "write `box` under `links` in the robot's file, or use level full"
        )
    each = {
        name: consistency(ten, level, box=boxes.get(name), size=sizes.get(name))
        for name, ten in links.items()
    }
    weakest = min(each, key=lambda name: each[name].margin)
    ok = all(each.values())
    margins = {name: one.margin for name, one in each.items()}
    return Consistency(level, ok, margins[weakest], None if ok else weakest, margins)


def half_diagonal(box: Box) -> float:
    """The size of a box [m]."""
    return float(np.linalg.norm(np.asarray(box[1]) - np.asarray(box[0])) / 2)


def _judged(level: Level, margin: float, culprit: str) -> Consistency:
    return Consistency(level, margin > 0, margin, None if margin > 0 else culprit)
