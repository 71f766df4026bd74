"""An identified model as tables: links and joints against what was known before, errors, warnings."""

from __future__ import annotations

from collections import Counter
from math import isfinite
from operator import add
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from heft.identify.bodies.parameters import Layout
from heft.identify.data import KnownLoad
from heft.identify.data.account import GRID, USED
from heft.identify.data.deflection import Deflection
from heft.identify.estimation.cutoff import Tradeoff
from heft.identify.result import Result
from heft.identify.result.parameter_values import LinkParameters, Parameters
from heft.identify.result.verdict import Verdict

__all__ = ["describe_result", "describe_verdict"]

DECIMALS = 8  # of a joint term in SI: finer than any arm
STYLES = {"good": "green", "care": "yellow", "unfit": "red"}


def describe_result(result: Result, path: Path, console: Console) -> None:
    """Links, joints, how well the model predicts, and what to know before it is used."""
    prior = None if result.prior is None else Parameters(Layout(result.robot.parameter_names), result.prior)
    console.print()
    console.print(_links(result, prior))
    if any(vague for link in result.parameters.links for vague in _vague(result, link.name)):
        console.print(
            "?  not told by the data: it rests on what was known before, or may be anything", markup=False
        )
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
        f"condition number {result.condition_number:.0f}"
        + (f", cut-off {result.processing.cutoff_hz:.3g} Hz" if result.tradeoff is None else "")
    )
    for source in result.sources:
        console.print(f"source {source}", markup=False)
    if result.tradeoff is not None:
        console.print(_cutoff(result.tradeoff), markup=False)
    for line in _recordings(result):
        console.print(line, markup=False)
    if any(origin.rows for origin in result.provenance.data):
        console.print(_rows(result), markup=False)
    if result.friction is not None:
        console.print(f"friction {result.friction}", markup=False)
    console.print(f"torque error: fit {100 * result.fit.total:.2f} %", end="")
    if result.validation is None:
        console.print("; no validation: give a motion that the fit has not seen (--validate FILE)")
    else:
        console.print(f", validation on unseen motion {100 * result.validation.total:.2f} %")
    console.print(result.certainty, markup=False)
    for deflection in result.deflections:
        console.print(_bending(deflection), markup=False)
    if "bootstrap_replicates" in result.facts:
        console.print(_bootstrap(result), markup=False)
    for warning in result.warnings:
        console.print(f"[yellow]![/] {warning}", markup=True)
    console.print(f"result    {path}", markup=False)


def describe_verdict(verdict: Verdict, console: Console) -> None:
    """Grade and headline, then the reasons, worst first."""
    style = STYLES[verdict.grade]
    console.print(f"verdict   [{style}]{verdict.grade}[/]: {escape(verdict.headline)}")
    for number, reason in enumerate(verdict.reasons, start=1):
        console.print(
            f"  {number:2d}. [{STYLES[reason.severity]}]{reason.severity}[/]  {escape(reason.text)}"
        )


def _cutoff(found: Tradeoff) -> str:
    """Why this cut-off, in a line."""
    if found.taken is None:
        return f"cut-off {found.cutoff_hz:.3g} Hz {'given' if found.given else 'from the motion alone'}; {found.reason}"
    why = "given" if found.given else f"chosen ({found.reason})"
    return (
        f"cut-off {found.cutoff_hz:.3g} Hz {why}: {100 * found.taken.kept:.1f} % of the motion's torque pass"
    )


def _recordings(result: Result) -> list[str]:
    """Of several recordings each one's offsets, delay and load, in a line each."""
    lines = []
    for one in result.recordings:
        offsets = ", ".join(f"{value:.3g}" for value in one.offsets.values())
        told = [f"torque offsets {offsets}"] if offsets else []
        told.append(f"delay {1e3 * one.delay.value_s:.2f} ms")
        told += [] if one.load is None else [f"known load {KnownLoad.from_numbers(one.load)}"]
        lines.append(f"{one.source}: {', '.join(told)}")
    return lines


