"""A finding: one thing that is wrong with a log or a model, what shows it, and its cure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from heft.identify.certainty.reason import CAUSE, Reason

__all__ = ["SEVERITIES", "Finding", "Place", "Severity"]

Severity = Literal["fatal", "serious", "note"]
SEVERITIES: tuple[Severity, ...] = ("fatal", "serious", "note")


@dataclass(frozen=True)
class Place:
    """Where a finding shows, for its figure: a table of the log, columns of it, and the time [s] around it, or all."""

    table: str
    columns: tuple[int, ...] = (0,)
    span_s: tuple[float, float] | None = None


@dataclass(frozen=True)
class Finding:
    """One finding.

    id         names the kind; stable, `docs/check.md` has all of them
    severity   `fatal`: identification is meaningless; `serious`: the result is wrong in part; `note`: know this
    where      the joint, stream, link or file
    evidence   what shows it, with its number and bound
    meaning    for the result
    remedy     what to do
    fix        the cure as a part of a map or of a robot's file; None where there is none
    weight     how much it matters beside others of its severity
    place      what its figure shows; None: no figure
    rival      one of several explanations of the same data: only the first of them is to be mended
    """

    id: str
    severity: Severity
    where: str
    evidence: str
    meaning: str
    remedy: str
    fix: Mapping[str, Any] | None = None
    weight: float = 0.0
    place: Place | None = field(default=None, compare=False)
    rival: bool = False

    @property
    def rank(self) -> tuple[int, float]:
        """Sorts the worst first."""
        return SEVERITIES.index(self.severity), -self.weight

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "id": self.id,
            "severity": self.severity,
            "where": self.where,
            "evidence": self.evidence,
            "meaning": self.meaning,
            "remedy": self.remedy,
            "fix": None if self.fix is None else dict(self.fix),
        }

    def reason(self) -> Reason:
        """The same as a reason of a verdict: what is fatal makes a result unfit."""
        text = f"{self.where}: {self.evidence}; {self.remedy}"
        return Reason(self.id, "unfit" if self.severity == "fatal" else "care", text, CAUSE + self.weight)
