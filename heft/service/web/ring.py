"""The last samples of a stream at full rate, and their minima and maxima over intervals: what a plot needs.

A picture has about a thousand columns and a stream has a thousand samples a second; drawn by the smallest and the
largest value of each column nothing that was measured is left out, not even a spike of one sample.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heft.drivers.block import Block
from heft.drivers.stream import Stream

__all__ = ["StreamRing", "envelope"]

KEPT_S = 60.0
MOST_ROWS = 120_000

Array = NDArray[np.float64]


class StreamRing:
    """Samples of one stream, the oldest forgotten; `total` counts all that ever came."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        rows = int(min(max(stream.rate_hz * KEPT_S, 1000), MOST_ROWS))
        self._t_ns = np.zeros(rows, dtype=np.int64)
        self._values = np.full((rows, stream.width), np.nan)
        self.total = 0
        self._begun = 0  # samples before what is there now began
        self.last_ns = 0

    def add(self, block: Block) -> None:
        """Take a block; time that runs backwards (another session) begins anew."""
        n, rows = len(block), len(self._t_ns)
        if n == 0:
            return
        if int(block.host_ns[0]) < self.last_ns - 1_000_000_000:
            self._begun = self.total  # nothing of before is found any more
        values, times = block.si[-rows:], block.host_ns[-rows:]
        begin = (self.total + n - len(times)) % rows
        first = min(rows - begin, len(times))
        self._t_ns[begin : begin + first], self._t_ns[: len(times) - first] = times[:first], times[first:]
        self._values[begin : begin + first] = values[:first]
        self._values[: len(times) - first] = values[first:]
        self.total += n
        self.last_ns = int(times[-1])

    @property
    def latest(self) -> Array:
        """The newest sample, shape (k,)."""
        return np.asarray(self._values[(self.total - 1) % len(self._t_ns)])

    def since(self, count: int) -> tuple[NDArray[np.int64], Array, int]:
        """Times [ns] (N,), values (N, k) of all samples after the first `count`, and how many of them are forgotten."""
        rows = len(self._t_ns)
        wanted = max(count, self._begun)
        start = max(wanted, self.total - rows)
        index = np.arange(start, self.total) % rows
        return self._t_ns[index], self._values[index], start - wanted

    def between(self, begin_ns: int, end_ns: int) -> tuple[NDArray[np.int64], Array]:
        """Times and values in an interval of host time."""
        times, values, _ = self.since(0)
        inside = (times >= begin_ns) & (times < end_ns)
        return times[inside], values[inside]


def envelope(times: NDArray[np.int64], values: Array, bin_ns: int) -> tuple[NDArray[np.int64], Array, Array]:
    """Of each interval of `bin_ns` with samples: its middle [ns] (B,), minima and maxima (B, k); NaN: no valid one."""
    if len(times) == 0:
        empty = np.zeros((0, values.shape[1]))
        return times, empty, empty
    bins = times // bin_ns
    starts = np.flatnonzero(np.diff(bins, prepend=bins[0] - 1))
    middle = bins[starts] * bin_ns + bin_ns // 2
    return middle, np.fmin.reduceat(values, starts, axis=0), np.fmax.reduceat(values, starts, axis=0)
