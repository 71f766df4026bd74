"""Held-out prediction over contiguous blocks of time.

For block b, least squares on all other blocks has coefficients k_b; what they leave of block b is its held-out squared
error e_b. All from the blocks' products of columns, so that any choice of columns costs a few small solves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array

__all__ = ["HeldOut"]

SINGULAR = 1e-10  # added to products of columns of length 1: two equal columns share what they explain


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Products of columns of length 1 by block, the target's the last.

    products   shape (B, m + 1, m + 1)
    lengths    of the columns before, shape (m + 1,)
    """

    products: Array
    lengths: Array

    @classmethod
    def of(cls, columns: Array, blocks: NDArray[np.int64]) -> Self:
        """Of columns (R, m + 1), the target last, with the number of each row's block in order (R,)."""
        edges = [0, *(np.flatnonzero(np.diff(blocks)) + 1).tolist(), len(blocks)]
        parts = [columns[a:b] for a, b in pairwise(edges)]
        products = np.stack([part.T @ part for part in parts])
        lengths = np.sqrt(np.diagonal(products.sum(axis=0)))
        lengths = np.where(lengths > 0, lengths, 1.0)
        return cls(products / np.outer(lengths, lengths), lengths)

    @property
    def blocks(self) -> int:
        """B."""
        return len(self.products)

    def errors(self, choices: Sequence[Sequence[int]]) -> Array:
        """e_b of each choice of columns, all equally many: shape (C, B)."""
        pick = np.array(choices)
        rest = self._whole - self.products
        square = rest[:, pick[:, :, None], pick[:, None, :]].swapaxes(0, 1)
        square = square + SINGULAR * np.eye(pick.shape[1])
        seen = rest[:, pick, -1].swapaxes(0, 1)
        k = np.linalg.solve(square, seen[..., None])[..., 0]  # (C, B, s)
        own = self.products[:, pick[:, :, None], pick[:, None, :]].swapaxes(0, 1)
        cross = self.products[:, pick, -1].swapaxes(0, 1)
        left = np.einsum("cbi,cbij,cbj->cb", k, own, k) - 2 * (k * cross).sum(axis=-1)
        return np.asarray(np.maximum(left + self.products[:, -1, -1], 0.0) * self.lengths[-1] ** 2)

    def coefficients(self, choice: Sequence[int]) -> Array:
        """Of the columns chosen, by all blocks together, shape (s,)."""
        pick = np.array(choice)
        return np.asarray(self._solved(pick[None])[0] * self.lengths[-1] / self.lengths[pick])

    def fitted(self, choices: Sequence[Sequence[int]]) -> Array:
        """The squared error that each choice of columns, all equally many, leaves where all blocks are fitted together,
        shape (C,).
        """
        pick = np.array(choices)
        left = self._whole[-1, -1] - (self._solved(pick) * self._whole[pick, -1]).sum(axis=1)
        return np.asarray(np.maximum(left, 0.0) * self.lengths[-1] ** 2)

    def _solved(self, pick: NDArray[np.int64]) -> Array:
        """Coefficients of columns of length 1, for choices (C, s) by all blocks together, shape (C, s)."""
        square = self._whole[pick[:, :, None], pick[:, None, :]] + SINGULAR * np.eye(pick.shape[1])
        return np.asarray(np.linalg.solve(square, self._whole[pick, -1][..., None])[..., 0])

    @cached_property
    def _whole(self) -> Array:
        """Products of all blocks together, shape (m + 1, m + 1)."""
        return np.asarray(self.products.sum(axis=0))
