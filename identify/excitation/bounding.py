"""Where the links of an arm are along a motion, and balls around their shapes: how far two parts are apart at least.

The distance of two solids is at least that of their balls, |c1 - c2| - r1 - r2, which costs a fraction of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import coal
import numpy as np
import pinocchio as pin

from heft.identify.bodies.arrays import Array
from heft.identify.robot.regressor import Tree
from heft.identify.robot.regressor.row_layout import Ints

__all__ = ["Bounding", "link_poses"]

ROUNDING = 1e-9  # [m] of two balls that are the shapes themselves


def link_poses(tree: Tree, q: Array) -> tuple[Array, Array]:
    """Rotations (links + 1, T, 3, 3) and positions [m] (links + 1, T, 3) along q (T, n); the first is the base."""
    n, T = len(tree), len(q)
    rotation, position = np.empty((n + 1, T, 3, 3)), np.zeros((n + 1, T, 3))
    rotation[0] = np.eye(3)
    for i, K in enumerate(tree.coefficients):
        c, s = (q[:, i], np.zeros(T)) if tree.prismatic[i] else (np.cos(q[:, i]), np.sin(q[:, i]))
        flat = K[0] + c[:, None] * K[1] + s[:, None] * K[2]
        parent = int(tree.parents[i]) + 1
        position[i + 1] = position[parent] + (rotation[parent] @ flat[:, 9:, None])[:, :, 0]
        rotation[i + 1] = rotation[parent] @ flat[:, :9].reshape(-1, 3, 3)
    return rotation, position


class Bounding:
    """Balls around shapes, and how far the parts of pairs are apart at least.

    shapes   of the links and of what stands around them, where their joints are
    """

    def __init__(self, tree: Tree, shapes: Sequence[pin.GeometryObject]) -> None:
        self._tree = tree
        self._joint = np.array([int(shape.parentJoint) for shape in shapes], dtype=np.int64)
        self._centre, self._radius = np.zeros((len(shapes), 3)), np.zeros(len(shapes))
        self._half_space: dict[int, tuple[Array, float]] = {}
        for k, shape in enumerate(shapes):
            solid = shape.geometry
            if isinstance(solid, coal.Halfspace):
                normal = shape.placement.rotation @ np.array(solid.n).ravel()
                self._half_space[k] = normal, float(solid.d) + float(normal @ shape.placement.translation)
                continue
            solid.computeLocalAABB()
            centre = shape.placement.act(np.array(solid.aabb_center).ravel())
            self._radius[k] = float(solid.aabb_radius)
            if self._joint[k]:  # in the link's frame
                inside = np.linalg.inv(tree.link_in_joint[self._joint[k] - 1])
                centre = inside[:3, :3] @ centre + inside[:3, 3]
            self._centre[k] = centre

    def apart(self, q: Array, first: Ints, second: Ints) -> Array:
        """At least this far apart [m] are the shapes `first` and `second` (P,) along q (T, n), shape (T, P)."""
        rotation, position = link_poses(self._tree, q)
        centres = position[self._joint] + (rotation[self._joint] @ self._centre[:, None, :, None])[..., 0]
        centres = centres.transpose(1, 0, 2)  # (T, shapes, 3)
        found = np.linalg.norm(centres[:, first] - centres[:, second], axis=2)
        found -= self._radius[first] + self._radius[second]
        for k, (normal, offset) in self._half_space.items():
            for own, other in ((second, first), (first, second)):
                at = np.flatnonzero(own == k)
                found[:, at] = centres[:, other[at]] @ normal - offset - self._radius[other[at]]
        return np.asarray(found - ROUNDING)
