"""Plots as SVG inside HTML: lines in an SVG that stretches with the page, ticks as HTML that does not.

So a plot fits a phone, a screen and paper, and needs no script to be seen; the script moves the window of time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.result.report.markup import text
from heft.identify.result.report.numbers import plain

__all__ = ["AxisRange", "Line", "envelope", "plot", "ticks"]

HEIGHT = 10_000  # of a plot's own coordinates: resolution of its numbers
EDGE = 6.0  # % of the height without labels
UNIT_AT = 0.95  # of the width: from here on the unit stands below a plot
GAP = 4.0  # steps: a longer interval breaks the line


@dataclass(frozen=True, eq=False)
class Line:
    """One line: its class in the style sheet, and its points; NaN breaks it."""

    kind: str
    x: Array
    y: Array


@dataclass(frozen=True)
class AxisRange:
    """From a value to a plot's coordinate: `low` is at the bottom."""

    low: float
    high: float

    @classmethod
    def around(cls, *values: Array, zero: bool = False) -> AxisRange:
        """All values, and a little room; `zero` has the same above and below it."""
        known = np.concatenate([value[np.isfinite(value)] for value in values] or [np.zeros(1)])
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        if zero:
            low, high = -max(abs(low), abs(high)), max(abs(low), abs(high))
        room = 0.06 * (high - low) or max(abs(high), 1e-9) * 0.1
        return cls(low - room, high + room)

    def __call__(self, value: Array) -> Array:
        return HEIGHT * (self.high - value) / (self.high - self.low)


def envelope(x: Array, y: Array, most: int) -> tuple[Array, Array]:
    """At most `most` points that look like all of them: of every stretch its lowest and its highest, in their order."""
    if len(x) <= most:
        return x, y
    edges = np.linspace(0, len(x), most // 2 + 1).astype(np.int64)
    picked = []
    for a, b in pairwise(edges.tolist()):
        part = y[a:b]
        known = np.isfinite(part)
        if not known.all():
            picked += [a] if not known.any() else [a + int(np.argmin(known))]
        if known.any():
            picked += [a + int(np.nanargmin(part)), a + int(np.nanargmax(part))]
    order = np.unique(picked)
    return x[order], y[order]


def plot(
    lines: Sequence[Line],
    x_end: float,
    scale: AxisRange,
    *,
    label: str,
    unit: str,
    kind: str,
    most: int = 6,
    x_unit: str = "s",
    x_ticks: int = 4,
) -> str:
    """A plot over 0 .. x_end [`x_unit`]; `kind` is its class, `label` what it shows to those who cannot see it.

    Of more than `most` ticks at its side, only the outermost and zero are left; below it are at least `x_ticks`.
    """
    width = max(round(1000 * x_end), 1)
    paths = "".join(f'<path class="{line.kind}" d="{_path(line, scale)}"/>' for line in lines)
    return (
        f'<div class="plot {kind}" role="img" aria-label="{text(label)}">'
        f'<svg viewBox="0 0 {width} {HEIGHT}" preserveAspectRatio="none" aria-hidden="true" '
        f'data-width="{width}" data-low="{float(scale.low)!r}" data-high="{float(scale.high)!r}">{paths}</svg>'
        f'<div class="y ticks" aria-hidden="true">{_y_ticks(scale, unit, most)}</div>'
        f'<div class="x ticks" aria-hidden="true">{_x_ticks(x_end, x_unit, x_ticks)}</div></div>'
    )


def ticks(low: float, high: float, least: int) -> list[float]:
    """Round numbers from low to high, as far apart as leaves at least `least` of them."""
    if not high > low:
        return [low]
    power = 10.0 ** ceil(log10((high - low) / least))
    for step in (m * power / 10**k for k in range(3) for m in (1.0, 0.5, 0.2)):
        first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
        if last - first + 1 >= least:
            return [k * step for k in range(first, last + 1)]
    return [low, high]


def _path(line: Line, scale: AxisRange) -> str:
    x, y = np.round(1000 * line.x), np.round(scale(line.y))
    steps = np.diff(line.x)
    usual = float(np.median(steps)) if len(steps) else 0.0
    broken = np.concatenate([[True], steps > GAP * usual])
    parts, pen = [], True
    for at, value, apart in zip(x, y, broken, strict=True):
        if not np.isfinite(value):
            pen = True
            continue
        parts.append(f"{'M' if pen or apart else 'L'}{int(at)} {int(value)}")
        pen = False
    return "".join(parts)


def _y_ticks(scale: AxisRange, unit: str, most: int) -> str:
    def at(value: float) -> float:
        return 100 * (scale.high - value) / (scale.high - scale.low)

    def inside(values: list[float]) -> list[float]:
        """Those whose labels do not run into the neighbour's."""
        clear = [value for value in values if EDGE < at(value) < 100 - EDGE]
        return [clear[0], 0.0, clear[-1]] if len(clear) > most else clear

    values, labels = inside(ticks(scale.low, scale.high, 3)), []
    if len(values) < 2:
        values = inside(ticks(scale.low, scale.high, 5))
    for value in values:
        said = plain(value, 3) if value else "0"
        said = said.rstrip("0").rstrip(".") if "." in said and "\u00b7" not in said else said
        labels.append(
            f'<i style="top:{at(value):.2f}%"{" class=zero" if value == 0 else ""}><b>{said}</b></i>'
        )
    return "".join(labels) + f"<em>{text(unit)}</em>"


def _x_ticks(end: float, unit: str, least: int) -> str:
    """Marks below a plot; the unit stands at the end, so that a mark there has a line and no number."""
    shown = []
    for value in ticks(0, end, least):
        number = f"<b>{value:g}</b>" if value < UNIT_AT * end else ""
        shown.append(f'<i style="left:{100 * value / end:.2f}%">{number}</i>')
    return "".join(shown) + f"<em>{text(unit)}</em>"
