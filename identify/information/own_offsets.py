"""Torque offsets that are each recording's own, taken out of the rows of the regression.

With o_g the offset of a joint in recording g, written as a mean o and what is left of it, o_g = o + e_g, the e_g are
projected out of every column y of the joint's rows (Frisch and Waugh 1933):

    y' = y - mean over recording g + mean over all rows

The offset's own column of ones stays, so that its parameter is the mean of the o_g by rows; all other parameters are
those of least squares with an offset for every recording. Sums and rates of torque are linear in the rows, and follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.data import Dataset, RowBlock
from heft.identify.robot import Robot

__all__ = ["RowMeans", "RowSums", "recording_numbers"]


def recording_numbers(datasets: Sequence[Dataset]) -> tuple[int, ...]:
    """The number of the recording that each dataset is of, from 0 on: parts of one have one, arrays each their own."""
    known: dict[str, int] = {}
    return tuple(known.setdefault(one.part_of or f"{i}", len(known)) for i, one in enumerate(datasets))


@dataclass(frozen=True, eq=False)
class RowMeans:
    """Means of the rows of every recording, G of them, and of all together; NaN where a joint has no row.

    table     shape (G, C); `rates` shape (G, n, 2); `weight` of each joint's rows, shape (G, n)
    columns   joint that each column belongs to, shape (C,); `own`: joints that have offsets, shape (n,)
    """

    table: Array
    rates: Array
    weight: Array
    columns: NDArray[np.int64]
    own: NDArray[np.bool_]

    def shifted(self, block: RowBlock, recording: int) -> RowBlock:
        """The rows of a recording with its means replaced by those of all rows."""
        share = self.weight / np.maximum(self.weight.sum(axis=0), 1e-300)
        applies = self.own & (self.weight[recording] > 0)
        table = (share[:, self.columns] * self.table).sum(axis=0) - self.table[recording]
        rates = (share[:, :, None] * self.rates).sum(axis=0) - self.rates[recording]
        return block.shifted(
            np.where(applies[self.columns], table, 0.0), np.where(applies[:, None], rates, 0.0)
        )

    def block(self, like: RowBlock) -> RowBlock:
        """The means as rows: one for every recording."""
        count = len(self.table)
        return RowBlock(
            like.layout, np.arange(count), np.zeros(count), self.table, self.weight > 0, self.rates
        )


class RowSums:
    """Sums of the rows of every recording, weighted per joint."""

    def __init__(self, robot: Robot, recordings: int) -> None:
        layout, joints = robot.regressor.layout, robot.rows
        self._columns = np.repeat(np.arange(len(joints)), np.diff(layout.row_starts))
        self._own = np.array([f"{joint}.offset" in layout.names for joint in joints])
        self._table = np.zeros((recordings, layout.width))
        self._rates = np.zeros((recordings, len(joints), 2))
        self._weight = np.zeros((recordings, len(joints)))

    def add(self, block: RowBlock, recording: int, weights: Array) -> None:
        """Rows of a recording with weights on the squares (B, n)."""
        self._table[recording] += (weights[:, self._columns] * block.table).sum(axis=0)
        self._rates[recording] += (weights[:, :, None] * block.rates).sum(axis=0)
        self._weight[recording] += weights.sum(axis=0)

    def means(self) -> RowMeans:
        """Of all rows so far."""
        weight = np.maximum(self._weight, 1e-300)
        table, rates = self._table / weight[:, self._columns], self._rates / weight[:, :, None]
        return RowMeans(table, rates, self._weight, self._columns, self._own)
