"""The combinations of parameters that torques tell, each with its interval and what was known before."""

from __future__ import annotations

import numpy as np

from heft.identify.bodies.parameters import unit_of
from heft.identify.result import Result
from heft.identify.result.report.markup import Cell, table, text
from heft.identify.result.report.numbers import plain, spread, unit

__all__ = ["base_table"]


def base_table(result: Result) -> str:
    """Every combination: identified, its interval, what was known before, and both on a line."""
    before = None if result.prior is None else result.base.matrix @ result.prior
    rows = []
    for i, name in enumerate(result.base.names):
        value, half = float(result.base.values[i]), float(result.base.half_widths[i])
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
