"""A rehearsal, as an operator reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

__all__ = ["describe_rehearsal", "rehearsal_line"]

MOST_JOINTS = 3  # that are told as the hottest


def rehearsal_line(facts: Mapping[str, Any]) -> str:
    """When and how a plan was rehearsed, from the facts that were kept."""
    parts = [f"rehearsed {facts['at']} on the simulated twin"]
    if facts.get("condition_number") is not None:
        parts.append(f"condition number {facts['condition_number']:.0f}")
    if facts.get("truth") is not None:
        parts.append(f"planted truth inside {facts['truth']['inside']} of {facts['truth']['of']} intervals")
    if facts.get("hottest"):
        hot = facts["hottest"][0]
        parts.append(f"hottest {hot['joint']}, {100 * hot['peak_share']:.0f} % of its torque limit")
    return "; ".join([", ".join(parts[:1]), *parts[1:]])


def describe_rehearsal(facts: Mapping[str, Any], console: Console) -> None:
    """What will come out: condition, intervals, hottest joints, and whether the truth was found."""
    stand_ins = ", ".join(f"{name} by {kind}" for name, kind in facts["devices"].items())
    console.print(f"rehearsed on the simulated twin ({stand_ins}; seed {facts['seed']})")
    console.print(
        f"{facts['state']} after {facts['session_seconds']:.1f} s of session, {facts['wall_seconds']:.1f} s here"
    )
    for heat in facts["hottest"][:MOST_JOINTS]:
        console.print(
            f"hot       {heat['joint']}: torque up to {heat['peak']:.3g} of {heat['limit']:g}, "
            f"{100 * heat['peak_share']:.0f} % (rms {100 * heat['rms_share']:.0f} %)"
        )
    if facts["truth"] is not None:
        _describe_identified(facts, console)
    if facts["error"]:
        console.print(f"it did not come to its end: {facts['error']}")
    console.print("the rehearsal went well" if facts["good"] else "the rehearsal did not go well")


def _describe_identified(facts: Mapping[str, Any], console: Console) -> None:
    truth, worst = facts["truth"], facts["truth"]["worst"]
    console.print(f"expected  condition number {facts['condition_number']:.1f}, verdict {facts['verdict']}")
    masses = {
        name: told for name, told in facts["expected_intervals"].items() if name.endswith(("mass", "_mass"))
    }
    shown = ", ".join(f"{name} +- {told['half_width']:.2g} {told['unit']}" for name, told in masses.items())
    console.print(f"expected  95 % intervals: {shown}")
    console.print(
        f"truth     {truth['inside']} of {truth['of']} base parameters inside their 95 % intervals (at least "
        f"{truth['at_least']}); furthest off {worst['name']}, {worst['off_std']:.1f} standard deviations"
    )
