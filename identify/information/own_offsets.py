"""Biases that are each recording's own, taken out of the rows of the regression: offsets, and drifts of sensors.

With b_g the bias of a row in recording g, an offset and, of a sensor's row, a drift, written as a mean b and what is
left of it, b_g = b + e_g, the e_g are projected out of every column y of the row's table (Frisch and Waugh 1933).
With C the columns of b, in recording g C_g:

    y' = y + C (B - B_g) y,   B_g = (C_g' C_g)^-1 C_g',   B the same of all rows together

Of an offset alone B_g y is y's mean over recording g. The columns of b themselves stay as they are, so that their
parameters are b, the mean of the b_g by rows; all other parameters are those of least squares with a bias for every
recording. Sums and rates of torque are linear in the rows, and follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.data import Dataset, RowBlock
from heft.identify.robot import Robot
from heft.identify.robot.regressor import BIAS_TERMS, RowLayout

__all__ = ["RowMeans", "RowSums", "recording_numbers"]

BIASES = len(BIAS_TERMS)


def recording_numbers(datasets: Sequence[Dataset]) -> tuple[int, ...]:
    """The number of the recording that each dataset is of, from 0 on: parts of one have one, arrays each their own."""
    known: dict[str, int] = {}
    return tuple(known.setdefault(one.part_of or f"{i}", len(known)) for i, one in enumerate(datasets))


@dataclass(frozen=True, eq=False)
class RowMeans:
    """B y of the rows of every recording, G of them, and what all together differ from it by.

    table     B_g of each column, for the row that it belongs to, shape (G, 2, C); `rates` shape (G, 2, n, 2)
    weight    of each row, shape (G, n)
    change    B - B_g of the columns, shape (G, 2, C); zero where a recording has no such row; `rate_change` of rates
    own       columns of the biases in each row, offset then drift, shape (2, n); -1: none
    """

    table: Array
    rates: Array
    weight: Array
    change: Array
    rate_change: Array
    own: NDArray[np.int64]

    def shifted(self, block: RowBlock, recording: int) -> RowBlock:
        """The rows of a recording with its biases replaced by those of all rows."""
        C = _own_columns(block, self.own)
        of_column = np.repeat(np.arange(block.layout.count), np.diff(block.layout.row_starts))
        table, rates = block.table.copy(), block.rates.copy()
        for k in range(BIASES):
            if self.own[k].max() >= 0:
                table += C[k][:, of_column] * self.change[recording, k]
                rates += C[k][:, :, None] * self.rate_change[recording, k]
        return block.moved(table, rates)

    def block(self, like: RowBlock, bias: int) -> RowBlock:
        """B_g y of one bias as rows: one for every recording."""
        count = len(self.table)
        return RowBlock(
            like.layout,
            np.arange(count),
            np.zeros(count),
            self.table[:, bias],
            (self.weight > 0) & (self.own[bias] >= 0),
            self.rates[:, bias],
        )


class RowSums:
    """Products of the biases' columns with all of each row, for every recording, weighted per row."""

    def __init__(self, robot: Robot, recordings: int) -> None:
        layout = robot.regressor.layout
        self._own = bias_columns(layout)
        self._columns = np.repeat(np.arange(layout.count), np.diff(layout.row_starts))
        self._square = np.zeros((recordings, layout.count, BIASES, BIASES))
        self._table = np.zeros((recordings, BIASES, layout.width))
        self._rates = np.zeros((recordings, BIASES, layout.count, 2))
        self._weight = np.zeros((recordings, layout.count))

    def add(self, block: RowBlock, recording: int, weights: Array) -> None:
        """Rows of a recording with weights on the squares (B, n)."""
        C = _own_columns(block, self._own)
        self._weight[recording] += weights.sum(axis=0)
        for k in range(BIASES):
            if self._own[k].max() < 0:
                continue
            weighed = weights * C[k]
            self._table[recording, k] += (weighed[:, self._columns] * block.table).sum(axis=0)
            self._rates[recording, k] += (weighed[:, :, None] * block.rates).sum(axis=0)
            for m in range(BIASES):
                self._square[recording, :, k, m] += (weighed * C[m]).sum(axis=0)

    def means(self) -> RowMeans:
        """Of all rows so far."""
        table, rates = self._solved(self._square, self._table, self._rates)
        whole, whole_rates = self._solved(
            *(one.sum(axis=0)[None] for one in (self._square, self._table, self._rates))
        )
        there = self._weight > 0
        return RowMeans(
            table,
            rates,
            self._weight,
            np.where(there[:, None, self._columns], whole - table, 0.0),
            np.where(there[:, None, :, None], whole_rates - rates, 0.0),
            self._own,
        )

    def _solved(self, square: Array, table: Array, rates: Array) -> tuple[Array, Array]:
        """B y of products: `square` (G, n, 2, 2) with itself, others as of `RowMeans`."""
        inverse = np.linalg.pinv(square, hermitian=True)
        return (
            np.einsum("gckm,gmc->gkc", inverse[:, self._columns], table),
            np.einsum("gnkm,gmnr->gknr", inverse, rates),
        )


def bias_columns(layout: RowLayout) -> NDArray[np.int64]:
    """The columns of each row's own offset and drift, shape (2, rows); -1 where it has none."""
    own = np.full((BIASES, layout.count), -1, dtype=np.int64)
    for row, (name, added) in enumerate(zip(layout.row_names, layout.added, strict=True)):
        first = int(layout.row_starts[row + 1]) - 1 - len(added)
        for place, column in enumerate(added):
            for k, term in enumerate(BIAS_TERMS):
                if column.parameter == f"{name}.{term}":
                    own[k, row] = first + place
    return own


def _own_columns(block: RowBlock, own: NDArray[np.int64]) -> Array:
    """What stands in the columns of the biases, zero where there is none, shape (2, B, n)."""
    return np.asarray(np.where(own[:, None] >= 0, np.moveaxis(block.table[:, own], 1, 0), 0.0))
