"""Parameters as identified, with their intervals, beside what was known before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from heft.identify.bodies.parameters import unit_of
from heft.identify.certainty.interval import Interval
from heft.identify.result import LinkParameters, Parameters, Result
from heft.identify.result.report.base_table import base_table
from heft.identify.result.report.evidence import Evidence
from heft.identify.result.report.markup import Cell, section, table, text
from heft.identify.result.report.numbers import fixed, plain, spread, unit

__all__ = ["parameters_section"]

OUTSIDE = "\u2020"  # sign of a value that lies outside its interval
HAND = "hand"  # owner of what the wrist sensor carries
HAND_UNITS = {"m": (1e3, "mm"), "kg m2": (1e3, "g m2")}
CENTRED = 0.1  # of half an interval: how far from its middle a value may be to be told as value and half


def parameters_section(result: Result, evidence: Evidence) -> str:
    """Links, joints, and every combination that torques tell."""
    prior = None if result.prior is None else Parameters(result.layout, result.prior)
    combinations = (
        f'<details class="long"><summary>All {len(result.base.names)} combinations that torques can tell'
        f"</summary>{base_table(result)}</details>"
    )
    return section(
        "parameters",
        "Parameters",
        _key(result, prior),
        _links(result, prior),
        _joints(result, prior),
        _others(result),
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


def _outside(result: Result) -> str:
    """What the sign for a value outside its interval means."""
    return (
        f'<p class="fine">{OUTSIDE} outside its interval: the interval weighs data and what was known before together; '
        f"the method ({text(result.method)}) divided a sum among links in another way, for the same torques.</p>"
    )


def _links(result: Result, prior: Parameters | None) -> str:
    names = ["mass", "com.x", "com.y", "com.z", *(f"principal_moments.{k}" for k in (1, 2, 3))]
    rows: list[list[Cell]] = []
    for link in result.parameters.links:
        before = [None] * 7 if prior is None else _of_link(prior[link.name])
        intervals = [result.intervals.get(f"{link.name}.{name}") for name in names]
        cells = (
            _cell(value, interval, old, scale, sign)
            for value, interval, old, scale, sign in zip(
                _of_link(link), intervals, before, SCALES, SHOWN, strict=True
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
    strange = any(OUTSIDE in cell.html for row in rows for cell in row)
    return table(columns, rows, caption=caption, numeric=range(1, 8)) + (_outside(result) if strange else "")


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


def _others(result: Result) -> str:
    """What was estimated beside links and joints: what a wrist sensor carries."""
    rows = []
    for name, interval in result.intervals.items():
        owner, _, quantity = name.partition(".")
        if owner == HAND:
            scale, shown_unit = HAND_UNITS.get(interval.unit, (1.0, interval.unit))
            half = (interval.high - interval.low) / 2
            shown, around = spread(scale * interval.value, scale * half)
            words = quantity.replace("com.", "centre of mass ").replace("inertia.", "inertia ")
            rows.append([words, shown, f"\u00b1\u202f{around}", unit(shown_unit)])
    if not rows:
        return ""
    said = (
        '<p class="fine">Weighed by the wrist\u2019s force/torque sensor, so it is known much better than the links. '
        "Centre of mass and inertia are in the sensor\u2019s frame, the inertia about its origin.</p>"
    )
    caption = "The hand: all that the wrist sensor carries"
    return table(["", "identified", "\u00b1 95 %", "unit"], rows, caption=caption, numeric=(1, 2)) + said


def _cell(
    value: float, interval: Interval | None, before: float | None, scale: float, sign: Callable[[float], str]
) -> Cell:
    """A value, its interval if it has one, and what was known before, one above the other."""
    lines = [sign(value * scale)]
    if interval is not None and np.isfinite(interval.std):
        low, high = interval.low * scale, interval.high * scale
        if interval.prior_dominated:
            lines[0] = f'<span class="vague">{lines[0]}</span>'
        if not low <= value * scale <= high:
            lines[0] = f"{OUTSIDE}\u202f{lines[0]}"
        if abs((low + high) / 2 - value * scale) <= CENTRED * (high - low) / 2:
            lines.append(f"<small>\u00b1\u202f{spread(value * scale, (high - low) / 2)[1]}</small>")
        else:
            lines.append(f"<small>{sign(low)} \u2026 {sign(high)}</small>")
    if before is not None:
        lines.append(f'<small class="old">{sign(before * scale)}</small>')
    return Cell("<br>".join(lines), number=True)
