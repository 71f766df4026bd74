"""Places of a regressor's non-zero entries: a joint's row has only the links it moves, and its drive."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.bodies.parameters import FORCE_COLUMNS
from heft.identify.robot.regressor.contact_rows import ContactRows
from heft.identify.robot.regressor.cut import AXES, Contact, Cut, Part
from heft.identify.robot.regressor.drives import Column, Drives
from heft.identify.robot.regressor.tree import Tree

__all__ = ["RowLayout"]

Ints = NDArray[np.int64]
OWN, CARRIED, FROM_BASE = range(3)  # where the pose at a cut comes from, see `passed`


@dataclass(frozen=True, eq=False)
class RowLayout:
    """The rows of one sample side by side, without the structural zeros: C columns.

    First the n joints' rows, then six for every cut. Row j's part, `row(j)`, has the ten columns of each body that it
    moves (four where it is a force, on which no inertia has a part), its drive columns or biases, and what was measured
    (torque, force) as the last; `parameters` gives each column's place among the p parameters, p itself for that one.

    contacts   where wrenches act from outside
    torques_measured   joints' rows have columns, else only a place for what was measured
    parts      bodies beside the tree's links and a free root, each fixed to a link
    """

    names: tuple[str, ...]
    tree: Tree
    drives: Drives
    cuts: tuple[Cut, ...] = ()
    contacts: tuple[Contact, ...] = ()
    parts: tuple[Part, ...] = ()
    torques_measured: bool = True

    @cached_property
    def row_names(self) -> tuple[str, ...]:
        """Joints, then the six numbers of each cut."""
        return self.drives.joints + tuple(name for cut in self.cuts for name in cut.rows)

    @cached_property
    def count(self) -> int:
        """Rows of a sample."""
        return len(self.tree) + 6 * len(self.cuts)

    @cached_property
    def frames(self) -> tuple[int, ...]:
        """The frame of the kernel that each body moves with: the tree's links, then parts; -1: a free root."""
        n = len(self.tree)
        return (*range(n), *((-1,) if self.tree.free else ()), *range(n, n + len(self.parts)))

    def _support(self, frame: int) -> tuple[int, ...]:
        """The joints that move a frame of the kernel."""
        n = len(self.tree)
        return self.tree.support(frame if frame < n else self.parts[frame - n].link)

    @cached_property
    def bodies(self) -> tuple[tuple[int, ...], ...]:
        """The bodies of each row in order."""
        if not self.torques_measured:
            moved: list[tuple[int, ...]] = [()] * len(self.tree)
        else:
            moved = [
                tuple(b for b, frame in enumerate(self.frames) if frame >= 0 and j in self._support(frame))
                for j in range(len(self.tree))
            ]
        return (*moved, *(tuple(sorted(cut.bodies)) for cut in self.cuts for _ in AXES))

    @cached_property
    def contact_rows(self) -> ContactRows:
        """What the contacts add to rows."""
        n = len(self.tree)
        summed = [n + 6 * k for k, cut in enumerate(self.cuts) if cut.summed]
        return ContactRows(self.tree, self.contacts, summed[0] if summed else None)

    @cached_property
    def added(self) -> tuple[tuple[Column, ...], ...]:
        """Columns of each row beside those of bodies: of drives, and of biases, by the places of their `signals`."""
        n, since = len(self.tree), self.drives.signal_count
        own: list[tuple[Column, ...]] = [
            self.drives.columns(j) if self.torques_measured else () for j in range(n)
        ]
        for cut in self.cuts:
            own += [
                tuple(Column(name, at) for name, at in zip(names, (0, since), strict=False))
                for names in cut.biases
            ]
        biases = [
            self.contact_rows.biases(row, since + 1) if row >= n or self.torques_measured else ()
            for row in range(len(own))
        ]
        return tuple(
            (*columns, *(Column(name, signal) for name, signal in more))
            for columns, more in zip(own, biases, strict=True)
        )

    def signals(
        self, q: Array, dq: Array, ddq: Array, warmth: Array | None = None, since: Array | None = None
    ) -> Array:
        """What the columns of `added` are made of, by motion (n, T), shape (signals, T).

        Those of the drives (the first is one at all times); with sensors `since` [s] (T,), what time it is from the
        middle of the recording (None: that), then the levers of contacts, and these times `since`.
        """
        signals = self.drives.signals(dq, ddq, warmth)
        if not self.cuts and not self.contacts:
            return signals
        time = np.zeros(q.shape[1]) if since is None else since
        levers = self.contact_rows.levers(q)
        return np.concatenate([signals, time[None], levers, levers * time])

    @cached_property
    def row_starts(self) -> Ints:
        """First column of each row's part, and C at the end, shape (rows + 1,)."""
        widths = [
            self.per_body(row) * len(bodies) + len(more) + 1
            for row, (bodies, more) in enumerate(zip(self.bodies, self.added, strict=True))
        ]
        return np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)

    def per_body(self, row: int) -> int:
        """Columns of each body in a row: mass and first moment alone for the forces of a cut."""
        n = len(self.tree)
        return FORCE_COLUMNS if row >= n and (row - n) % 6 < 3 else 10

    @property
    def width(self) -> int:
        """C."""
        return int(self.row_starts[-1])

    def row(self, row: int) -> slice:
        """Columns of one row's part."""
        return slice(int(self.row_starts[row]), int(self.row_starts[row + 1]))

    @cached_property
    def parameters(self) -> Ints:
        """Index among the parameters of each column, shape (C,); p for what was measured."""
        index = {name: i for i, name in enumerate(self.names)}
        indices: list[int] = []
        for row, (bodies, added) in enumerate(zip(self.bodies, self.added, strict=True)):
            indices += [10 * b + k for b in bodies for k in range(self.per_body(row))]
            indices += [index[column.parameter] for column in added]
            indices.append(len(self.names))
        return np.array(indices, dtype=np.int64)

    @cached_property
    def pairs(self) -> tuple[Ints, Ints]:
        """(frame, joint that moves it), frame by frame from the base outwards, and the frames' first pairs.

        Pair columns: the pair of the parent frame that has the joint's screw (-1: the joint is the frame's own), and
        the first column of the frame's body in the joint's row. Shapes (P, 2), (frames + 1,).
        """
        pairs: list[tuple[int, int]] = []
        place: dict[tuple[int, int], int] = {}
        starts = [0]
        for i in range(len(self._parents)):
            for j in self._support(i) if self.torques_measured else ():
                place[i, j] = len(pairs)
                pairs.append((place.get((self._parents[i], j), -1), self._column(i, j)))
            starts.append(len(pairs))
        return np.array(pairs, dtype=np.int64).reshape(-1, 2), np.array(starts, dtype=np.int64)

    @cached_property
    def passed(self) -> tuple[Ints, Ints]:
        """(frame, cut whose frame is on its way or before it), frame by frame, and the frames' first ones.

        Columns: kind, source, first columns of the frame's body in the cut's six rows (-1: not beyond). The frame's
        pose at the cut is number `source` of `cut_poses` (OWN), the parent frame's there in `source` and its own in
        the parent (CARRIED), or `cut_poses` and its own in the base (FROM_BASE).
        Shapes (P, 8), (frames + 1,).
        """
        passed: list[tuple[int, ...]] = []
        place: dict[tuple[int, int], int] = {}
        starts, n = [0], len(self.tree)
        for i in range(len(self._parents)):
            for k, cut in enumerate(self.cuts):
                if cut.link >= 0 and cut.link not in self._support(i):
                    continue
                if cut.link == i:
                    kind, source = OWN, k
                elif (self._parents[i], k) in place:
                    kind, source = CARRIED, place[self._parents[i], k]
                else:
                    kind, source = FROM_BASE, k
                place[i, k] = len(passed)
                passed.append((kind, source, *(self._column(i, n + 6 * k + r) for r in range(6))))
            starts.append(len(passed))
        return np.array(passed, dtype=np.int64).reshape(-1, 8), np.array(starts, dtype=np.int64)

    @cached_property
    def _parents(self) -> tuple[int, ...]:
        """The parent of each frame of the kernel; -1: the base."""
        return (*self.tree.parents.tolist(), *(part.link for part in self.parts))

    def _column(self, frame: int, row: int) -> int:
        """First column in a row of the body that moves with a frame; -1 where it is not beyond."""
        body = self.frames.index(frame)
        bodies = self.bodies[row]
        if body not in bodies:
            return -1
        return int(self.row_starts[row]) + self.per_body(row) * bodies.index(body)

    @cached_property
    def roots(self) -> Ints:
        """Cuts at the base that a free root is part of: the cut, and first columns in its six rows, shape (K, 7)."""
        n, root = len(self.tree), len(self.tree)
        found = [
            (k, *(self._column(-1, n + 6 * k + r) for r in range(6)))
            for k, cut in enumerate(self.cuts)
            if self.tree.free and cut.link < 0 and root in cut.bodies
        ]
        return np.array(found, dtype=np.int64).reshape(-1, 7)

    @cached_property
    def cut_poses(self) -> Array:
        """The pose of each cut's link (or of the base) at the cut: rotation by rows, position; shape (cuts, 12)."""
        return frozen(np.array([cut.of_link for cut in self.cuts]).reshape(-1, 12))

    @cached_property
    def terms(self) -> tuple[Ints, Array]:
        """Drive and bias columns: (column, signal, joint whose load it follows or -1), shape (D, 3); weights (D,)."""
        places, weights = [], []
        for j, (bodies, added) in enumerate(zip(self.bodies, self.added, strict=True)):
            first = int(self.row_starts[j]) + self.per_body(j) * len(bodies)
            for k, column in enumerate(added):
                places.append((first + k, column.signal, j if column.by_load else -1))
                weights.append(column.weight)
        return np.array(places, dtype=np.int64).reshape(-1, 3), frozen(weights)

    @cached_property
    def torques(self) -> Ints:
        """The columns of what was measured, shape (rows,)."""
        return self.row_starts[1:] - 1

    def measured(self, torque: Array | None, wrenches: dict[str, Array], q: Array) -> Array:
        """What was measured of each row at positions q (n, T), shape (rows, T).

        torque     of the joints (n, T), or None: not measured
        wrenches   by the name of a cut or contact, (6, T) each
        """
        n = len(self.tree)
        out = np.zeros((self.count, q.shape[1]))
        if torque is not None:
            out[:n] = torque
        for k, cut in enumerate(self.cuts):
            if not cut.summed:
                out[n + 6 * k : n + 6 * k + 6] = wrenches[cut.name]
        if self.contacts:
            self.contact_rows.add(wrenches, self.contact_rows.levers(q), out)
        return out
