"""The kinematic tree of a robot as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.errors import ModelError

__all__ = ["Tree", "pose", "squared"]

ROUNDED = 1e-3  # [rad] an angle in a file this near to a right angle (1.57, 1.5708) is meant as one


def pose(rotation: ArrayLike, position: ArrayLike) -> Array:
    """Homogeneous transform, shape (4, 4), from a rotation (3, 3) and a position [m] (3,)."""
    matrix = np.eye(4)
    matrix[:3, :3] = rotation
    matrix[:3, 3] = position
    return matrix


def squared(rotation: ArrayLike) -> Array:
    """`rotation` (3, 3), made of exact right angles where it nearly is: files round, and rank must not."""
    matrix = np.array(rotation, dtype=np.float64)
    square = np.round(matrix)
    near = np.abs(matrix - square).max() <= ROUNDED and np.array_equal(square @ square.T, np.eye(3))
    return square if near else matrix


@dataclass(frozen=True, eq=False)
class Tree:
    """n links, each moved by one joint; a parent comes before its children.

        pose of link i in its parent = A_i J_i(q_i) B_i

    parents          index of the parent link, -1 for the base, shape (n,)
    joint_in_parent  A: the joint's frame in the parent link's frame (or the base's), shape (n, 4, 4)
    link_in_joint    B: the link's frame in the joint's moved frame, shape (n, 4, 4)
    axis             unit vector in the joint's frame, shape (n, 3)
    prismatic        J is a translation [m] along the axis, else a rotation [rad] about it, shape (n,)
    gravity          in the world [m/s2], which is the base's frame where the base is fixed, shape (3,)
    free             the base is a link of its own that moves freely (the root), else it stands still
    """

    parents: NDArray[np.int64]
    joint_in_parent: Array
    link_in_joint: Array
    axis: Array
    prismatic: NDArray[np.bool_]
    gravity: Array
    free: bool = False

    def __post_init__(self) -> None:
        n = len(self.parents)
        parents = np.array(self.parents, dtype=np.int64)
        if n == 0 or np.any(parents >= np.arange(n)) or np.any(parents < -1):
            raise ModelError(f"parents {parents.tolist()}: each link's parent must come before it, or be -1")
        prismatic = np.array(self.prismatic, dtype=bool)
        axis = np.array(self.axis, dtype=np.float64)
        length = np.linalg.norm(axis, axis=-1, keepdims=True)
        if axis.shape != (n, 3) or np.any(length < 1e-9):
            raise ModelError(f"axes {axis.tolist()}: each of the {n} joints needs a vector longer than zero")
        for array in (parents, prismatic):
            array.setflags(write=False)
        object.__setattr__(self, "parents", parents)
        object.__setattr__(self, "prismatic", prismatic)
        object.__setattr__(self, "axis", frozen(axis / length))
        object.__setattr__(self, "gravity", frozen(self.gravity))
        for name in ("joint_in_parent", "link_in_joint"):
            value = frozen(getattr(self, name))
            rotation = value[:, :3, :3]
            if value.shape != (n, 4, 4) or not np.allclose(
                rotation @ rotation.transpose(0, 2, 1), np.eye(3), atol=1e-9
            ):
                raise ModelError(f"{name}: not {n} homogeneous transforms")
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.parents)

    @cached_property
    def coefficients(self) -> Array:
        """The pose of link i in its parent as K0 + c K1 + s K2, shape (n, 3, 12).

        Twelve numbers: rotation (9, by rows), position (3). (c, s) is (cos q, sin q) for a revolute joint and
        (q, 0) for a prismatic one.
        """
        coefficients = np.zeros((len(self), 3, 12))
        for i, (A, B, a) in enumerate(zip(self.joint_in_parent, self.link_in_joint, self.axis, strict=True)):
            if self.prismatic[i]:
                parts = (np.eye(3), np.zeros((3, 3)), np.zeros((3, 3)))
                slide = A[:3, :3] @ a
            else:
                x, y, z = a
                skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
                parts = (np.outer(a, a), np.eye(3) - np.outer(a, a), skew)
                slide = np.zeros(3)
            for k, part in enumerate(parts):
                coefficients[i, k, :9] = (A[:3, :3] @ part @ B[:3, :3]).ravel()
                coefficients[i, k, 9:] = A[:3, :3] @ part @ B[:3, 3]
            coefficients[i, 0, 9:] += A[:3, 3]
            coefficients[i, 1, 9:] += slide
        return frozen(coefficients)

    @cached_property
    def screws(self) -> Array:
        """Velocity of each link per unit of its joint's, in the link's frame: angular, linear; (n, 6)."""
        screws = np.zeros((len(self), 6))
        for i, (B, a) in enumerate(zip(self.link_in_joint, self.axis, strict=True)):
            if self.prismatic[i]:
                screws[i, 3:] = B[:3, :3].T @ a
            else:
                screws[i, :3] = B[:3, :3].T @ a
                screws[i, 3:] = B[:3, :3].T @ np.cross(a, B[:3, 3])
        return frozen(screws)

    def support(self, link: int) -> tuple[int, ...]:
        """The joints that move a link, from the base outwards; the last one is its own."""
        path = []
        while link >= 0:
            path.append(link)
            link = int(self.parents[link])
        return tuple(reversed(path))

    def subtree(self, joint: int) -> tuple[int, ...]:
        """The links that a joint moves, in order."""
        return tuple(i for i in range(len(self)) if joint in self.support(i))

    def poses(self, q: ArrayLike) -> Array:
        """Pose of every link in the base frame at positions q [rad, m], shape (n,): shape (n, 4, 4)."""
        positions = np.asarray(q, dtype=np.float64)
        c = np.where(self.prismatic, positions, np.cos(positions))
        s = np.where(self.prismatic, 0.0, np.sin(positions))
        poses = np.zeros((len(self), 4, 4))
        for i, k in enumerate(self.coefficients):
            flat = k[0] + c[i] * k[1] + s[i] * k[2]
            local = pose(flat[:9].reshape(3, 3), flat[9:])
            parent = int(self.parents[i])
            poses[i] = local if parent < 0 else poses[parent] @ local
        return poses

    def link_pose(self, link: int, q: Array) -> tuple[Array, Array]:
        """Rotation (T, 3, 3) and position [m] (T, 3) of a link in the base's frame, at positions q (n, T).

        -1 is the base itself.
        """
        rotation, position = np.broadcast_to(np.eye(3), (q.shape[1], 3, 3)), np.zeros((q.shape[1], 3))
        for i in self.support(link):
            c, s = (q[i], np.zeros_like(q[i])) if self.prismatic[i] else (np.cos(q[i]), np.sin(q[i]))
            K = self.coefficients[i]
            flat = K[0] + c[:, None] * K[1] + s[:, None] * K[2]
            position = position + (rotation @ flat[:, 9:, None])[:, :, 0]
            rotation = rotation @ flat[:, :9].reshape(-1, 3, 3)
        return rotation, position

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        arrays = {
            name: getattr(self, name).tolist()
            for name in ("parents", "joint_in_parent", "link_in_joint", "axis", "prismatic", "gravity")
        }
        return {**arrays, **({"free": True} if self.free else {})}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Inverse of `to_dict`."""
        arrays = {name: np.array(value) for name, value in data.items() if name != "free"}
        return cls(**arrays, free=bool(data.get("free", False)))