def _rows(result: Result) -> str:
    """How many rows were used, and why others were not."""
    total: Counter[str] = Counter()
    for origin in result.provenance.data:
        total.update(origin.rows)
    lost = [f"{n} {why}" for why, n in total.items() if n and why not in (GRID, USED)]
    text = f"rows {total[USED]} of {total[GRID]} used"
    return f"{text}; left out: {', '.join(lost)}" if lost else text


def _bending(found: Deflection) -> str:
    """How far the joints bend, those that visibly do with their stiffness."""
    bends = [
        f"{joint} {1e3 * rms:.2g} mrad rms (at most {1e3 * largest:.2g}, {stiffness:.3g} N m/rad)"
        for joint, rms, largest, stiffness in zip(
            found.joints, found.rms, found.largest, found.stiffness, strict=True
        )
        if isfinite(stiffness)
    ]
    said = ", ".join(bends) or f"at most {1e3 * max(found.largest):.2g} mrad, not with the torque"
    return f"links against motors ({found.stream}): {said}"


def _bootstrap(result: Result) -> str:
    """How the bootstrap's standard deviations compare with those reported."""
    start = "bootstrap_ratio_"
    ratios = [
        f"{value:.2f} for {name.removeprefix(start).replace('_', ' ')}"
        for name, value in result.facts.items()
        if name.startswith(start)
    ]
    text = (
        f"bootstrap of {result.facts['bootstrap_replicates']:.0f}: standard deviations over those reported "
    )
    return text + (", ".join(ratios) or "unknown")


def _links(result: Result, prior: Parameters | None) -> Table:
    """Two rows per link: as identified, and as known before."""
    table = Table(box=None, pad_edge=False)
    table.add_column("link", overflow="fold")  # the numbers and their marks are not cut: the names are folded
    for column in ("mass kg", "centre of mass mm", "principal moments g m2"):
        table.add_column(f"{column}  ", justify="right", no_wrap=True)
    for link in result.parameters.links:
        marks = [" ?" if vague else "  " for vague in _vague(result, link.name)]
        table.add_row(link.name, *map(add, _link(link), marks))
        if prior is not None:
            table.add_row("  prior", *(f"{value}  " for value in _link(prior[link.name])), style="dim")
    return table


def _vague(result: Result, link: str) -> list[bool]:
    """Whether the data hardly tell a link's mass, centre of mass, moments; or leave its mass open by its own size."""
    known = result.intervals
    mass = known.get(f"{link}.mass")
    open_mass = mass is not None and not (mass.high - mass.low) / 2 < abs(mass.value)
    dominated = [
        any(one.prior_dominated for name, one in known.items() if name.startswith(f"{link}.{quantity}"))
        for quantity in ("mass", "com", "principal_moments")
    ]
    return [open_mass or told for told in dominated]


def _link(link: LinkParameters) -> tuple[str, str, str]:
    com = " ".join(f"{value:7.1f}" for value in 1e3 * link.com)
    moments = " ".join(f"{value:8.3f}" for value in 1e3 * link.principal_moments)
    return f"{link.mass:.3f}", com, moments


def _joints(result: Result) -> Table:
    """Joint terms; what a solver leaves of a term that is at its bound is told as 0."""
    terms = list(result.robot.terms)
    table = Table(box=None, pad_edge=False)
    table.add_column("joint")
    for term in terms:
        table.add_column(term.replace("_", " "), justify="right")
    table.add_column("fit error", justify="right")
    known = {joint.name: joint.terms for joint in result.parameters.joints}
    for name, error, rows in zip(result.robot.rows, result.fit.per_joint, result.fit.rows, strict=True):
        if rows == 0 and name not in known and result.robot.sources is not None:
            continue  # not measured
        own = known.get(name, {})
        values = [f"{round(own[term], DECIMALS) + 0.0:.4g}" if term in own else "" for term in terms]
        told = "left out" if name in result.robot.unmeasured else f"{100 * error:.2f} %"
        table.add_row(name, *values, told)
    return table
