"""The widths of a result's intervals in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from heft.identify.certainty.interval import Interval
from heft.identify.estimation.alignment.delay import Delay

__all__ = ["interval_summary"]


def interval_summary(
    links: Iterable[str], intervals: Mapping[str, Interval], delays: Iterable[Delay], unknown: int
) -> str:
    """Half widths of the 95 % intervals by kind of quantity, and what rests on the prior.

    links       names of the robot's links
    intervals   by name, as `link3.mass` or `joint3.viscous`
    unknown     number of base parameters that the data do not determine
    """
    parts = []
    masses = [intervals[name] for link in links if (name := f"{link}.mass") in intervals]
    if masses:
        text = f"link masses are known to {_range(masses)}"
        dominated = sum(interval.prior_dominated for interval in masses)
        if dominated:
            text += f" ({dominated} of {len(masses)} hardly beyond the prior)"
        parts.append(text)
    if "hand.mass" in intervals:
        parts.append(f"what the wrist sensor carries to {_range([intervals['hand.mass']])} of its mass")
    for term, what in (("viscous", "viscous friction"), ("coulomb", "Coulomb friction")):
        terms = [interval for name, interval in intervals.items() if name.endswith(f".{term}")]
        if terms:
            parts.append(f"{what} to {_range(terms)}")
    for delay in delays:
        if delay.estimated and np.isfinite(delay.std_s):
            half = 1e3 * (delay.high_s - delay.low_s) / 2
            parts.append(f"{delay.stream} lags by {1e3 * delay.value_s:.2f} +- {half:.2f} ms")
    if unknown > 0:
        parts.append(f"{unknown} base parameters not at all")
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
