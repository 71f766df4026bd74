"""Parameters as identified, with their intervals, beside what was known before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from identify.intervals.interval import Interval
from identify.parameters import unit_of
from identify.report.markup import Cell, section, table, text
from identify.report.numbers import fixed, plain, spread, unit
from identify.result import LinkParameters, Parameters, Result

__all__ = ["parameters_section"]

INTERVAL = 1.96  # standard deviations: 95 %
WIDE = 0.2  # half an interval over its value: both ends are told


def parameters_section(result: Result) -> str:
    """Links, joints, and every combination that torques tell."""
    prior = None if result.prior is None else Parameters(result.layout, result.prior)
    combinations = (
        f'<details class="long"><summary>All {len(result.base.names)} combinations that torques can tell'
        f"</summary>{_base(result)}</details>"
    )
    return section(
        "parameters",
        "Parameters",
        _key(result, prior),
        _links(result, prior),
        _joints(result, prior),
        combinations,
    )


def _key(result: Result, prior: Parameters | None) -> str:
    """How a cell is read."""
    lines = ["identified"]
    if result.intervals:
        lines.append("<small>95 % interval</small>")
    if prior is not None:
        lines.append('<small class="old">known before</small>')
    said = '<p class="key"><span>' + "<br>".join(lines) + "</span>"
    if any(interval.prior_dominated for interval in result.intervals.values()):
        said += (
            '<span><span class="vague">in italics</span>: '
            "the data hardly say; it rests on what was known before</span>"
        )
    return said + "</p>"


def _links(result: Result, prior: Parameters | None) -> str:
    names = ["mass", "com.x", "com.y", "com.z", *(f"principal_moments.{k}" for k in (1, 2, 3))]
    rows = []
    for link in result.parameters.links:
        before = [None] * 7 if prior is None else _of_link(prior[link.name])
        found = [result.intervals.get(f"{link.name}.{name}") for name in names]
        cells = (
            _cell(value, interval, old, scale, sign)
            for value, interval, old, scale, sign in zip(
                _of_link(link), found, before, SCALES, SHOWN, strict=True
            )
        )
        rows.append([Cell(text(link.name)), *cells])
    total = None if prior is None else prior.total_mass
    whole = _cell(result.total_mass, result.intervals.get("total_mass"), total, 1.0, SHOWN[0])
    rows.append([Cell("all links"), whole, *[Cell("")] * 6])
    columns = [
        "link",
        "mass kg",
        "centre x mm",
        "y mm",
        "z mm",
        "moment 1 g\u00b7m\u00b2",
        "moment 2",
        "moment 3",
    ]
    caption = "Links: mass, centre of mass in the link\u2019s frame, principal moments of inertia about it"
    return table(columns, rows, caption=caption, numeric=range(1, 8))


#: From SI to what a column shows, and how: [kg], [mm], [g m2].
SCALES = (1.0, 1e3, 1e3, 1e3, 1e3, 1e3, 1e3)
SHOWN: tuple[Callable[[float], str], ...] = (
    lambda value: fixed(value, 3),
    *[lambda value: fixed(value, 1)] * 3,
    *[lambda value: plain(value, 3)] * 3,
)


def _of_link(link: LinkParameters) -> list[float]:
    """Mass [kg], centre [m], principal moments [kg m2]; NaN where a link without mass has none."""
    if link.mass == 0:
        return [0.0, *[float("nan")] * 6]
    return [link.mass, *link.com.tolist(), *link.principal_moments.tolist()]


def _joints(result: Result, prior: Parameters | None) -> str:
    if not result.parameters.joints:
        return ""
    terms = list(dict.fromkeys(term for joint in result.parameters.joints for term in joint.terms))
    rows = []
    for joint in result.parameters.joints:
        cells = [Cell(text(joint.name))]
        for term in terms:
            name = f"{joint.name}.{term}"
            if term not in joint.terms:
                cells.append(Cell(""))
                continue
            old = None if prior is None else float(prior[name])
            cells.append(_cell(joint.terms[term], result.intervals.get(name), old, 1.0, plain))
        rows.append(cells)
    columns = ["joint", *(f"{term.replace('_', ' ')} {unit(unit_of(term))}" for term in terms)]
    return table(
        columns, rows, caption="Joints: drives and friction, at the joint", numeric=range(1, len(columns))
    )


def _cell(
    value: float, interval: Interval | None, before: float | None, scale: float, sign: Callable[[float], str]
) -> Cell:
    """A value, its interval if it has one, and what was known before, one above the other."""
    shown = sign(value * scale)
    if interval is not None and interval.prior_dominated:
        shown = f'<span class="vague">{shown}</span>'
    lines = [shown]
    if interval is not None and np.isfinite(interval.std):
        half = (interval.high - interval.low) / 2
        if interval.prior_dominated or half > WIDE * abs(value):
            low, high = (sign(end * scale) for end in (interval.low, interval.high))
            lines.append(f"<small>{low} \u2026 {high}</small>")
        else:
            _, around = spread(value * scale, half * scale)
            lines.append(f"<small>\u00b1\u202f{around}</small>")
    if before is not None:
        lines.append(f'<small class="old">{sign(before * scale)}</small>')
    return Cell("<br>".join(lines), number=True)


def _base(result: Result) -> str:
    before = None if result.prior is None else result.base.matrix @ result.prior
    rows = []
    for i, name in enumerate(result.base.names):
        value, half = float(result.base.values[i]), INTERVAL * float(result.base.std[i])
        shown, around = spread(value, half)
        known = None if before is None else float(before[i])
        small = "" if name in result.essential else " <small>small, vague</small>"
        cells = [
            Cell(f"{text(name)}{small}"),
            Cell(shown, number=True),
            Cell(f"\u00b1\u202f{around}", number=True),
            Cell(text(unit(_unit(name))), number=False),
        ]
        if known is not None:
            cells += [Cell(plain(known), number=True), Cell(_range(value, half, known))]
        rows.append(cells)
    columns = ["combination", "identified", "\u00b1 95 %", "unit"]
    columns += [] if before is None else ["known before", "\u25cf identified  \u25cb before"]
    return table(
        columns,
        rows,
        caption="Combinations of parameters that torques depend on (base parameters)",
        numeric=(1, 2, 4),
    )


def _unit(name: str) -> str:
    """Of a combination: that of the parameter it is named after."""
    return unit_of(name.split()[0])


def _range(value: float, half: float, before: float) -> str:
    """Identified value with its interval, and where it was before, on a scale of the row's own."""
    reach = 1.15 * max(abs(value - before), half if np.isfinite(half) else 0.0, 1e-300)
    middle = (value + before) / 2 if abs(value - before) > half else value

    def at(x: float) -> float:
        return float(np.clip(50 + 50 * (x - middle) / reach, 0, 100))

    bar = ""
    if np.isfinite(half):
        low, high = at(value - half), at(value + half)
        bar = f'<i class="interval" style="left:{low:.1f}%;width:{max(high - low, 0.5):.1f}%"></i>'
    return (
        f'<div class="range" aria-hidden="true">{bar}<i class="now" style="left:{at(value):.1f}%"></i>'
        f'<i class="before" style="left:{at(before):.1f}%"></i></div>'
    )
