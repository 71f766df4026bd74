"""What one open page is sent: everything new since it last took something, and of its plots minima and maxima.

There is no queue. When the page can take more, it gets the newest of everything; what it has missed meanwhile is
counted and told.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heft.service.web.hub import Hub
from heft.service.web.ring import StreamRing, envelope

__all__ = ["PageFeed"]

#: An interval of a live plot [ns]: ten columns of ten samples at 1 kHz make a tenth of a second.
BIN_NS = 10_000_000
#: The most plotted columns of a page, and the longest past that a page which stalled is sent [ns].
MOST_COLUMNS = 64
PAST_NS = 10_000_000_000
DIGITS = 6
#: Samples of before that a plot begins with.
FIRST = 5000


class PageFeed:
    """One page's place in what the hub knows."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._number = 0
        self._event = hub.number
        self._plots: dict[str, list[str]] = {}
        self._taken: dict[str, tuple[StreamRing, int]] = {}  # how many samples of which ring
        self.missed = 0

    def plot(self, wanted: Any) -> None:
        """Follow these columns from now on: `stream:column`; what is not known is left out."""
        chosen: dict[str, list[str]] = {}
        for text in list(wanted)[:MOST_COLUMNS] if isinstance(wanted, list) else []:
            stream, _, column = str(text).partition(":")
            ring = self._hub.rings.get(stream)
            names = [] if ring is None else [c.name for c in ring.stream.columns]
            if column in names:
                chosen.setdefault(stream, []).append(column)
        self._plots = chosen
        self._taken = {name: taken for name, taken in self._taken.items() if name in chosen}

    def take(self) -> dict[str, Any]:
        """All that is new, as plain JSON values."""
        hub = self._hub
        news: dict[str, Any] = {
            kind: value for kind, (number, value) in hub.latest.items() if number > self._number
        }
        self._number = hub.number
        events = [value for number, value in hub.events if number > self._event]
        if events:
            self._event = hub.events[-1][0]
            news["events"] = events
        posture, t_ns = hub.posture()
        news["frame"] = {
            "t": t_ns * 1e-9,
            "q": posture,
            "utc_ms": hub.utc_ms(t_ns),
            "missed": self.missed,
        }
        plots = {name: found for name in self._plots if (found := self._new(name)) is not None}
        if plots:
            news["plots"] = plots
        return news

    def _new(self, name: str) -> dict[str, Any] | None:
        """Whole intervals of one stream that are new."""
        ring = self._hub.rings.get(name)
        if ring is None:
            return None
        known = [column.name for column in ring.stream.columns]
        chosen = [column for column in self._plots[name] if column in known]
        of, count = self._taken.get(name, (None, 0))
        if of is not ring:  # a new plot; or the stream is another than before: another recording is replayed
            count = max(ring.total - FIRST, 0)
        times, values, forgotten = ring.since(count)
        if len(times) == 0 or not chosen:
            return None
        bin_ns = max(BIN_NS, round(1e9 / ring.stream.rate_hz))
        whole = (
            int(np.searchsorted(times, times[-1] // bin_ns * bin_ns))
            if ring.stream.rate_hz > 100
            else len(times)
        )
        if whole == 0:
            return None
        old = int(np.searchsorted(times[:whole], times[-1] - PAST_NS))
        self.missed += forgotten + old if of is ring else 0
        self._taken[name] = ring, ring.total - (len(times) - whole)
        columns = [known.index(column) for column in chosen]
        middle, low, high = envelope(times[old:whole], values[old:whole][:, columns], bin_ns)
        return {
            "columns": chosen,
            "t": [round(t * 1e-9, 4) for t in middle.tolist()],
            "low": _plain(low),
            "high": _plain(high),
            "last": times[-1] * 1e-9,
        }


def _plain(values: Any) -> list[list[float | None]]:
    """Column by column; None where nothing is valid."""
    return [[None if v != v else float(f"{v:.{DIGITS}g}") for v in column] for column in values.T.tolist()]
