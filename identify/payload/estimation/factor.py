"""Square-root information of what is constant beside a bias that walks: any number of rows in one triangle.

    minimise |R (b, s) - z|^2

with b the bias, which walks at random between updates, and s what does not change. b stands first, so the rows
below it are the information about s with the bias taken out. z is the triangle's last column, as in
`information.triangle`, which takes the rows in.
"""

from __future__ import annotations

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.least_norm import least_norm
from heft.identify.information.triangle import absorb_rows, triangle

__all__ = ["RANK", "InformationFactor"]

RANK = 1e-9
"""Of the largest singular value: what is less is not determined."""

_FAINT = 1e-9  # information that every unknown starts with, so that none is without a pivot


class InformationFactor:
    """R, shape (nb + ns, nb + ns), and z, for rows that are scaled to unit noise.

    `bias_std` (nb,): what the bias may be before anything is known of it.
    """

    def __init__(self, bias_std: Array, width: int) -> None:
        self._biases = len(bias_std)
        faint = np.full(width, _FAINT)
        self._triangle = np.diag(np.concatenate([1.0 / bias_std, faint, [0.0]]))  # columns b, s, z

    @property
    def information(self) -> tuple[Array, Array]:
        """R and z of s alone, the bias marginalised: R s = z."""
        below = self._triangle[self._biases : -1, self._biases :]
        return below[:, :-1], below[:, -1]

    def least_norm(self) -> Array:
        """s (p,) of least norm among the best fits."""
        return least_norm(*self.information, RANK)

    @property
    def bias_rows(self) -> tuple[Array, Array, Array]:
        """(B, S, z) of B b + S s = z."""
        above = self._triangle[: self._biases]
        return above[:, : self._biases], above[:, self._biases : -1], above[:, -1]

    def update(
        self, rows: Array, values: Array, *, walk: Array | None = None, forgetting: float = 1.0
    ) -> None:
        """Take in rows (k, nb + ns) with values (k,).

        `walk` (nb,) is the standard deviation of the bias's step since the last update, None for none;
        `forgetting` in (0, 1] multiplies the information of all that came before.
        """
        old, new = self._triangle * np.sqrt(forgetting), np.column_stack([rows, values])
        if walk is None:
            absorb_rows(old, new)
            self._triangle = old
            return
        # Columns: old bias, new bias, s, z. The step is (new - old) / walk = 0, and nothing else is known of the new
        # bias; rows of the old one come in again, in its own columns. Then its rows are dropped.
        nb, size = self._biases, len(old)
        wide = np.zeros((nb + size, nb + size))
        wide[:nb, :nb] = np.diag(-1.0 / walk)
        wide[:nb, nb : 2 * nb] = np.diag(1.0 / walk)
        wide[2 * nb :, 2 * nb :] = old[nb:, nb:]
        stacked = np.zeros((nb + len(new), nb + size))
        stacked[:nb, :nb] = old[:nb, :nb]
        stacked[:nb, 2 * nb :] = old[:nb, nb:]
        stacked[nb:, nb:] = new
        absorb_rows(wide, stacked)
        self._triangle = wide[nb:, nb:].copy()

    def forget(self, columns: slice) -> None:
        """Marginalise some of s and start them afresh; what was learned of the rest stays."""
        size = len(self._triangle)
        gone = np.arange(self._biases, size - 1)[columns]
        kept = np.setdiff1d(np.arange(size), gone)
        rest = triangle(self._triangle[:, [*gone, *kept]])[len(gone) :, len(gone) :]
        rows = np.zeros((size, size))
        rows[np.ix_(kept, kept)] = rest
        rows[gone, gone] = _FAINT
        self._triangle = rows  # still a triangle: columns keep their order
