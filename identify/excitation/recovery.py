"""Whether a truth that was planted is inside the intervals of an identification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from heft.identify.certainty.interval import LEVEL
from heft.identify.result import Result

__all__ = ["Recovery"]

#: Chance of sound intervals to be called too narrow.
CHANCE = 1e-3


@dataclass(frozen=True, slots=True)
class Recovery:
    """Base parameters of a result against their truth.

    inside, count   intervals (95 %) that have the truth, of how many that the data determine
    least           so many have to have it: fewer have it by chance once in 1 / CHANCE times
    worst, off      the one furthest off, and by how many of its standard deviations
    """

    inside: int
    count: int
    least: int
    worst: str
    off: float

    @classmethod
    def of(cls, result: Result, truth: Mapping[str, float]) -> Recovery:
        """`truth` by parameter's name; terms of friction that it does not have are zero."""
        from scipy.stats import binom  # takes long to load

        true = result.base.matrix @ np.array([truth.get(name, 0.0) for name in result.robot.parameter_names])
        error, std = np.abs(result.base.values - true), result.base.std
        known = np.flatnonzero(np.isfinite(std) & (std > 0.0))
        off = error[known] / std[known]
        worst = int(off.argmax()) if len(known) else 0
        return cls(
            int((error[known] <= result.base.half_widths[known]).sum()),
            len(known),
            len(known) - int(binom.ppf(1.0 - CHANCE, len(known), 1.0 - LEVEL)) if len(known) else 0,
            result.base.names[known[worst]] if len(known) else "",
            float(off[worst]) if len(known) else 0.0,
        )

    @property
    def recovered(self) -> bool:
        """As many intervals have the truth as they should."""
        return self.count > 0 and self.inside >= self.least

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "inside": self.inside,
            "of": self.count,
            "at_least": self.least,
            "recovered": self.recovered,
            "worst": {"name": self.worst, "off_std": self.off},
        }
