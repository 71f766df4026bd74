"""A delay between two streams, and how sure it is."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import inf, isfinite
from typing import Any, Self

__all__ = ["Delay", "DelayWindow", "SensorDelay"]


@dataclass(frozen=True)
class DelayWindow:
    """The delay seen in one part of the data: from `start_s` to `end_s`, both in seconds of the data's own time."""

    start_s: float
    end_s: float
    value_s: float
    std_s: float


@dataclass(frozen=True)
class SensorDelay:
    """What comes on top of the common delay for one sensor [s], and its standard deviation [s]."""

    sensor: str
    own_s: float
    std_s: float


@dataclass(frozen=True)
class Delay:
    """How old a stream's values are against the positions of `against` (sign: docs/units-and-frames.md).

    value_s, std_s   [s]; a given delay has standard deviation 0, one that the data do not tell an infinite one
    low_s, high_s    95 % interval [s]
    estimated        False where the user gave it, or the data could not tell and it was left at `value_s`
    windows          the same in parts of the data, where there are enough of them
    """

    stream: str
    against: str
    value_s: float
    std_s: float
    low_s: float
    high_s: float
    estimated: bool = True
    windows: tuple[DelayWindow, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values; what is infinite is null."""
        return _plain(self) | {"windows": [_plain(window) for window in self.windows]}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Inverse of `to_dict`."""
        windows = tuple(DelayWindow(**_known(window)) for window in data["windows"])
        return cls(**{**_known(data), "windows": windows})


def _plain(value: Delay | DelayWindow) -> dict[str, Any]:
    return {
        name: None if isinstance(item, float) and not isfinite(item) else item
        for name, item in asdict(value).items()
    }


def _known(data: dict[str, Any]) -> dict[str, Any]:
    """With what null stands for: a delay that the data do not tell."""
    ends = {"std_s": inf, "low_s": -inf, "high_s": inf}
    return {name: ends.get(name) if item is None else item for name, item in data.items()}
