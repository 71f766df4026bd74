"""Places of a regressor's non-zero entries: a joint's row has only the links it moves, and its drive."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.robot.regressor.drives import Drives
from heft.identify.robot.regressor.tree import Tree

__all__ = ["RowLayout"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RowLayout:
    """The rows of all joints of one sample side by side, without the structural zeros: C columns.

    Joint j's part, `row(j)`, has the ten columns of each link it moves, its drive columns, and its torque as
    the last; `parameters` gives each column's place among the p parameters (p itself for the torque).
    """

    names: tuple[str, ...]
    tree: Tree
    drives: Drives

    @cached_property
    def row_starts(self) -> Ints:
        """First column of each joint's part, and C at the end, shape (n + 1,)."""
        widths = [
            10 * len(self.tree.subtree(j)) + len(self.drives.columns(j)) + 1 for j in range(len(self.tree))
        ]
        return np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)

    @property
    def width(self) -> int:
        """C."""
        return int(self.row_starts[-1])

    def row(self, joint: int) -> slice:
        """Columns of one joint's part."""
        return slice(int(self.row_starts[joint]), int(self.row_starts[joint + 1]))

    @cached_property
    def parameters(self) -> Ints:
        """Index among the parameters of each column, shape (C,); p for torque columns."""
        index = {name: i for i, name in enumerate(self.names)}
        indices: list[int] = []
        for j in range(len(self.tree)):
            indices += [10 * i + k for i in self.tree.subtree(j) for k in range(10)]
            indices += [index[column.parameter] for column in self.drives.columns(j)]
            indices.append(len(self.names))
        return np.array(indices, dtype=np.int64)

    @cached_property
    def pairs(self) -> tuple[Ints, Ints]:
        """(link, joint that moves it), link by link from the base outwards, and the links' first pairs.

        Pair columns: joint, pair of the parent link with the same joint (-1: the link's own joint), first
        column of the link in the joint's part. Shapes (P, 3) and (n + 1,).
        """
        pairs: list[tuple[int, int, int]] = []
        place: dict[tuple[int, int], int] = {}
        starts = [0]
        for i in range(len(self.tree)):
            for j in self.tree.support(i):
                parent = place.get((int(self.tree.parents[i]), j), -1)
                column = int(self.row_starts[j]) + 10 * self.tree.subtree(j).index(i)
                place[i, j] = len(pairs)
                pairs.append((j, parent, column))
            starts.append(len(pairs))
        return np.array(pairs, dtype=np.int64), np.array(starts, dtype=np.int64)

    @cached_property
    def terms(self) -> tuple[Ints, Array]:
        """Drive columns: (column, signal, joint whose load it follows or -1), shape (D, 3); weights (D,)."""
        places, weights = [], []
        for j in range(len(self.tree)):
            first = int(self.row_starts[j]) + 10 * len(self.tree.subtree(j))
            for k, column in enumerate(self.drives.columns(j)):
                places.append((first + k, column.signal, j if column.by_load else -1))
                weights.append(column.weight)
        return np.array(places, dtype=np.int64).reshape(-1, 3), frozen(weights)

    @cached_property
    def torques(self) -> Ints:
        """The torque columns, shape (n,)."""
        return self.row_starts[1:] - 1
