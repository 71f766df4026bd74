"""Queue of setpoints that are not due yet."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from heft.drivers.setpoints import Setpoints

__all__ = ["SetpointQueue"]

_ROUNDING_S = 1e-9


class SetpointQueue:
    """Chunks of setpoints in the order of their times [s since an instant of the owner's choice].

    Between two setpoints the drive goes on from the last one with its velocity and acceleration: at 1 kHz that
    differs from the trajectory by less than 1e-7 rad, whatever the drive's clock does.
    """

    def __init__(self) -> None:
        self._chunks: deque[tuple[list[float], Setpoints]] = deque()
        self._index = -1  # setpoint in force in the first chunk; -1 before the first is due
        self.next_sequence = 0

    def add(self, chunk: Setpoints, times: NDArray[np.float64]) -> None:
        """Queue a chunk; `times` are its instants [s], shape (N,)."""
        self._chunks.append((times.tolist(), chunk))
        self.next_sequence = chunk.sequence + len(chunk)

    def clear(self) -> None:
        """Discard everything that is queued."""
        self._chunks.clear()
        self._index = -1

    @property
    def empty(self) -> bool:
        """Whether nothing is queued."""
        return not self._chunks

    @property
    def end(self) -> float:
        """Instant of the last setpoint queued [s]; -inf if there is none."""
        return self._chunks[-1][0][-1] if self._chunks else -np.inf

    def take(self, t: float) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]] | None:
        """Position, velocity, acceleration in force at t [s], each of shape (n,); None before the first is due."""
        while (following := self._following()) is not None and following <= t + _ROUNDING_S:
            if self._index + 1 == len(self._chunks[0][0]):
                self._chunks.popleft()
                self._index = 0
            else:
                self._index += 1
        if self._index < 0:
            return None
        times, chunk = self._chunks[0]
        i, dt = self._index, t - times[self._index]
        q, v, a = chunk.position[i], chunk.velocity[i], chunk.acceleration[i]
        if chunk.last and i + 1 == len(times):
            return q, 0.0 * v, 0.0 * a
        return q + dt * (v + 0.5 * dt * a), v + dt * a, a

    def finished(self, t: float) -> bool:
        """Whether the last setpoint of a trajectory is in force."""
        times, chunk = self._chunks[0]
        return len(self._chunks) == 1 and chunk.last and self._index + 1 == len(times)

    def underrun(self, t: float) -> bool:
        """Whether the next setpoint is overdue by half its spacing and has not been queued."""
        if self._index < 0 or self._following() is not None:
            return False
        times, _ = self._chunks[0]
        spacing = times[-1] - times[-2] if len(times) > 1 else 0.0
        return t > times[-1] + 1.5 * spacing and not self.finished(t)

    def _following(self) -> float | None:
        """Instant of the setpoint after the one in force [s]."""
        if not self._chunks:
            return None
        if self._index + 1 < len(self._chunks[0][0]):
            return self._chunks[0][0][self._index + 1]
        return self._chunks[1][0][0] if len(self._chunks) > 1 else None
