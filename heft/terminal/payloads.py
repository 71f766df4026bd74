"""Pick-ups as a table for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

__all__ = ["describe_payload", "describe_payloads"]


def describe_payloads(report: Mapping[str, Any], console: Console) -> None:
    """One row per pick-up, then what is to be noted, then lines for controllers."""
    payloads = report["payloads"]
    if payloads:
        table = Table(box=None, pad_edge=False)
        for column in (
            "",
            "t [s]",
            "mass [kg]",
            "centre of mass [mm], flange",
            "moments [g m2]",
            "ended",
            "is",
        ):
            table.add_column(column)
        for facts in payloads:
            table.add_row(*_row(facts))
        console.print(table)
    for facts in report["nothing"]:
        console.print(f"{facts['number']}: {facts['t_signal']:.2f} s: closed on nothing, or no weight came")
    for facts in payloads:
        for note in facts["notes"]:
            console.print(f"{facts['number']}: {note}", markup=False)
        if "controllers" in facts:
            console.print(f"{facts['number']}: {facts['controllers']['ur']}", markup=False)
    for note in report["notes"]:
        console.print(note, markup=False)


def describe_payload(facts: Mapping[str, Any]) -> str:
    """One line while it is carried."""
    where = f"{facts['number']}: {facts['state']}"
    if "mass" not in facts:
        return f"{where}: no weight"
    return f"{where}: {_value(facts['mass'], facts['std']['mass'], 1.0, 4)} kg, com {_vector(facts)} mm"


def _row(facts: Mapping[str, Any]) -> tuple[str, ...]:
    number, time = str(facts["number"]), f"{facts['t_pick']:.2f}"
    if "mass" not in facts:
        return number, time, "?", "?", "?", facts["state"], ""
    moments = ", ".join(
        f"{1e3 * value:.3g}" if measured else "?"
        for value, measured in zip(facts["principal"]["moments"], facts["principal"]["measured"], strict=True)
    )
    found = facts.get("recognition")
    name = "" if found is None else found["name"] or found["verdict"]
    mass = _value(facts["mass"], facts["std"]["mass"], 1.0, 4)
    return number, time, mass, _vector(facts), moments, facts["state"], name


def _vector(facts: Mapping[str, Any]) -> str:
    values: Sequence[float] = facts["com"]
    return ", ".join(_value(v, s, 1e3, 2) for v, s in zip(values, facts["std"]["com"], strict=True))


def _value(value: float, std: float | None, scale: float, digits: int) -> str:
    """A value with the half-width of its 95 % interval; `?` where the motion has not told it."""
    return "?" if std is None else f"{scale * value:.{digits}f} ± {1.96 * scale * std:.{digits}f}"
