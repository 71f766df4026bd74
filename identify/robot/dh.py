"""A tree from rows of a Denavit-Hartenberg table. Link i's frame is frame i of the convention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.errors import ModelError
from heft.identify.robot.regressor import Tree, pose, squared

__all__ = ["dh_tree"]

_KEYS = {"alpha", "a", "d", "theta", "kind"}


def dh_tree(rows: Sequence[Mapping[str, float | str]], convention: str, gravity: Sequence[float]) -> Tree:
    """alpha, theta [rad], a, d [m] per row, theta a joint's offset; `kind` revolute (default) or prismatic.

    standard   frame i at the far end of link i:  Rot_z(q + theta) Trans_z(d) Trans_x(a) Rot_x(alpha)
    modified   frame i at joint i:                Rot_x(alpha) Trans_x(a) Rot_z(q + theta) Trans_z(d)

    A prismatic joint adds q to d instead of theta. Angles within 1e-3 rad of a right angle are right angles.
    """
    if convention not in ("standard", "modified"):
        raise ModelError(f"convention {convention!r}: choose standard or modified")
    if not rows:
        raise ModelError("no rows; a robot needs at least one joint")
    fixed, moved = [], []
    for number, row in enumerate(rows, start=1):
        if unknown := set(row) - _KEYS:
            raise ModelError(
                f"row {number}: unknown key {sorted(unknown)[0]!r}; use {', '.join(sorted(_KEYS))}"
            )
        missing = {"alpha", "a", "d"} - set(row)
        if missing or row.get("kind", "revolute") not in ("revolute", "prismatic"):
            raise ModelError(f"row {number} {dict(row)}: needs alpha, a, d, and kind revolute or prismatic")
        along_x = _screw_x(float(row["alpha"]), float(row["a"]))
        along_z = _screw_z(float(row.get("theta", 0.0)), float(row["d"]))
        if convention == "standard":
            fixed.append(np.eye(4))
            moved.append(along_z @ along_x)
        else:
            fixed.append(along_x @ along_z)
            moved.append(np.eye(4))
    return Tree(
        parents=np.arange(-1, len(rows) - 1),
        joint_in_parent=np.array(fixed),
        link_in_joint=np.array(moved),
        axis=np.tile([0.0, 0.0, 1.0], (len(rows), 1)),
        prismatic=np.array([row.get("kind", "revolute") == "prismatic" for row in rows]),
        gravity=np.array(gravity, dtype=np.float64),
    )


def _screw_x(angle: float, length: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return pose(squared([[1, 0, 0], [0, c, -s], [0, s, c]]), [length, 0, 0])


def _screw_z(angle: float, length: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return pose(squared([[c, -s, 0], [s, c, 0], [0, 0, 1]]), [0, 0, length])
