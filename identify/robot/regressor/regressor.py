"""The inverse dynamics of a robot as rows that are linear in its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.bodies.parameters import parameter_names
from heft.identify.errors import ParameterError
from heft.identify.robot.regressor.cut import Contact, Cut, Part
from heft.identify.robot.regressor.drives import Drives
from heft.identify.robot.regressor.row_layout import RowLayout
from heft.identify.robot.regressor.tree import Tree

if TYPE_CHECKING:
    from heft.identify.robot.regressor.kernel import Chain, Shape

__all__ = ["Regressor"]


@dataclass(frozen=True, eq=False)
class Regressor:
    """torque = Y(q, dq, ddq) x (002, Eq. 2), for many samples at once; and so the wrenches at `cuts`.

    Of a robot whose base moves freely, `base` (T, 9) is how its root moves: angular velocity [rad/s], angular
    acceleration [rad/s2] and the acceleration of its origin less gravity [m/s2], in the root's frame. `prior` (p,) is
    what load friction takes the load from; others as in `RowLayout`.
    """

    links: tuple[str, ...]
    tree: Tree
    drives: Drives
    prior: Array | None = None
    cuts: tuple[Cut, ...] = ()
    contacts: tuple[Contact, ...] = ()
    parts: tuple[Part, ...] = ()
    torques_measured: bool = True

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the p parameters."""
        own = dict(zip(self.drives.joints, self.drives.joint_terms, strict=True))
        sensors: tuple[Cut | Contact, ...] = (*self.cuts, *self.contacts)
        biases = tuple(name for one in sensors for names in one.biases for name in names)
        return parameter_names(self.links, own) + self.drives.motor_parameters + biases

    @cached_property
    def layout(self) -> RowLayout:
        """Where the non-zero columns stand."""
        return RowLayout(
            self.names,
            self.tree,
            self.drives,
            self.cuts,
            self.contacts,
            self.parts,
            self.torques_measured,
        )

    def dense(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike,
        warmth: ArrayLike | None = None,
        base: ArrayLike | None = None,
        since: Array | None = None,
    ) -> Array:
        """Y at each sample, from q, dq, ddq (T, n): shape (T, rows, p). For few samples: it is mostly zeros.

        `warmth` as in `decimate`, but (T, n), and `since`.
        """
        rows = self.rows(q, dq, ddq, warmth=warmth, base=base, since=since)
        n, p = self.layout.count, len(self.names)
        dense = np.zeros((len(rows), n, p + 1))
        for j in range(n):
            part = self.layout.row(j)
            dense[:, j, self.layout.parameters[part]] = rows[:, part]
        return dense[:, :, :p]

    def by_acceleration(self, q: Array) -> Array:
        """What a unit of each joint's acceleration changes of Y, at rest at positions q (T, n): (n, T, rows, p)."""
        count, n = q.shape
        pushes = np.repeat(np.vstack([np.zeros(n), np.eye(n)]), count, axis=0)
        Y = self.dense(np.tile(q, (n + 1, 1)), np.zeros_like(pushes), pushes)
        parts = Y.reshape(n + 1, count, self.layout.count, -1)
        return np.asarray(parts[1:] - parts[0])

    def rows(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike,
        torque: ArrayLike | None = None,
        warmth: ArrayLike | None = None,
        base: ArrayLike | None = None,
        since: Array | None = None,
    ) -> Array:
        """Non-zero columns of every row side by side (see `RowLayout`), shape (T, C).

        `base` (T, 9), None: a free root rests upright.
        """
        position, velocity = self._samples("q", q), self._samples("dq", dq)
        acceleration = self._samples("ddq", ddq)
        forces = np.zeros((self.layout.count, position.shape[1]))
        if torque is not None:
            forces[: len(self.tree)] = self._samples("torque", torque)
        root = None if base is None else np.asarray(base, dtype=np.float64).T
        out = np.zeros((position.shape[1], self.layout.width))
        warm = None if warmth is None else self._samples("warmth", warmth)
        self.decimate(position, velocity, acceleration, forces, frozen([1.0]), 1, 0, out, warm, root, since)
        return out

    def torque(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike,
        parameters: ArrayLike,
        base: ArrayLike | None = None,
    ) -> Array:
        """Y x at each sample [N m, N], shape (T, rows), from q, dq, ddq (T, n) and x (p,)."""
        x = np.asarray(parameters, dtype=np.float64)
        if x.shape != (len(self.names),):
            raise ParameterError(f"{x.shape} parameters, the robot has {len(self.names)}")
        arrays = [np.asarray(value, dtype=np.float64) for value in (q, dq, ddq)]
        full = np.append(x, 0.0)[self.layout.parameters]
        root = None if base is None else np.asarray(base, dtype=np.float64)
        torque = np.zeros((len(arrays[0]), self.layout.count))
        for start in range(0, len(torque), 4096):
            piece = slice(start, start + 4096)
            moved = None if root is None else root[piece]
            weighted = self.rows(arrays[0][piece], arrays[1][piece], arrays[2][piece], base=moved) * full
            torque[piece] = np.add.reduceat(weighted, self.layout.row_starts[:-1], axis=1)
        return torque

    def decimate(
        self,
        q: Array,
        dq: Array,
        ddq: Array,
        torque: Array,
        taps: Array,
        step: int,
        origin: int,
        out: Array,
        warmth: Array | None = None,
        base: Array | None = None,
        since: Array | None = None,
    ) -> None:
        """Add the filtered rows of a stretch of samples (n, T) to `out` (K, C); see `kernel.decimate`.

        torque   what was measured of each row (rows, T)
        warmth   how much warmer than `REFERENCE_K` the joints are [K], (n, T)
        base     motion of a free root (9, T); None: it rests upright
        since    what time it is, from where drifts of sensors are counted [s], (T,); None: that instant
        """
        from heft.identify.robot.regressor.kernel import decimate

        dq, ddq, torque = (np.ascontiguousarray(array) for array in (dq, ddq, torque))
        root = self._root(base, dq.shape[1])
        c, s = self._turned(q)
        tree, shape, load = self._fixed
        signals = self.layout.signals(q, dq, ddq, warmth, since)
        decimate(c, s, dq, ddq, root, torque, signals, tree, shape, load, taps, step, origin, out)

    def _root(self, base: Array | None, length: int) -> Array:
        """The motion of the root (9, T), or (0, T) where the base is fixed."""
        if not self.tree.free:
            return np.zeros((0, length))
        if base is None:
            rest = np.concatenate([np.zeros(6), -self.tree.gravity])
            return np.repeat(rest[:, None], length, axis=1)
        if base.shape != (9, length):
            raise ParameterError(f"base has shape {base.T.shape}, expected ({length}, 9)")
        return np.ascontiguousarray(base)

    def link_motion(self, link: int, q: Array, dq: Array, ddq: Array) -> Array:
        """How a link moves at T samples (n, T): angular velocity [rad/s], angular acceleration [rad/s2] and the
        acceleration of its origin less gravity [m/s2], in its own frame: shape (9, T).
        """
        from heft.identify.robot.regressor.kernel import link_motion

        c, s = self._turned(q)
        out = np.empty((9, q.shape[1]))
        path = np.array(self.tree.support(link), dtype=np.int64)
        link_motion(c, s, np.ascontiguousarray(dq), np.ascontiguousarray(ddq), self._fixed[0], path, out)
        return out

    def link_rotation(self, link: int, q: Array) -> Array:
        """Rotation of a link to the base's frame at T samples (n, T): shape (T, 3, 3)."""
        from heft.identify.robot.regressor.kernel import link_rotation

        c, s = self._turned(q)
        out = np.empty((9, q.shape[1]))
        path = np.array(self.tree.support(link), dtype=np.int64)
        link_rotation(c, s, self.tree.coefficients, path, out)
        return np.ascontiguousarray(out.T).reshape(-1, 3, 3)

    def _turned(self, q: Array) -> tuple[Array, Array]:
        """c and s of `Tree.coefficients`, each (n, T)."""
        from heft.identify.robot.regressor.elementary import cosine_sine

        c, s = np.empty(q.shape), np.empty(q.shape)
        cosine_sine(np.ascontiguousarray(q), c, s)
        slides = self.tree.prismatic
        c[slides], s[slides] = q[slides], 0.0
        return c, s

    @cached_property
    def _fixed(self) -> tuple[Chain, Shape, Array]:
        tree, layout = self.tree, self.layout
        places = (*layout.pairs, *layout.passed, layout.roots, layout.cut_poses)
        terms, weights = layout.terms
        load = np.zeros(len(self.names) + 1)
        bodies = 10 * len(self.links)
        if self.prior is not None:
            load[:bodies] = self.prior[:bodies]  # what links weigh, not what drives add
        fixed = np.zeros((len(self.parts), 3, 12))
        for k, part in enumerate(self.parts):
            fixed[k, 0] = np.concatenate([part.place[:3, :3].ravel(), part.place[:3, 3]])
        chain = (
            np.concatenate([tree.parents, np.array([part.link for part in self.parts], dtype=np.int64)]),
            np.concatenate([tree.coefficients, fixed]),
            np.concatenate([tree.screws, np.zeros((len(self.parts), 6))]),
            tree.gravity,
        )
        return (
            chain,
            (places, terms, weights, layout.row_starts),
            load[layout.parameters],
        )

    def _samples(self, name: str, values: ArrayLike) -> Array:
        array = np.asarray(values, dtype=np.float64)
        if array.ndim != 2 or array.shape[1] != len(self.tree):
            raise ParameterError(f"{name} has shape {array.shape}, expected (T, {len(self.tree)})")
        return np.ascontiguousarray(array.T)
