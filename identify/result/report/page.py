"""The report: one HTML file that needs nothing else, neither a network nor a script to be read."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from heft.daq.whole_file import write_whole
from heft.identify.errors import ResultError
from heft.identify.result import Result
from heft.identify.result.report.arm_view import arm_section
from heft.identify.result.report.cutoff import cutoff_section
from heft.identify.result.report.evidence import Evidence
from heft.identify.result.report.identifiability import identifiability_section
from heft.identify.result.report.markup import text
from heft.identify.result.report.numbers import percent, plain
from heft.identify.result.report.parameter_tables import parameters_section
from heft.identify.result.report.recording_tables import notes_section, provenance_section, recordings_section
from heft.identify.result.report.torques import residuals_section, torques_section
from heft.identify.result.report.verdict import prior_error, scope

__all__ = ["POLICY", "asset", "render", "write_report"]

WORDS = {"good": "Can be used", "care": "Use with care", "unfit": "Not fit for use"}
SIGNS = {"good": "\u2713", "care": "!", "unfit": "\u2715"}
SCRIPTS = ("zoom.js", "turn.js", "paper.js")
#: Nothing may be fetched, whatever stands in the file.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"

SECTIONS: dict[str, tuple[str, Callable[[Result, Evidence], str]]] = {
    "torques": ("Torque", torques_section),
    "residuals": ("What is left", residuals_section),
    "cutoff": ("Cut-off", cutoff_section),
    "parameters": ("Parameters", parameters_section),
    "arm": ("The arm", arm_section),
    "identifiability": ("What torques can tell", identifiability_section),
    "notes": ("Notes", notes_section),
    "recordings": ("Recording", recordings_section),
    "provenance": ("Origin", provenance_section),
}
"""In the order of the page: title in the contents, and a function of result and evidence that returns the section's
HTML, empty where there is nothing to show."""


def write_report(result: Result, path: Path | str, evidence: Evidence | None = None) -> Path:
    """Write the report of a result, whole or not at all; without evidence it has no torques and no recordings."""
    page = render(result, evidence or Evidence())
    try:
        return write_whole(Path(path), page.encode())
    except OSError as exc:
        raise ResultError(f"{path}: cannot be written: {exc.strerror}; choose another place") from exc


def render(result: Result, evidence: Evidence) -> str:
    """The page as text. Equal inputs give equal pages."""
    grade = result.verdict.grade
    sections = {name: render_section(result, evidence) for name, (_, render_section) in SECTIONS.items()}
    links = "".join(f'<a href="#{name}">{text(SECTIONS[name][0])}</a>' for name in sections if sections[name])
    scripts = "".join(f"<script>{asset(name)}</script>" for name in SCRIPTS)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{text(result.robot.name)}: {WORDS[grade].lower()} \u2013 Heft</title>"
        f"<style>{asset('report.css')}</style></head><body>"
        f'<header><p class="brand">Heft</p><h1>{text(result.robot.name)}</h1></header>'
        f'<nav aria-label="Contents">{links}</nav><main>{_verdict(result, evidence)}'
        f"{''.join(sections.values())}</main>{scripts}</body></html>\n"
    )


def _verdict(result: Result, evidence: Evidence) -> str:
    judgement = result.verdict
    topics = "".join(
        f"<div><dt>{text(topic)}</dt><dd>{text(said)}</dd></div>" for topic, said in scope(result, evidence)
    )
    reasons = "".join(
        f'<li class="{one.severity}"><b>{text(WORDS[one.severity].lower())}</b> {text(one.text)}.</li>'
        for one in judgement.reasons
    )
    listed = f'<ol class="reasons">{reasons}</ol>' if reasons else ""
    warnings = len(result.warnings)
    counted = f"{warnings} warning{'' if warnings == 1 else 's'}" if warnings else "no warnings"
    tiles = "".join(
        f"<li><b>{text(value)}</b><span>{text(name)}</span><small>{text(more)}</small></li>"
        for name, value, more in _figures(result, evidence)
    )
    return (
        f'<section id="verdict" class="verdict {judgement.grade}" aria-labelledby="verdict-title">'
        f'<p class="grade"><span aria-hidden="true">{SIGNS[judgement.grade]}</span> {WORDS[judgement.grade]}</p>'
        f'<h2 id="verdict-title">{text(judgement.headline)}</h2>{listed}'
        f'<p class="count">{counted}</p></section>'
        f'<ul class="tiles">{tiles}</ul><dl class="scope">{topics}</dl>'
    )


def _figures(result: Result, evidence: Evidence) -> list[tuple[str, str, str]]:
    """The numbers that people ask for first: name, value, and what to hold it against."""
    figures = []
    before = prior_error(evidence, "unseen")
    if result.validation is not None:
        against = f"fit {percent(result.fit.total)}"
        against += "" if before is None else f"; known before: {percent(before)}"
        figures.append(("torque error on unseen motion", percent(result.validation.total), against))
    else:
        figures.append(("torque error of the fit", percent(result.fit.total), "not tried on unseen motion"))
    consistency = result.consistency()
    said = (
        ("yes", f"level {result.level}")
        if consistency.ok
        else ("no", f"{consistency.culprit} could not, level {result.level}")
    )
    figures.append(("every link could exist", *said))
    mass = (
        ""
        if result.prior is None
        else f"known before: {plain(sum(result.prior[: 10 * len(result.robot.links) : 10]))} kg"
    )
    figures.append(("mass of all links", f"{plain(result.total_mass)} kg", mass))
    n = len(result.base.names)
    figures.append(
        ("combinations shown by the motion", f"{result.rank} of {n}", f"{len(result.essential)} known well")
    )
    figures.append(
        ("condition number", plain(result.condition_number, 3), "how evenly they were shown; good: about 100")
    )
    return figures


def asset(name: str) -> str:
    """The text of a file in `assets`."""
    return files("heft.identify.result.report").joinpath("assets", name).read_text(encoding="utf-8").strip()
