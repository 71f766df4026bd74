"""Friction of other shapes as columns beside the rows of a fit, without computing rows anew.

A column of a row is the low-passed shape f(v(t)), and f bends sharply where a joint turns round, much faster than rows
follow each other. So velocities are interpolated between rows (motion is slow against the cut-off), f is taken at
`FINE` instants per row, and the result goes through the rows' own low-pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.data import Processing

__all__ = ["RowFilter", "shape"]

FINE = 8  # instants per row
_NODES = np.arange(-2, 4)  # rows around an instant that its value is interpolated from


def shape(term: str, v: Array, tanh: Array, stribeck: float, load: Array | None) -> Array:
    """What a friction term's coefficient is multiplied with (see `Drives`).

    v, tanh    velocity [rad/s, m/s] and tanh(v / v_s)
    stribeck   velocity of the Stribeck term [rad/s, m/s]
    load       torque of the links [N m, N]
    """
    if term == "coulomb":
        return tanh
    if term == "coulomb_asymmetry":
        return np.abs(tanh)
    if term == "stribeck":
        return np.asarray(tanh * np.exp(-np.square(v / stribeck)))
    assert load is not None, term
    return np.asarray(tanh * np.abs(load))


@dataclass(frozen=True, eq=False)
class RowFilter:
    """Interpolation between K rows, and the low-pass back to them.

    valid     rows whose neighbours, as far as the filter reaches, follow each other without a gap, shape (K,)
    weights   of the fine instants of neighbouring rows, shape (2 S + 1, FINE)
    """

    valid: NDArray[np.bool_]
    weights: Array

    @classmethod
    def of(cls, time: Array, processing: Processing) -> Self:
        """For rows at these times [s] (K,); the most common distance of two rows is that within a piece."""
        steps = np.diff(time)
        step = float(np.median(steps)) if len(steps) else 1.0
        taps = processing.taps(FINE / step)
        half = len(taps) // 2
        reach = -(-half // FINE)
        weights = np.zeros((2 * reach + 1) * FINE)
        weights[reach * FINE - half : reach * FINE + half + 1] = taps
        breaks = np.concatenate([[True], np.abs(steps - step) > 0.01 * step, [True]])
        ends = np.flatnonzero(breaks)
        number = np.arange(len(time))
        before = number - ends[np.searchsorted(ends, number, side="right") - 1]
        after = ends[np.searchsorted(ends, number, side="right")] - 1 - number
        valid = (before >= reach + 2) & (after >= reach + 3)
        return cls(valid, weights.reshape(2 * reach + 1, FINE).astype(np.float32))

    def fine(self, values: Array) -> Array:
        """Values between rows, from values at them (K,): shape (FINE, K), by local polynomials of degree five.

        In single precision, as all that is made of them: it is enough to compare shapes, and twice as fast.
        """
        padded = np.pad(values, (2, 3), mode="edge")
        return (_lagrange() @ sliding_window_view(padded, len(values))).astype(np.float32)

    def rows(self, fine: Array) -> Array:
        """The low-pass of m columns at fine instants (m, FINE, K), at the rows: shape (m, K)."""
        shares = self.weights @ fine
        width, count = shares.shape[1:]
        out = np.zeros((len(fine), count + width - 1), dtype=np.float32)
        for s in range(width):  # what row k + s - width // 2 gives to row k
            out[:, width - 1 - s : width - 1 - s + count] += shares[:, s]
        return out[:, width // 2 : width // 2 + count].astype(np.float64)


@cache
def _lagrange() -> Array:
    """Weights of the nodes for instants 0, 1 / FINE, ... of a step after a row, shape (FINE, 6)."""
    x = np.arange(FINE) / FINE
    weights = np.ones((FINE, len(_NODES)))
    for i, node in enumerate(_NODES):
        for other in _NODES[node != _NODES]:
            weights[:, i] *= (x - other) / (node - other)
    return weights
