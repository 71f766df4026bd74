"""Faults inside frames: what a device says, and what may be believed of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.drivers.block import Validity
from heft.drivers.plant.faults import Corrupt, Fault, Saturate, Stuck

__all__ = ["Damage", "FrameFaults"]


@dataclass(frozen=True, slots=True, eq=False)
class Damage:
    """Of N frames: the counter as sent, shape (N,) int64, and where it stands still; where the check fails, shape (N,).

    `saturated` pairs frames, shape (N,), with the columns that are at full scale in them.
    """

    ticks: NDArray[np.int64]
    stale: NDArray[np.bool_]
    corrupt: NDArray[np.bool_]
    saturated: Sequence[tuple[NDArray[np.bool_], slice]]


class FrameFaults:
    """Applies the faults of one device to its frames."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._stuck_ticks: int | None = None

    def inspect(self, t: NDArray[np.float64], ticks: NDArray[np.int64], faults: Sequence[Fault]) -> Damage:
        """What happens to frames sent at t [s] with these counters."""
        stale = np.zeros(len(t), dtype=np.bool_)
        corrupt = np.zeros(len(t), dtype=np.bool_)
        saturated = []
        for fault in faults:
            active = fault.active(t)
            match fault:
                case Stuck():
                    stale |= active
                case Corrupt():
                    corrupt |= active & (self._rng.random(len(t)) < fault.rate)
                case Saturate() if active.any():
                    column = fault.column
                    saturated.append((active, slice(None) if column is None else slice(column, column + 1)))
        if not stale.any():
            self._stuck_ticks = None
        else:
            if self._stuck_ticks is None:
                self._stuck_ticks = int(ticks[np.argmax(stale)])
            ticks = np.where(stale, self._stuck_ticks, ticks)
        return Damage(ticks, stale, corrupt, saturated)

    def spoil(
        self,
        values: NDArray[Any],
        validity: NDArray[np.uint8],
        damage: Damage,
        full_scale: NDArray[np.int64] | None,
    ) -> None:
        """Change one stream's numbers and validity in place, shape (N, k); without `full_scale` only validity."""
        if full_scale is not None:
            for frames, columns in damage.saturated:
                values[frames, columns] = full_scale[columns]
                validity[frames, columns] = Validity.SATURATED
        for row in np.flatnonzero(damage.corrupt):
            if full_scale is not None:
                column, bit = self._rng.integers(values.shape[1]), self._rng.integers(8 * values.itemsize - 1)
                values[row, column] ^= values.dtype.type(1 << int(bit))
            validity[row] = Validity.CORRUPT
        validity[damage.stale] = Validity.STALE
