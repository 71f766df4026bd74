"""Orthogonal factorisation of rows that keep coming: an upper triangle R with R' R = sum of row' row.

Householder reflections column by column, each on row j of the triangle and the new rows: R's zeros stay. Compiled, on
one thread: equal to the last bit whatever linear algebra library is installed, and faster than one on blocks of this
size.
"""

from __future__ import annotations

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.compiled import compiled

__all__ = ["BLOCK", "absorb", "absorb_rows", "triangle"]

WIDE = 150  # columns; an arm of seven joints has about 100
BLOCK = 128  # rows at a time: they and the triangle fit into the cache


@compiled(fastmath={"contract", "reassoc", "nsz"})
def absorb(R: Array, columns: Array) -> None:
    """Take new rows into the triangle R (k, k), in place; `columns` (k, m) are the rows' columns, and are used up."""
    size, count = columns.shape
    for j in range(size):
        x = columns[j]
        square = 0.0
        for i in range(count):
            square += x[i] * x[i]
        if square == 0.0:
            continue
        length = np.sqrt(R[j, j] * R[j, j] + square)
        beta = -length if R[j, j] > 0 else length
        first = R[j, j] - beta
        factor = -first / beta
        for i in range(count):
            x[i] /= first
        R[j, j] = beta
        for c in range(j + 1, size):
            y = columns[c]
            share = R[j, c]
            for i in range(count):
                share += x[i] * y[i]
            share *= factor
            R[j, c] -= share
            for i in range(count):
                y[i] -= share * x[i]


def absorb_rows(R: Array, rows: Array) -> None:
    """Take rows (m, k) into the triangle R (k, k), in place."""
    for start in range(0, len(rows), BLOCK):
        absorb(R, np.array(rows[start : start + BLOCK].T, order="C"))


def triangle(rows: Array) -> Array:
    """R of rows (m, k): upper triangular (k, k), diagonal not negative.

    WIDE ones, of large robots, by the linear algebra library: it works on panels, which pays there.
    """
    R = np.zeros((rows.shape[1], rows.shape[1]))
    if rows.shape[1] >= WIDE:
        made = np.linalg.qr(rows, mode="r")
        R[: len(made)] = made
    else:
        absorb_rows(R, rows)
    return np.where(np.diag(R) < 0, -1.0, 1.0)[:, None] * R
