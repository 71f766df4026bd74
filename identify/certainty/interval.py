"""A number with its standard deviation and 95 % interval."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from scipy.special import stdtrit

__all__ = ["LEVEL", "Interval", "quantile"]

LEVEL = 0.95


def quantile(degrees: float) -> float:
    """Half the width of a 95 % interval in standard deviations that were estimated with so many degrees of freedom."""
    return float(stdtrit(min(max(degrees, 1.0), 1e6), 0.5 + LEVEL / 2))


@dataclass(frozen=True)
class Interval:
    """A value with its standard deviation and its 95 % interval, all in `unit`; `low, high = interval` gives its ends.

    prior_dominated   the data narrow what was known before by less than a third
    """

    value: float
    std: float
    low: float
    high: float
    unit: str = ""
    prior_dominated: bool = False

    @classmethod
    def of(
        cls,
        value: float,
        std: float,
        degrees: float = np.inf,
        unit: str = "",
        prior_dominated: bool = False,
        *,
        positive: bool = False,
    ) -> Self:
        """Symmetric about the value; cut at zero for a `positive` quantity."""
        half = quantile(degrees) * std
        low = max(value - half, min(value, 0.0)) if positive else value - half
        return cls(value, std, low, value + half, unit, prior_dominated)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values; what is infinite is null."""
        return {
            name: None if isinstance(item, float) and not np.isfinite(item) else item
            for name, item in asdict(self).items()
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Inverse of `to_dict`."""
        ends = {"std": np.inf, "low": -np.inf, "high": np.inf}
        known: dict[str, Any] = {name: ends.get(name) if v is None else v for name, v in data.items()}
        return cls(**known)

    def __iter__(self) -> Iterator[float]:
        return iter((self.low, self.high))

    def __str__(self) -> str:
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]" + (f" {self.unit}" if self.unit else "")
