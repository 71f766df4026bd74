"""What a sensor does to the truth: bias, drift, noise, resolution, range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.drivers.errors import OptionError

__all__ = ["PerColumn", "Sensor", "per_column", "per_wrench"]

PerColumn = float | tuple[float, ...]
_INT32_MAX = (1 << 31) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Sensor:
    """Errors of k columns in SI units, shape (k,) each.

    value = truth + bias + drift t + noise; the device's number is value / resolution, rounded, within +- full scale.

    noise       rms, white
    bias        at the world's start; drawn
    drift       of the bias, per second; drawn
    resolution  SI value of one count
    full_scale  largest count, int64
    """

    noise: NDArray[np.float64]
    bias: NDArray[np.float64]
    drift: NDArray[np.float64]
    resolution: NDArray[np.float64]
    full_scale: NDArray[np.int64]

    @classmethod
    def draw(
        cls,
        rng: np.random.Generator,
        *,
        resolution: NDArray[np.float64],
        noise: NDArray[np.float64],
        bias: NDArray[np.float64],
        drift: NDArray[np.float64],
        limit: NDArray[np.float64] | None = None,
    ) -> Sensor:
        """Draw bias and drift from normal distributions of these sizes; `limit` is full scale in SI units."""
        k = len(resolution)
        top = np.full(k, _INT32_MAX)
        if limit is not None:
            top = np.minimum(limit / resolution, top).astype(np.int64)
        return cls(noise, bias * rng.standard_normal(k), drift * rng.standard_normal(k), resolution, top)

    def read(
        self, truth: NDArray[np.float64], t: NDArray[np.float64], rng: np.random.Generator
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Counts for N samples taken at t [s], and where they are cut off at full scale; shape (N, k)."""
        value = truth + self.bias + t[:, None] * self.drift + self.noise * rng.standard_normal(truth.shape)
        counts = np.rint(value / self.resolution)
        clipped = np.minimum(np.maximum(counts, -self.full_scale), self.full_scale)
        return clipped, clipped != counts

    def truth(self) -> dict[str, Any]:
        """For the truth file."""
        return {name: getattr(self, name).tolist() for name in ("noise", "bias", "drift", "resolution")}


def per_column(key: str, value: PerColumn, k: int) -> NDArray[np.float64]:
    """One number for all columns, or one each; shape (k,)."""
    if isinstance(value, tuple) and len(value) != k:
        raise OptionError(f"{key}: {len(value)} numbers, expected {k} (or one for all)")
    return np.broadcast_to(np.asarray(value, dtype=np.float64), (k,)).copy()


def per_wrench(force: float, torque: float) -> NDArray[np.float64]:
    """The same number for all forces and another for all torques, shape (6,)."""
    return np.array([force] * 3 + [torque] * 3)
