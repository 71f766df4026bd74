"""A reason for or against the use of an estimate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

__all__ = ["CAUSE", "Reason", "Severity"]

Severity = Literal["unfit", "care"]
CAUSE = 1000.0  # weight of causes: they come before what they cause
_ORDER: dict[Severity, int] = {"unfit": 0, "care": 1}


@dataclass(frozen=True)
class Reason:
    """One thing that speaks against an estimate, with its number, its bound and what to do.

    id         names the kind: `docs/verdict.md` has all of them
    severity   `unfit`: do not use the estimate; `care`: know this before you do
    text       a sentence without a full stop
    weight     how much it matters beside others of its severity; from `CAUSE` on it is a cause of others
    where      joints that it is about; empty: all of them, or none in particular
    fix        its cure as a part of a map or of a robot's file, or None; `columns` and `joints` by the robot's names,
               `time: {factor}` is what stamps are to be multiplied by
    """

    id: str
    severity: Severity
    text: str
    weight: float = 0.0
    where: tuple[str, ...] = ()
    fix: Mapping[str, Any] | None = field(default=None, compare=False)

    @property
    def cause(self) -> bool:
        """Whether it explains other reasons."""
        return self.weight >= CAUSE

    @property
    def rank(self) -> tuple[int, float]:
        """Sorts the worst first."""
        return _ORDER[self.severity], -self.weight

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_dict`."""
        return cls(**{**data, "where": tuple(data.get("where", ()))})
