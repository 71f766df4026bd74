"""Data reduced to one small triangle per joint: a square-root information factor.

    R_j' R_j = [Y_j tau_j tau_j' tau_j'']' [Y_j tau_j tau_j' tau_j'']

with Y_j (T_j, p) the filtered rows of joint j and tau_j its torque. The derivatives of torque are for its delay:
tau(t + d) = tau + d tau' + d^2/2 tau'', so that a delay d can be estimated and corrected without the rows. Least
squares, weights, residuals and prediction errors all follow from the triangles; the rows are not kept. A joint's
triangle has only the columns that its rows have, and is updated by an orthogonal factorisation of triangle and new rows
together, without squaring the condition number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.data import Dataset, Processing, Survey, filtered_rows
from heft.identify.errors import DataError, ParameterError
from heft.identify.information.memory import remembered
from heft.identify.information.triangle import BLOCK, absorb_rows, triangle
from heft.identify.robot import Robot
from heft.identify.robot.regressor import RowLayout

__all__ = ["Information", "Reduction", "reduce"]


@dataclass(frozen=True, eq=False)
class Information:
    """The information in data, per joint.

    factors  upper triangular R_j, the last column is torque, shape (n, p + 1, p + 1)
    rows     rows that went into each, counted by their weights, shape (n,)
    names    of the p parameters
    rates    two more columns and rows of R_j: first and second derivative of torque [N m/s, N m/s2], shape
             (n, p + 3, 2); None where nothing is known of them
    """

    factors: Array
    rows: NDArray[np.int64]
    names: tuple[str, ...]
    rates: Array | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "factors", _kept(self.factors))
        rows = np.array(self.rows, dtype=np.int64)
        rows.setflags(write=False)
        object.__setattr__(self, "rows", rows)
        size = len(self.names) + 1
        if self.factors.shape != (len(rows), size, size):
            raise ParameterError(
                f"factors of shape {self.factors.shape} for {len(rows)} joints and {size - 1} parameters"
            )
        if self.rates is not None:
            object.__setattr__(self, "rates", _kept(self.rates))
            if self.rates.shape != (len(rows), size + 2, 2):
                raise ParameterError(f"rates of shape {self.rates.shape} beside {self.factors.shape}")

    def stacked(self, weights: Array) -> tuple[Array, Array, float]:
        """(R, z, rho2) with |R x - z|^2 + rho2 = sum_j w_j^2 |Y_j x - tau_j|^2, for weights w_j (n,)."""
        w = np.asarray(weights, dtype=np.float64)
        if w.shape != self.rows.shape:
            raise ParameterError(f"weights of shape {w.shape} for {len(self.rows)} joints")
        R = _stacked(self, tuple(w.tolist()))
        return R[:-1, :-1], R[:-1, -1], float(R[-1, -1] ** 2)

    def merge(self, other: Information) -> Information:
        """Of both data together."""
        if self.names != other.names:
            raise ParameterError(
                "these data were reduced with another robot or other joint terms; reduce them alike"
            )
        both = np.array(
            [
                triangle(np.concatenate([_rows(a), _rows(b)]))
                for a, b in zip(self.extended, other.extended, strict=True)
            ]
        )
        return Information.of(both, self.rows + other.rows, self.names)

    @classmethod
    def merged(cls, parts: Sequence[Information]) -> Information:
        """Of all parts together."""
        together = parts[0]
        for one in parts[1:]:
            together = together.merge(one)
        return together

    @classmethod
    def resampled(cls, parts: Sequence[Information], counts: NDArray[np.int64]) -> Information:
        """Of parts of the data together, part i counted `counts[i]` times."""
        used = [(part.extended, np.sqrt(count)) for part, count in zip(parts, counts, strict=True) if count]
        joints = range(len(parts[0].rows))
        stacked = [triangle(np.concatenate([root * _rows(R[j]) for R, root in used])) for j in joints]
        rows = sum(
            (count * part.rows for part, count in zip(parts, counts, strict=True)), start=0 * parts[0].rows
        )
        return cls.of(np.array(stacked), rows, parts[0].names)

    @classmethod
    def of(cls, extended: Array, rows: NDArray[np.int64], names: tuple[str, ...]) -> Information:
        """From triangles with the two columns of the torque's derivatives, shape (n, p + 3, p + 3)."""
        size, whole = len(names) + 1, extended.view()
        whole.setflags(write=False)
        return cls(whole[:, :size, :size], rows, names, whole[:, :, size:])

    def aligned(self, delay_s: float) -> Information:
        """The same for torques tau(t + `delay_s`), by a second-order Taylor expansion."""
        if delay_s == 0.0:
            return self
        extended = self.extended
        extended[:, :, -3] += delay_s * extended[:, :, -2] + 0.5 * delay_s**2 * extended[:, :, -1]
        extended[:, :, -2] += delay_s * extended[:, :, -1]
        for block in extended[:, -3:, -3:]:
            block[:] = triangle(block)
        return Information.of(extended, self.rows, self.names)

    def faded(self, share: float) -> Information:
        """The same, every row counting only a `share` of what it did."""
        root = float(np.sqrt(share))
        rates = None if self.rates is None else root * self.rates
        return Information(root * self.factors, np.rint(share * self.rows), self.names, rates)

    @property
    def extended(self) -> Array:
        """[factor, rates] of each joint as one triangle, shape (n, p + 3, p + 3)."""
        count, size = len(self.rows), len(self.names) + 1
        extended = np.zeros((count, size + 2, size + 2))
        extended[:, :size, :size] = self.factors
        if self.rates is not None:
            extended[:, :, size:] = self.rates
        return extended


