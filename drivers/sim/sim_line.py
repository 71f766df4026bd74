"""The way from a device to the host: latency, jitter, loss, silence, late and doubled frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heft.drivers.plant.faults import Burst, Drop, Duplicate, Fault, Late, Silence

__all__ = ["Arrivals", "SimLine"]


@dataclass(frozen=True, slots=True, eq=False)
class Arrivals:
    """What became of N samples: times of arrival [s], shape (N,); which arrived; how many came twice."""

    t: NDArray[np.float64]
    kept: NDArray[np.bool_]
    duplicates: int


class SimLine:
    """Frames keep their order; each takes `latency_s` and an exponentially distributed wait of mean `jitter_s`."""

    def __init__(self, latency_s: float, jitter_s: float, rng: Callable[[str], np.random.Generator]) -> None:
        self._latency_s = latency_s
        self._jitter_s = jitter_s
        self._jitter = rng("jitter")
        self._loss = rng("loss")
        self._bad: dict[int, bool] = {}  # state of the line, by the position of a burst fault
        self._last = -np.inf

    def carry(self, t: NDArray[np.float64], faults: Sequence[Fault]) -> Arrivals:
        """Send samples taken at t [s], shape (N,)."""
        arrival = t + self._latency_s + self._jitter_s * self._jitter.standard_exponential(len(t))
        kept = np.ones(len(t), dtype=np.bool_)
        doubled = np.zeros(len(t), dtype=np.bool_)
        for number, fault in enumerate(faults):
            active = fault.active(t)
            if not active.any():
                continue
            match fault:
                case Late():
                    arrival += np.where(active, fault.delay_s, 0.0)
                case Silence():
                    kept &= ~active
                case Drop():
                    kept &= ~(active & (self._loss.random(len(t)) < fault.rate))
                case Burst():
                    kept &= ~(active & self._burst(number, fault, len(t)))
                case Duplicate():
                    doubled |= active & (self._loss.random(len(t)) < fault.rate)
        arrival = np.maximum.accumulate(np.maximum(arrival, self._last))
        self._last = float(arrival[-1])
        return Arrivals(arrival, kept, int(np.count_nonzero(doubled & kept)))

    def _burst(self, number: int, fault: Burst, n: int) -> NDArray[np.bool_]:
        """Gilbert's line: lost in the bad state, whose share is `rate` and whose mean stay is `length` samples."""
        leave = 1.0 / fault.length
        enter = leave * fault.rate / (1.0 - fault.rate)
        lost = np.empty(n, dtype=np.bool_)
        bad = self._bad.get(number, False)
        for i, x in enumerate(self._loss.random(n)):
            bad = x >= leave if bad else x < enter
            lost[i] = bad
        self._bad[number] = bad
        return lost
