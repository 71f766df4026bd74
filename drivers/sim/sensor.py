"""What a sensor does to the truth: bias, drift, noise, resolution, range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivers.errors import OptionError

__all__ = ["PerColumn", "Sensor", "per_column"]

PerColumn = float | tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Sensor:
    """Errors of k columns in SI units, shape (k,) each.

    value = truth + bias + drift t + noise; the device's number is value / resolution, rounded, within +- range.

    noise       rms, white
    bias        at the world's start; drawn
    drift       of the bias, per second; drawn
    resolution  SI value of one count
    limit       full scale; inf: only the number's own range
    """

    noise: NDArray[np.float64]
    bias: NDArray[np.float64]
    drift: NDArray[np.float64]
    resolution: NDArray[np.float64]
    limit: NDArray[np.float64]

    @classmethod
    def draw(
        cls,
        rng: np.random.Generator,
        *,
        noise: NDArray[np.float64],
        bias: NDArray[np.float64],
        drift: NDArray[np.float64],
        resolution: NDArray[np.float64],
        limit: NDArray[np.float64] | None = None,
    ) -> Sensor:
        """Draw bias and drift from normal distributions of these sizes."""
        k = len(resolution)
        full = np.full(k, np.inf) if limit is None else limit
        return cls(noise, bias * rng.standard_normal(k), drift * rng.standard_normal(k), resolution, full)

    def full_scale(self, dtype: str) -> NDArray[np.int64]:
        """Largest number that the device can give, shape (k,)."""
        top = np.iinfo(np.dtype(dtype)).max
        return np.minimum(self.limit / self.resolution, top).astype(np.int64)

    def read(
        self, truth: NDArray[np.float64], t: NDArray[np.float64], rng: np.random.Generator, dtype: str
    ) -> tuple[NDArray[np.generic], NDArray[np.bool_]]:
        """The device's numbers for N samples taken at t [s], and where they are at full scale; shape (N, k)."""
        value = truth + self.bias + t[:, None] * self.drift + self.noise * rng.standard_normal(truth.shape)
        top = self.full_scale(dtype)
        counts = np.rint(value / self.resolution)
        clipped = np.minimum(np.maximum(counts, -top), top)
        return clipped.astype(dtype), clipped != counts

    def truth(self) -> dict[str, Any]:
        """For the truth file."""
        return {name: getattr(self, name).tolist() for name in ("noise", "bias", "drift", "resolution")}


def per_column(key: str, value: PerColumn, k: int) -> NDArray[np.float64]:
    """One number for all columns, or one each; shape (k,)."""
    if isinstance(value, tuple) and len(value) != k:
        raise OptionError(f"{key}: {len(value)} numbers, expected {k} (or one for all)")
    return np.broadcast_to(np.asarray(value, dtype=np.float64), (k,)).copy()
