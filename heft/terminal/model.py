"""An identified model as tables: links and joints against what was known before, errors, warnings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from identify.parameters import Layout
from identify.result import Result
from identify.result.parameters import Parameters

__all__ = ["describe_result"]


def describe_result(result: Result, path: Path, console: Console) -> None:
    """Links, joints, how well the model predicts, and what to know before it is used."""
    prior = None if result.prior is None else Parameters(Layout(result.robot.parameter_names), result.prior)
    console.print()
    console.print(_links(result, prior))
    console.print()
    console.print(_joints(result))
    consistency = result.consistency()
    verdict = "every link could exist" if consistency.ok else f"{consistency.culprit} could not exist"
    console.print(
        f"\nmethod {result.method}, level {result.level}: {verdict} (margin {consistency.margin:.2g}); "
        f"total mass {result.total_mass:.2f} kg"
    )
    console.print(
        f"rank {result.rank} of {len(result.base.names)} base parameters, "
        f"condition number {result.condition_number:.0f}, cut-off {result.processing.cutoff_hz:.3g} Hz"
    )
    console.print(f"torque error: fit {100 * result.fit.total:.2f} %", end="")
    if result.validation is None:
        console.print("; no validation: give a motion that the fit has not seen (--validate FILE)")
    else:
        console.print(f", validation on unseen motion {100 * result.validation.total:.2f} %")
    for warning in result.warnings:
        console.print(f"[yellow]![/] {warning}", markup=True)
    console.print(f"result    {path}", markup=False)


def _links(result: Result, prior: Parameters | None) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("link")
    for column in ("mass kg", "prior", "com mm", "prior", "principal moments g m2", "prior"):
        table.add_column(column, justify="right")
    for link in result.parameters.links:
        before = None if prior is None else prior[link.name]
        table.add_row(
            link.name,
            f"{link.mass:.3f}",
            "" if before is None else f"{before.mass:.3f}",
            _numbers(1e3 * link.com, 0),
            "" if before is None else _numbers(1e3 * before.com, 0),
            _numbers(1e3 * link.principal_moments, 2),
            "" if before is None else _numbers(1e3 * before.principal_moments, 2),
        )
    return table


def _joints(result: Result) -> Table:
    terms = list(result.robot.terms)
    table = Table(box=None, pad_edge=False)
    table.add_column("joint")
    for term in terms:
        table.add_column(term.replace("_", " "), justify="right")
    table.add_column("fit error", justify="right")
    names = set(result.robot.parameter_names)
    for name, error in zip(result.robot.joints, result.fit.per_joint, strict=True):
        joint = result.parameters[name]
        values = [f"{getattr(joint, term):.4g}" if f"{name}.{term}" in names else "" for term in terms]
        table.add_row(name, *values, f"{100 * error:.2f} %")
    return table


def _numbers(values: np.ndarray, digits: int) -> str:
    return " ".join(f"{value:.{digits}f}" for value in values)