class Reduction:
    """Accumulates rows into one triangle per joint."""

    def __init__(self, layout: RowLayout) -> None:
        self._layout = layout
        self._count = layout.count
        widths = np.diff(layout.row_starts) + 2
        self._triangles = [np.zeros((width, width)) for width in widths]
        self._waiting: list[list[Array]] = [[] for _ in range(self._count)]
        self._length = np.zeros(self._count, dtype=np.int64)  # rows that wait
        self._rows = np.zeros(self._count)

    def add(self, table: Array, weights: Array, rates: Array | None = None) -> None:
        """Add B rows of all joints.

        table     joints' rows side by side (`RowLayout`), shape (B, C)
        weights   factors on the rows, shape (B, n); zero for rows that do not count
        rates     first and second derivative of the torques, shape (B, n, 2)
        """
        rates = np.zeros((*weights.shape, 2)) if rates is None else rates
        for j in range(self._count):
            part = np.hstack([table[:, self._layout.row(j)], rates[:, j]])
            used = weights[:, j] != 0
            if not used.all():
                part = part[used]
            if not np.all(weights[:, j] == 1):
                part = part * weights[used, j][:, None]
            self._waiting[j].append(part)
            self._length[j] += len(part)
            self._rows[j] += float((weights[:, j] ** 2).sum())
            if self._length[j] >= BLOCK:
                self._factorise(j, whole=False)

    def finish(self) -> Information:
        """The information of all rows so far."""
        names = self._layout.names
        p = len(names)
        extended = np.zeros((self._count, p + 3, p + 3))
        for j in range(self._count):
            self._factorise(j, whole=True)
            place = np.append(self._layout.parameters[self._layout.row(j)], [p + 1, p + 2])
            R = self._triangles[j]
            extended[j][np.ix_(place, place)] = np.where(np.diag(R) < 0, -1.0, 1.0)[:, None] * R
        return Information.of(extended, np.rint(self._rows), names)

    def _factorise(self, j: int, whole: bool) -> None:
        """Factorise waiting rows, BLOCK at a time, so that results do not depend on how rows arrive.

        A last block that is not full is left waiting, unless `whole`.
        """
        if not self._waiting[j]:
            return
        waiting = np.concatenate(self._waiting[j])
        count = len(waiting) if whole else len(waiting) // BLOCK * BLOCK
        absorb_rows(self._triangles[j], waiting[:count])
        rest = waiting[count:]
        self._waiting[j] = [rest] if len(rest) else []
        self._length[j] = len(rest)


def reduce(
    robot: Robot,
    data: Dataset,
    processing: Processing,
    surveyed: Survey | None = None,
    delay_s: float = 0.0,
    known: Array | None = None,
    memory_s: float = np.inf,
) -> Information:
    """The information in a dataset.

    surveyed   the dataset's survey; None: made here
    delay_s    delay of its torques against positions [s]
    known      parameters (p,) whose torques are taken off; None: none
    memory_s   rows are weighed by their age at the end of the data (`heft.identify.information.memory`)
    """
    reduction = Reduction(robot.regressor.layout)
    for block in filtered_rows(robot, data, processing, surveyed, delay_s):
        if known is not None and known.any():
            block = block.relieved(known)
        weights = np.sqrt(remembered(data.t[-1] - block.time, memory_s))
        reduction.add(block.table, weights[:, None] * block.keep, block.rates)
    information = reduction.finish()
    if not information.rows.any():
        raise DataError("no joint moves long enough for a single row; give data in which the robot moves")
    return information


def _kept(values: Array) -> Array:
    """Numbers that nobody writes to: a copy, unless they are read-only already; a large robot's are many."""
    return frozen(values) if values.flags.writeable else values


@lru_cache(1)  # an estimate and all that is said of it are of the same weights
def _stacked(information: Information, weights: tuple[float, ...]) -> Array:
    """The triangle of all joints' rows, each joint's times its weight, shape (p + 1, p + 1)."""
    parts = [w * _rows(R) for w, R in zip(weights, information.factors, strict=True)]
    return frozen(triangle(np.concatenate(parts)))


def _rows(factor: Array) -> Array:
    """Rows of a factor with any non-zero entry; a zero on the diagonal alone does not mean that a row is zero."""
    return factor[factor.any(axis=1)]
