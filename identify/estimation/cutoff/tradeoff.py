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

    cutoff_hz  that was taken
    given      True where the user gave it
    reason     why this one; where there was no look at the spectra, why not
    looked_s   seconds of data that the spectra are from
    delays_s   of the torques, as the look has them [s]: of each recording, or one of all
    spectrum   None where there was no look: then there are no candidates, and the cut-off is from the motion alone
    """

    cutoff_hz: float
    given: bool
    reason: str
    candidates: tuple[CutoffCandidate, ...] = ()
    chosen: int | None = None
    looked_s: float = 0.0
    spectrum: Spectrum | None = None
    delays_s: tuple[float, ...] = ()

    @property
    def taken(self) -> CutoffCandidate | None:
        """The candidate that was taken; None where there was no look."""
        return None if self.chosen is None else self.candidates[self.chosen]

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line where the cut-off was to be chosen and the data could not be looked at."""
        if self.given or self.spectrum is not None:
            return ()
        return (
            f"the cut-off of {self.cutoff_hz:g} Hz is a safe value from the motion alone: {self.reason}; compare "
            "others (`cutoff_hz`)",
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "cutoff_hz": self.cutoff_hz,
            "candidates": [asdict(one) for one in self.candidates],
            "chosen": self.chosen,
            "given": self.given,
            "reason": self.reason,
            "looked_s": self.looked_s,
            "spectrum": None if self.spectrum is None else self.spectrum.to_dict(),
            "delays_s": list(self.delays_s),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Inverse of `to_dict`."""
        candidates = tuple(CutoffCandidate(**one) for one in data["candidates"])
        spectrum = None if data["spectrum"] is None else Spectrum.from_dict(data["spectrum"])
        cutoff_hz = (
            data.get("cutoff_hz") or candidates[data["chosen"]].cutoff_hz
        )  # results before 0.12 have no key
        delays_s = tuple(data.get("delays_s", ()))
        changed = {
            "cutoff_hz": cutoff_hz,
            "candidates": candidates,
            "spectrum": spectrum,
            "delays_s": delays_s,
        }
        return cls(**{**data, **changed})


def _short(values: Array) -> Any:
    if values.ndim > 1:
        return [_short(row) for row in values]
    return [float(f"{value:.4g}") for value in values.tolist()]
