"""How data are turned into rows: filter, derivatives, decimation, what is left out."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Literal, Self

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.data.filters import KEPT, Differentiator, butterworth, central, low_pass, savitzky_golay
from heft.identify.errors import DataError

__all__ = ["Derivative", "Processing", "Window"]

Derivative = Literal["central", "savitzky_golay", "fourier"]
Window = Literal["kaiser", "butterworth"]

# Positions pass unchanged up to the cut-off and are stopped at three times it, so that what is left of the regressor
# after its own filter was not touched by theirs. 130 dB: 1e-6 of the motion, where nothing else disturbs.
POSITION_ATTENUATION_DB = 130.0
# Torque and regressor go through one filter, whose ripple therefore does no harm: 60 dB keeps noise from folding back.
TORQUE_ATTENUATION_DB = 60.0
MOST_PER_CUTOFF = 1e6  # samples


@dataclass(frozen=True)
class Processing:
    """What is done to every dataset alike.

    cutoff_hz     half amplitude of the zero-phase low-pass on torque and regressor
    window        `kaiser`: finite and sharp; `butterworth`: 4th order, forwards and backwards, as papers have it
    derivative    of positions: `central` differences (003), `savitzky_golay` (001), or `fourier`, which averages
                  the periods of a periodic motion and differentiates its series
    order         of the differences or local polynomials; None: 8 and 4
    period_s      of the motion, for `fourier`
    trim_s        left out at the beginning and at the end, beside what the filters need
    leave_rest    leave out what a joint does at rest, where friction can be anything up to stiction
    """

    cutoff_hz: float
    window: Window = "kaiser"
    derivative: Derivative = "central"
    order: int | None = None
    period_s: float | None = None
    trim_s: tuple[float, float] = (0.0, 0.0)
    leave_rest: bool = True

    def __post_init__(self) -> None:
        if not self.cutoff_hz > 0:
            raise DataError(f"cut-off {self.cutoff_hz} Hz: must be above 0")
        if self.window not in ("kaiser", "butterworth"):
            raise DataError(f"window {self.window!r}: choose kaiser or butterworth")
        if self.derivative not in ("central", "savitzky_golay", "fourier"):
            raise DataError(f"derivative {self.derivative!r}: choose central, savitzky_golay or fourier")
        if self.derivative == "fourier" and not (self.period_s and self.period_s > 0):
            raise DataError("derivative fourier needs period_s [s], the period of the motion")
        if self.order is not None and (self.order < 2 or self.order % 2):
            raise DataError(f"order {self.order}: choose 2, 4, 6, ...")
        if min(self.trim_s) < 0:
            raise DataError(f"trim_s {self.trim_s}: give two times of 0 s or more")

    def checked(self, rate_hz: float) -> None:
        """Raise `DataError` where the cut-off does not go with a sampling rate."""
        if self.cutoff_hz > 0.4 * rate_hz:
            raise DataError(
                f"cut-off {self.cutoff_hz:g} Hz at {rate_hz:.6g} samples/s: at most {0.4 * rate_hz:.6g} Hz can be used"
            )

    def decimation(self, rate_hz: float) -> int:
        """Samples per row. Rows come at twice the cut-off (four times for butterworth): noise is white on them."""
        per_cutoff = 2 if self.window == "kaiser" else 4
        return max(1, int(rate_hz / (per_cutoff * self.cutoff_hz) + 1e-9))

    def taps(self, rate_hz: float) -> Array:
        """The low-pass on torque and regressor, shape (2 L + 1,); `DataError` where no memory would hold it."""
        if rate_hz > MOST_PER_CUTOFF * self.cutoff_hz:
            raise DataError(
                f"cut-off {self.cutoff_hz:g} Hz at {rate_hz:.3g} samples/s: at most {MOST_PER_CUTOFF:.0e} samples per "
                "period of the cut-off can be filtered; is t in seconds?"
            )
        if self.window == "butterworth":
            return butterworth(self.cutoff_hz, rate_hz)
        transition = min(self.cutoff_hz, rate_hz - 2 * self.cutoff_hz)
        return low_pass(self.cutoff_hz, rate_hz, transition, TORQUE_ATTENUATION_DB)

    def gain(self, frequency: Array, rate_hz: float) -> Array:
        """Amplitude that the low-pass leaves of frequencies [Hz] (F,), shape (F,)."""
        taps = self.taps(rate_hz)
        half = len(taps) // 2
        phase = np.multiply.outer(2 * np.pi * np.asarray(frequency) / rate_hz, np.arange(1, half + 1))
        return taps[half] + 2 * np.cos(phase) @ taps[half + 1 :]

    def alikeness(self, rate_hz: float) -> float:
        """Variance of the sum of many rows of white noise over what it were if rows were independent.

        Rows are alike where the filter falls off before half their rate: kaiser 1.15, butterworth 2.1. What a slow
        motion tells is that much less certain.
        """
        taps, step = self.taps(rate_hz), self.decimation(rate_hz)
        whole = np.correlate(taps, taps, "full")
        rows = whole[(len(taps) - 1) % step :: step]
        return max(float(rows.sum() / whole[len(taps) - 1]), 1.0)

    @lru_cache(KEPT)  # noqa: B019  a value, equal ones are the same to it
    def differentiator(self, rate_hz: float) -> Differentiator:
        """Smoothed positions and their derivatives."""
        if self.derivative == "savitzky_golay":
            return savitzky_golay(2 * self.cutoff_hz, rate_hz, self.order or 4)
        if self.window == "butterworth":
            smoothing = butterworth(self.cutoff_hz, rate_hz)
        else:
            highest = 0.5 * rate_hz
            stop = min(3 * self.cutoff_hz, 0.98 * highest)
            middle, width = (self.cutoff_hz + stop) / 2, stop - self.cutoff_hz
            smoothing = low_pass(middle, rate_hz, width, POSITION_ATTENUATION_DB)
        return central(smoothing, 1 / rate_hz, self.order or 8)

    def bias(self, frequency: Array, rate_hz: float) -> Array:
        """Relative error of accelerations at frequencies [Hz] (F,): what differentiator and smoothing do to a sine.

        Zero for `fourier`, whose series is differentiated exactly.
        """
        if self.derivative == "fourier":
            return np.zeros(len(frequency))
        second = self.differentiator(rate_hz).second
        half = len(second) // 2
        turn = 2 * np.pi * np.asarray(frequency) / rate_hz
        gain = second[half] + 2 * np.cos(np.multiply.outer(turn, np.arange(1, half + 1))) @ second[half + 1 :]
        return np.asarray(gain / -((turn * rate_hz) ** 2) - 1)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self) | {"trim_s": list(self.trim_s)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Inverse of `to_dict`."""
        start, end = data["trim_s"]
        return cls(**{**data, "trim_s": (float(start), float(end))})
