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
    weights   of the fine instants of neighbouring rows, shape (FINE, 2 S + 1)
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
        return cls(valid, np.ascontiguousarray(weights.reshape(2 * reach + 1, FINE).T, dtype=np.float32))

    def fine(self, values: Array) -> Array:
        """Values between rows, from values at them (K,): shape (K, FINE), by local polynomials of degree five.

        In single precision, as all that is made of them: it is enough to compare shapes, and twice as fast.
        """
        padded = np.pad(values, (2, 3), mode="edge")
        return (sliding_window_view(padded, len(_NODES)) @ _lagrange()).astype(np.float32)

    def rows(self, fine: Array) -> Array:
        """The low-pass of values at fine instants (K, FINE), at the rows: shape (K,)."""
        shares = fine @ self.weights
        count, width = shares.shape
        reach = width // 2
        out = np.zeros(count + 2 * reach)
        for s in range(width):  # what row k + s - reach gives to row k
            out[width - 1 - s : width - 1 - s + count] += shares[:, s]
        return out[reach : reach + count]


@cache
def _lagrange() -> Array:
    """Weights of the nodes for instants 0, 1 / FINE, ... of a step after a row, shape (6, FINE)."""
    x = np.arange(FINE) / FINE
    weights = np.ones((len(_NODES), FINE))
    for i, node in enumerate(_NODES):
        for other in _NODES[node != _NODES]:
            weights[i] *= (x - other) / (node - other)
    return weights
