"""How sure a result is, in a sentence for whoever uses it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from identify.intervals.interval import Interval

if TYPE_CHECKING:
    from identify.result.result import Result

__all__ = ["certainty"]


def certainty(result: Result) -> str:
    """Typical half widths of the 95 % intervals, and what rests on the prior."""
    parts = []
    intervals = result.intervals
    masses = [intervals[name] for link in result.robot.links if (name := f"{link}.mass") in intervals]
    if masses:
        text = f"link masses are known to {_range(masses)}"
        dominated = sum(interval.prior_dominated for interval in masses)
        if dominated:
            text += f" ({dominated} of {len(masses)} hardly beyond the prior)"
        parts.append(text)
    if "hand.mass" in intervals:
        parts.append(f"what the wrist sensor carries to {_range([intervals['hand.mass']])} of its mass")
    for term, what in (("viscous", "viscous friction"), ("coulomb", "Coulomb friction")):
        found = [interval for name, interval in intervals.items() if name.endswith(f".{term}")]
        if found:
            parts.append(f"{what} to {_range(found)}")
    for delay in result.delays.values():
        if delay.estimated and np.isfinite(delay.std_s):
            half = 1e3 * (delay.high_s - delay.low_s) / 2
            parts.append(f"{delay.stream} lags by {1e3 * delay.value_s:.2f} +- {half:.2f} ms")
    if result.rank < len(result.base.names):
        parts.append(f"{len(result.base.names) - result.rank} base parameters not at all")
    return (
        ("With 95 % confidence " + ", ".join(parts) + ".")
        if parts
        else "Nothing is known of how sure this is."
    )


def _range(intervals: Iterable[Interval]) -> str:
    """Half widths as shares of the values: smallest to largest."""
    shares = [
        100 * (i.high - i.low) / 2 / abs(i.value) if i.value != 0 and np.isfinite(i.std) else np.inf
        for i in intervals
    ]
    known = [share for share in shares if share < 100]
    if not known:
        return "no better than a factor of two"
    low, high = min(known), max(known)
    text = f"+-{low:.2g} %" if high < 1.2 * low else f"+-{low:.2g} to {high:.2g} %"
    return text if len(known) == len(shares) else f"{text} ({len(shares) - len(known)} not)"
