"""Square-root information: any number of rows summed up in one triangular factor.

    minimise |R (b, s) - z|^2

with b the bias, which walks at random between updates, and s what does not change. b stands first, so the rows
below it are the information about s with the bias taken out.
"""

from __future__ import annotations

import numpy as np

from identify.arrays import Array

__all__ = ["InformationFactor"]

_FAINT = 1e-9  # information that every unknown starts with, so that none is without a pivot


class InformationFactor:
    """R, shape (nb + ns, nb + ns), and z, for rows that are scaled to unit noise.

    `bias_std` (nb,): what the bias may be before anything is known of it.
    """

    def __init__(self, bias_std: Array, width: int) -> None:
        self._biases = len(bias_std)
        self._table = np.zeros((self._biases + width, self._biases + width + 1))
        faint = np.full(self._biases + width, _FAINT)
        faint[: self._biases] = 1.0 / bias_std
        np.fill_diagonal(self._table, faint)

    @property
    def information(self) -> tuple[Array, Array]:
        """R and z of s alone, the bias marginalised: R s = z."""
        below = self._table[self._biases :, self._biases :]
        return below[:, :-1], below[:, -1]

    @property
    def bias_rows(self) -> tuple[Array, Array, Array]:
        """(B, S, z) of B b + S s = z."""
        above = self._table[: self._biases]
        return above[:, : self._biases], above[:, self._biases : -1], above[:, -1]

    def update(
        self, rows: Array, values: Array, *, walk: Array | None = None, forgetting: float = 1.0
    ) -> None:
        """Take in rows (k, nb + ns) with values (k,).

        `walk` (nb,) is the standard deviation of the bias's step since the last update, None for none;
        `forgetting` in (0, 1] multiplies the information of all that came before.
        """
        nb, width = self._biases, self._table.shape[1]
        old = self._table * np.sqrt(forgetting)
        if walk is None:
            stacked = np.empty((len(old) + len(rows), width))
            stacked[: len(old)] = old
        else:
            # Unknowns: old bias, new bias, s. The old bias is eliminated and its rows dropped.
            stacked = np.zeros((nb + len(old) + len(rows), nb + width))
            stacked[:nb, :nb] = -np.diag(1.0 / walk)
            stacked[:nb, nb : 2 * nb] = np.diag(1.0 / walk)
            stacked[nb : nb + len(old), :nb] = old[:, :nb]
            stacked[nb : nb + len(old), 2 * nb :] = old[:, nb:]
        first = stacked.shape[1] - width
        stacked[len(stacked) - len(rows) :, first:-1] = rows
        stacked[len(stacked) - len(rows) :, -1] = values
        upper = _triangular(stacked)
        self._table = upper[first : first + len(old), first:]

    def forget(self, columns: slice) -> None:
        """Marginalise some of s and start them afresh; what was learned of the rest stays."""
        count = self._table.shape[1] - 1
        gone = np.arange(self._biases, count)[columns]
        kept = np.setdiff1d(np.arange(count), gone)
        upper = _triangular(self._table[:, [*gone.tolist(), *kept.tolist(), count]])[len(gone) :, len(gone) :]
        self._table = np.zeros_like(self._table)
        self._table[np.ix_(kept, np.append(kept, count))] = upper[: len(kept)]
        self._table[gone, gone] = _FAINT
        # Rows of kept unknowns may reach left of the diagonal; a last factorisation puts that right.
        self._table = _triangular(self._table)


def _triangular(rows: Array) -> Array:
    """R of the QR factorisation."""
    return np.asarray(np.linalg.qr(rows, mode="r"), dtype=np.float64)
