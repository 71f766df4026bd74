"""Samples cut into chunks of fixed length, each summed up as a parabola over its time."""

from __future__ import annotations

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.errors import DataError

__all__ = ["CHUNK_S", "LEAST_CHUNK", "Chunker", "chunk_length", "parabolas"]

CHUNK_S = 0.1
"""Samples that are taken at a time [s]: over so long, the noise of accelerations is small beside the wrench's own."""

LEAST_CHUNK = 4
"""Samples of a chunk: a parabola through them, and one that shows the noise."""


def chunk_length(span_s: float, rate_hz: float) -> int:
    """How many samples are taken at a time, for chunks of `span_s` [s]."""
    return max(LEAST_CHUNK, round(span_s * rate_hz))


class Chunker:
    """Collects rows of samples, time first, and hands them out in whole chunks, however they arrived."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._pending: list[Array] = []
        self._waiting = 0
        self._last: float | None = None

    def add(self, table: Array) -> Array | None:
        """Samples (N, k) in; whole chunks (parts, size, k) out, None if none is full."""
        if self._last is not None and table[0, 0] <= self._last:
            raise DataError(
                f"time: {table[0, 0]:.6f} s does not come after {self._last:.6f} s; give samples in order, once"
            )
        self._last = float(table[-1, 0])
        self._pending.append(table)
        self._waiting += len(table)
        if self._waiting < self._size:
            return None
        whole = np.concatenate(self._pending)
        ready = len(whole) - len(whole) % self._size
        self._pending = [whole[ready:]] if ready < len(whole) else []
        self._waiting = len(whole) - ready
        return whole[:ready].reshape(-1, self._size, whole.shape[1])

    def of_size(self, size: int) -> Chunker:
        """Chunks of another length, from the next sample on; what waits is dropped."""
        other = Chunker(size)
        other._last = self._last
        return other

    def rest(self) -> Array | None:
        """What waits for its chunk to fill, as one shorter chunk (1, n, k)."""
        if not self._pending:
            return None
        rest = np.concatenate(self._pending)
        self._pending, self._waiting = [], 0
        return rest[None]


def parabolas(stamps: Array) -> tuple[Array, Array]:
    """Orthonormal polynomials over each chunk's time up to the second degree, and how they are differentiated.

    Columns of Q (parts, n, k), k at most 3; and E (parts, k, k) with E Q'x = Q'x'.
    """
    order = min(3, stamps.shape[1])
    middle = stamps - stamps.mean(axis=1, keepdims=True)
    span = np.maximum(middle[:, -1:] - middle[:, :1], 1e-9)
    u = 2 * middle / span
    powers = np.stack([u**k for k in range(order)], axis=2)
    slopes = np.zeros_like(powers)
    for k in range(1, order):
        slopes[:, :, k] = 2 * k * u ** (k - 1) / span
    Q, R = np.linalg.qr(powers)
    return Q, np.swapaxes(Q, 1, 2) @ slopes @ np.linalg.inv(R)
