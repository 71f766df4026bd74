"""How large each link is: the box it fits in, from what the robot's files say or from where its joints are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.bodies.pseudo_inertia import second_moment_about_com
from heft.identify.robot.regressor import Tree

__all__ = ["link_extents"]

LEAST_HALF = 0.05  # [m] half a side: no link of an arm is known to be thinner, whatever its drawing says
MOST_HALF = 0.6  # [m] by inertia alone: files have wrong inertias


def link_extents(
    links: tuple[str, ...],
    tree: Tree,
    inertias: Array,
    shapes: Mapping[str, Array],
    boxes: Mapping[str, Array],
) -> dict[str, Array]:
    """For each link a box in its frame [m], lowest and highest corner (2, 3).

    inertias   ten numbers of each link as far as they are known, zero where they are not, shape (n, 10)
    shapes     boxes around what the model file draws, of some links; `boxes`: as the robot's file states them

    A stated box comes first, then one that is drawn, at least 2 LEAST_HALF wide. Without either: a box with the
    centre of mass in its middle that reaches the origins of the link's joint and of its children's, and is as long as
    an even bar with the link's second moments.
    """
    extents = {}
    for i, link in enumerate(links):
        if link in boxes:
            extents[link] = boxes[link]
        elif link in shapes:
            low, high = shapes[link]
            extents[link] = _box((low + high) / 2, (high - low) / 2)
        else:
            extents[link] = _by_kinematics(i, tree, inertias[i])
    return extents


def _by_kinematics(i: int, tree: Tree, ten: Array) -> Array:
    root = (
        i == len(tree) and tree.free
    )  # a body after the links and a free root is a part of one: a frame of its own
    own = np.linalg.inv(tree.link_in_joint[i])[:3, 3] if i < len(tree) else np.zeros(3)
    children = np.flatnonzero(tree.parents == (-1 if root else i)).tolist()
    ends = np.array([own, *(tree.joint_in_parent[child][:3, 3] for child in children)])
    if ten[0] <= 0:
        middle = (ends.min(axis=0) + ends.max(axis=0)) / 2
        return _box(middle, np.abs(ends - middle).max(axis=0))
    middle = ten[1:4] / ten[0]
    bar = np.sqrt(np.maximum(3 * np.diag(second_moment_about_com(ten)) / ten[0], 0.0))
    return _box(middle, np.maximum(np.abs(ends - middle).max(axis=0), np.minimum(bar, MOST_HALF)))


def _box(middle: Array, half: Array) -> Array:
    half = np.maximum(half, LEAST_HALF)
    return frozen(np.array([middle - half, middle + half]))
