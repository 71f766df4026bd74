"""A device's own clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ticker"]


@dataclass(frozen=True, slots=True)
class Ticker:
    """A free-running counter: reading = offset_s + (1 + drift) t, with t seconds since the world's start.

    `drift` is dimensionless (50e-6: 50 ppm fast). The raw counter has `bits` bits of 1/`hz` and wraps.
    """

    offset_s: float
    drift: float
    hz: float
    bits: int

    @classmethod
    def draw(cls, rng: np.random.Generator, drift_ppm: float, hz: float, bits: int) -> Ticker:
        """Any reading at the start, and a drift of at most `drift_ppm`."""
        offset_ticks = int(rng.integers(0, 1 << bits))
        return cls(offset_ticks / hz, float(rng.uniform(-drift_ppm, drift_ppm)) * 1e-6, hz, bits)

    def period(self, rate_hz: float) -> float:
        """True seconds between events that the device times at `rate_hz`."""
        return 1.0 / (rate_hz * (1.0 + self.drift))

    def ticks(self, t: NDArray[np.float64]) -> NDArray[np.int64]:
        """Raw counter at times t [s], shape (N,)."""
        reading = np.rint(self.offset_s * self.hz) + (1.0 + self.drift) * t * self.hz
        # Sampling is timed by this very counter: it reads whole numbers there, whatever rounding says.
        ticks: NDArray[np.int64] = np.floor(reading + 1e-3).astype(np.int64) & ((1 << self.bits) - 1)
        return ticks

    def truth(self) -> dict[str, Any]:
        """For the truth file."""
        return {
            "offset_s": self.offset_s,
            "drift_ppm": self.drift * 1e6,
            "tick_hz": self.hz,
            "tick_bits": self.bits,
        }
