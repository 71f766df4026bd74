"""The trade-off of the cut-off: expected errors of each candidate, and which one was taken."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from heft.identify.bodies.arrays import Array, frozen

__all__ = ["CutoffCandidate", "Spectrum", "Tradeoff"]


@dataclass(frozen=True)
class CutoffCandidate:
    """One cut-off.

    cutoff_hz        half amplitude of the low-pass
    kept             share of the modelled torque's power that passes, its mean aside, in the joint that keeps least
    std              expected standard deviation of a base parameter, noise and edges lost to the filters counted, over
                     that of the chosen cut-off; geometric mean over the base parameters
    bias             most that noise of the positions biases a base parameter by, in its standard deviations
    position_noise   share of the residual's power that noise of the positions makes, in the joint where it is most
    residual         residual over the sensor's noise, both through the low-pass, in the joint where it is most; None
                     where the sensor's noise is not known
    """

    cutoff_hz: float
    kept: float
    std: float
    bias: float
    position_noise: float
    residual: float | None


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Root densities in bands of frequency [N m / sqrt(Hz), N / sqrt(Hz)].

    frequency   middle of each band [Hz], shape (F,)
    torque      of the modelled torque, shape (n, F)
    residual    of measured minus modelled, shape (n, F)
    floor       of white noise on the torques, shape (n,)
    positions   of what noise of the positions makes, shape (n, F)
    """

    frequency: Array
    torque: Array
    residual: Array
    floor: Array
    positions: Array

    def __post_init__(self) -> None:
        for name in ("frequency", "torque", "residual", "floor", "positions"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values, four digits of them."""
        return {
            name: _short(getattr(self, name))
            for name in ("frequency", "torque", "residual", "floor", "positions")
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Inverse of `to_dict`."""
        return cls(**{name: np.array(value, dtype=np.float64) for name, value in data.items()})


@dataclass(frozen=True)
class Tradeoff:
    """Candidates in order of frequency, `chosen` the number of the one that was taken.

    given   True where the user gave it
    reason  why this one
    looked_s   seconds of data that the spectra are from
    """

    candidates: tuple[CutoffCandidate, ...]
    chosen: int
    given: bool
    reason: str
    looked_s: float
    spectrum: Spectrum

    @property
    def taken(self) -> CutoffCandidate:
        """The candidate that was taken."""
        return self.candidates[self.chosen]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "candidates": [asdict(one) for one in self.candidates],
            "chosen": self.chosen,
            "given": self.given,
            "reason": self.reason,
            "looked_s": self.looked_s,
            "spectrum": self.spectrum.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Inverse of `to_dict`."""
        candidates = tuple(CutoffCandidate(**one) for one in data["candidates"])
        return cls(**{**data, "candidates": candidates, "spectrum": Spectrum.from_dict(data["spectrum"])})


def _short(values: Array) -> Any:
    if values.ndim > 1:
        return [_short(row) for row in values]
    return [float(f"{value:.4g}") for value in values.tolist()]
