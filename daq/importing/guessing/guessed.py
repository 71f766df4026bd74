"""What is guessed of a file's columns: the map, and the reason for each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.daq.importing.table import Table

__all__ = ["UNKNOWN_ROBOT", "ColumnGuess", "Guess", "RobotFacts", "column_name"]


@dataclass(frozen=True)
class RobotFacts:
    """What is known of the robot: joint names, which slide, limits of positions (n, 2) [rad, m]."""

    joints: tuple[str, ...] = ()
    prismatic: tuple[bool, ...] = ()
    position: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 2)))


#: Nothing is known of it.
UNKNOWN_ROBOT = RobotFacts()


@dataclass(frozen=True)
class ColumnGuess:
    """What a column is taken for, in which unit, and why; meaning `ignored` where it is not used."""

    column: str
    meaning: str
    unit: str
    reason: str

    def to_dict(self) -> dict[str, str]:
        """As plain JSON values."""
        return {"column": self.column, "meaning": self.meaning, "unit": self.unit, "reason": self.reason}


@dataclass
class Guess:
    """A map as plain values, its reasons, and what stood in the way of more."""

    map: dict[str, Any] = field(default_factory=dict)
    columns: list[ColumnGuess] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def tell(self, columns: Sequence[str], meaning: str, unit: str, reason: str) -> None:
        """Enter a reason for some columns."""
        self.columns += [ColumnGuess(name, meaning, unit, reason) for name in columns]


def column_name(table: Table, column: str, prefix: bool) -> str:
    """The name of a column in a map: with its table where there are several."""
    return f"{table.name}:{column}" if prefix else column
