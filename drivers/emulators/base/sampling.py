"""When a device takes its samples: by its own clock, never asked."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heft.drivers.plant.plant import Plant
from heft.drivers.plant.ticker import Ticker

__all__ = ["Samples", "Sampling"]


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Samples that are due: their numbers since the plant's start, shape (N,) int64, and instants [s], shape (N,)."""

    number: NDArray[np.int64]
    t: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.t)


class Sampling:
    """Sample k is taken at (k + phase) periods of the device's clock.

    The device's clock (`ticker`) drifts, so the true period is not the nominal one. On a host that wakes late, or only
    every `batch_s` [s], all samples that have become due are taken together, each at its own instant. Those of
    more than `PATIENCE_S` ago are left out, as by a device whose transmit buffer is full.
    """

    PATIENCE_S = 1.0

    def __init__(
        self, plant: Plant, ticker: Ticker, rate_hz: float, phase: float = 0.0, batch_s: float = 0.0
    ) -> None:
        self.ticker = ticker
        self.period_s = ticker.period(rate_hz)
        self._more = max(0, round(batch_s / self.period_s) - 1)  # samples waited for besides the first
        self._plant = plant
        self._phase = phase

    async def due(self) -> AsyncIterator[Samples]:
        """For ever, beginning with the next one; the plant has been brought up to them."""
        plant, period = self._plant, self.period_s
        first = math.ceil(plant.now() / period - self._phase)
        while True:
            await plant.clock.sleep_until(plant.nanoseconds((first + self._more + self._phase) * period))
            last = max(first, math.floor(plant.now() / period - self._phase))
            first = max(first, last - math.ceil(self.PATIENCE_S / period))
            number = np.arange(first, last + 1, dtype=np.int64)
            yield Samples(number, (number.astype(np.float64) + self._phase) * period)
            first = last + 1
