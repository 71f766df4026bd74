"""Findings of `heft check` on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

import yaml
from rich.console import Console

from heft.identify.diagnosis.finding import Finding

__all__ = ["describe_findings"]


def describe_findings(found: Sequence[Finding], console: Console) -> None:
    """Each with its evidence, what it means, what to do, and the line that cures it; worst first."""
    for one in found:
        console.print(f"{one.severity:8}{one.id}: {one.where}", markup=False)
        console.print(f"        {one.evidence}", markup=False)
        console.print(f"        means: {one.meaning}", markup=False)
        console.print(f"        do: {one.remedy}", markup=False)
        if one.fix is not None:
            line = yaml.safe_dump(dict(one.fix), default_flow_style=True, width=1000, sort_keys=False).strip()
            console.print(f"        fix: {line}", markup=False)
    counts = {word: sum(one.severity == word for one in found) for word in ("fatal", "serious", "note")}
    said = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    console.print(f"findings: {said or 'none'}", markup=False)
