"""Findings of a check as one HTML page, with a figure of each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import yaml

from heft.daq.whole_file import write_whole
from heft.identify.diagnosis.finding import Finding
from heft.identify.diagnosis.log import QUANTITIES, Log
from heft.identify.errors import ResultError
from heft.identify.result.report.markup import text
from heft.identify.result.report.page import POLICY, asset
from heft.identify.result.report.plot import AxisRange, Line, envelope, plot

__all__ = ["render_findings", "write_findings"]

POINTS = 1500  # of a line
CLASSES = {"fatal": "unfit", "serious": "care", "note": "good"}  # of the report's style sheet
KINDS = ("model", "rest", "prior")  # of lines
UNITS = {"q": "rad", "dq": "rad/s", "tau": "N\u00b7m", "wrench": "N, N\u00b7m", "temperature": "K"}


def write_findings(found: Sequence[Finding], path: Path, name: str, log: Log | None = None) -> Path:
    """Write the page, whole or not at all; without a log it has no figures."""
    try:
        return write_whole(path, render_findings(found, name, log).encode())
    except OSError as exc:
        raise ResultError(f"{path}: cannot be written: {exc.strerror}; choose another place") from exc


def render_findings(found: Sequence[Finding], name: str, log: Log | None = None) -> str:
    """The page as text."""
    counts = {word: sum(one.severity == word for one in found) for word in CLASSES}
    said = ", ".join(_counted(count, word) for word, count in counts.items() if count) or "nothing found"
    grade = CLASSES[found[0].severity] if found else "good"
    cards = "".join(_card(one, log) for one in found)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{text(name)}: {text(said)} \u2013 Heft</title><style>{asset('report.css')}</style></head><body>"
        f'<header><p class="brand">Heft</p><h1>{text(name)}</h1></header><main>'
        f'<section class="verdict {grade}"><h2>{text(said)}</h2></section>{cards}</main></body></html>\n'
    )


def _card(one: Finding, log: Log | None) -> str:
    fix = ""
    if one.fix is not None:
        line = yaml.safe_dump(dict(one.fix), default_flow_style=None, sort_keys=False)
        fix = f"<pre><code>{text(line)}</code></pre>"
    return (
        f'<section id="{text(one.id)}"><h2>{text(one.id)} <small>{text(one.severity)}, {text(one.where)}</small></h2>'
        f"<p>{_sentence(one.evidence)}</p>"
        f'<p class="fine">{_sentence(one.meaning)} <b>{_sentence(one.remedy)}</b></p>'
        f"{fix}{_figure(one, log)}</section>"
    )


def _counted(count: int, severity: str) -> str:
    """`5 notes`, `2 serious`."""
    return f"{count} {severity}{'s' if severity == 'note' and count > 1 else ''}"


def _sentence(words: str) -> str:
    """A phrase of a finding as a sentence of its own, escaped."""
    return f"{text(words[:1].upper() + words[1:])}."


def _figure(one: Finding, log: Log | None) -> str:
    """The columns that a finding is about, around the time at which it shows."""
    place = one.place
    if place is None or log is None or place.table not in log.tables:
        return ""
    table = log.tables[place.table]
    rows = np.isfinite(table.t)
    if place.span_s is not None:
        rows &= (table.t >= place.span_s[0]) & (table.t <= place.span_s[1])
    t = table.t[rows]
    if len(t) < 2 or not float(np.ptp(t)) > 0:
        return ""
    columns = [k for k in place.columns if k < table.values.shape[1]][: len(KINDS)]
    values = {k: np.where(np.isfinite(table.values[rows, k]), table.values[rows, k], np.nan) for k in columns}
    order = np.argsort(t, kind="stable")
    x = t[order] - t.min()
    lines = [
        Line(kind, *envelope(x, values[k][order], POINTS)) for kind, k in zip(KINDS, columns, strict=False)
    ]
    named = ", ".join(table.names[k] for k in columns)
    quantity = QUANTITIES[place.table]
    label = f"{quantity} of {named}, {float(x[-1]):.3g} s from {float(t.min()):.4g} s on"
    drawn = plot(
        lines,
        float(x[-1]),
        AxisRange.around(*(line.y for line in lines)),
        label=label,
        unit=UNITS[place.table],
        kind="lags",
    )
    return f'<figure class="joint wide"><figcaption><b>{text(label)}</b></figcaption>{drawn}</figure>'
