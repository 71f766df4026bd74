"""Linear equalities between parameters: data without noise, or with as little as a scale has.

A d = b + e,   e normal with standard deviation s, shape (k,); s = 0: exactly
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.errors import ProblemError

__all__ = ["Equalities"]

SAME = 1e-9  # of a row's size: rows that depend on each other, and how well they must agree


@dataclass(frozen=True, eq=False)
class Equalities:
    """`rows` A (k, p), `values` b (k,), `std` s (k,), and for each row the `names` (k,) of the constraint it is of."""

    rows: Array
    values: Array
    std: Array
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        rows = np.asarray(self.rows)
        size = np.abs(rows).max(axis=1, initial=0.0)
        kept = size > SAME * size.max(
            initial=0.0
        )  # a line has two conditions in three rows, and one says 0 = 0
        if np.any(np.abs(np.asarray(self.values)[~kept]) > 0):
            empty = next(name for name, some in zip(self.names, kept, strict=True) if not some)
            raise ProblemError(f"constraint {empty}: a number is to be another; leave it out, or correct it")
        for name in ("rows", "values", "std"):
            object.__setattr__(self, name, frozen(np.asarray(getattr(self, name), dtype=np.float64)[kept]))
        names = tuple(name for name, some in zip(self.names, kept, strict=True) if some)
        object.__setattr__(self, "names", names)

    @classmethod
    def none(cls, count: int) -> Equalities:
        """No constraint on `count` parameters."""
        return cls(np.zeros((0, count)), np.zeros(0), np.zeros(0), ())

    def __len__(self) -> int:
        return len(self.values)

    def and_also(self, other: Equalities) -> Equalities:
        """Both."""
        return Equalities(
            np.vstack([self.rows, other.rows]),
            np.concatenate([self.values, other.values]),
            np.concatenate([self.std, other.std]),
            (*self.names, *other.names),
        )

    def only(self, name: str) -> Equalities:
        """The rows of one constraint."""
        return self._part(np.array([own == name for own in self.names], dtype=bool))

    @property
    def distinct(self) -> tuple[str, ...]:
        """Names of the constraints, each once."""
        return tuple(dict.fromkeys(self.names))

    @property
    def exact(self) -> Equalities:
        """Those that hold exactly."""
        return self._part(self.std == 0)

    @property
    def measured(self) -> Equalities:
        """Those with a standard deviation."""
        return self._part(self.std > 0)

    def solutions(self, near: Array, scales: Array) -> tuple[Array, Array]:
        """d = point + null y fulfils the exact ones for every y: the point nearest to `near` (p,), and null (p, q).

        `scales` (p,) say how large each parameter is. `ProblemError` where the constraints contradict each other.
        """
        exact = self.exact
        scaled = exact.rows * scales
        size = np.linalg.norm(scaled, axis=1)
        size = np.where(size > 0, size, 1.0)
        scaled, left = scaled / size[:, None], (exact.values - exact.rows @ near) / size
        U, values, V = np.linalg.svd(scaled)
        rank = int((values > SAME * max(1.0, float(values.max(initial=0.0)))).sum())
        step = V[:rank].T @ (U[:, :rank].T @ left / values[:rank])
        off = np.abs(scaled @ step - left)
        most = SAME * (np.abs(exact.values) / size + np.linalg.norm(near / scales) + np.abs(left))
        if np.any(off > 100 * most):
            culprits = dict.fromkeys(
                name for name, bad in zip(exact.names, off > 100 * most, strict=True) if bad
            )
            raise ProblemError(
                f"own constraints contradict each other: {'; '.join(culprits)}. Remove the one that is wrong"
            )
        return near + scales * step, scales[:, None] * V[rank:].T

    def _part(self, which: NDArray[np.bool_]) -> Equalities:
        names = tuple(name for name, kept in zip(self.names, which, strict=True) if kept)
        return Equalities(self.rows[which], self.values[which], self.std[which], names)
