"""Motions that are computed when they are asked for, piece by piece."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from heft.daq.trajectory.trajectory import PIECE, Motion, Trajectory

__all__ = ["SampledMotion"]


class SampledMotion(Motion):
    """A motion whose samples are computed when they are asked for, always in the same pieces: to the last bit equal.

    count     number of samples
    compute   samples `begin` to `end` (not included), given as numbers, shape (N,)
    """

    def __init__(
        self,
        axes: tuple[str, ...],
        rate_hz: float,
        count: int,
        compute: Callable[[NDArray[np.int64]], Trajectory],
    ) -> None:
        self.axes, self.rate_hz, self._count, self._compute = axes, rate_hz, count, compute
        self._latest: tuple[int, Trajectory] | None = None

    def __len__(self) -> int:
        return self._count

    def window(self, begin: int, end: int) -> Trajectory:
        end = min(end, self._count)
        parts = []
        for number in range(begin // PIECE, -(-end // PIECE)):
            piece, first = self._piece(number), number * PIECE
            parts.append(piece.window(max(begin - first, 0), min(end - first, len(piece))))
        return parts[0] if len(parts) == 1 else parts[0].joined(parts[1:])

    def _piece(self, number: int) -> Trajectory:
        latest = self._latest  # read once: the plan is checked in another thread
        if latest is None or latest[0] != number:
            first = number * PIECE
            latest = number, self._compute(np.arange(first, min(first + PIECE, self._count)))
            self._latest = latest
        return latest[1]
