"""Rows that come whole, each with a stamp of its publisher's clock: numbered by the stamps, at a known rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from heft.drivers.block import Block
from heft.drivers.devices.base.sequence import ArrivalSequence, Placed, cut
from heft.drivers.devices.bus.row_assembler import RowAssembler
from heft.drivers.driver import Counters
from heft.drivers.stream import Stream

__all__ = ["StampedRows", "StampedStreams"]

_FAR_NS = 1_000_000_000  # a stamp that is further off than this is one of a clock that was set


class StampedRows(RowAssembler):
    """Streams whose samples come together, with one stamp.

    A stamp that comes again is a row that comes again, one that goes back a little is a row that comes late: both are
    counted and left out. A publisher that was held up stamps late, and in time again after that; a row that is missing
    leaves all later ones late (`ArrivalSequence`). Where the clock was set (`jumps` counts it) numbers go on by the
    host's time.
    """

    def __init__(self, streams: Sequence[Stream], block: int, publish: Callable[[Block], None]) -> None:
        self._streams = tuple(streams)
        self._block, self._publish = block, publish
        self._rate_hz = self._streams[0].rate_hz
        self._counters = Counters()
        self._since_ns = 0
        self._base = 0
        self._last = -1
        self._known: tuple[int, int] | None = None  # stamp and arrival of the newest row [ns]
        self.jumps = 0
        self._begin()

    def _begin(self) -> None:
        self._pace = ArrivalSequence(self._rate_hz, self._counters)
        self._values: list[Sequence[Sequence[float]]] = []
        self._validity: list[Sequence[Sequence[int]]] = []
        self._stamps: list[int] = []
        self._host_ns: list[int] = []
        self._last = -1

    @property
    def streams(self) -> tuple[Stream, ...]:
        return self._streams

    @property
    def number(self) -> int:
        return self._base + self._last + 1

    def count_in(self, counters: Counters) -> None:
        self._counters = counters

    def skip(self, rows: int) -> None:
        self._base = self.number + rows
        self._known = None
        self._begin()

    def restart(self, since_ns: int) -> None:
        self._since_ns = since_ns
        self.skip(0)

    def take(
        self,
        stamp_ns: int,
        host_ns: int,
        values: Sequence[Sequence[float]],
        validity: Sequence[Sequence[int]],
    ) -> bool:
        """One row: for every stream its values and codes of `Validity`. False: it is none that is new."""
        if self._known is not None:
            ahead_ns = stamp_ns - self._known[0]
            passed_ns = host_ns - self._known[1]
            if ahead_ns == 0:
                self._counters.duplicate += 1
                return False
            if -_FAR_NS < ahead_ns < 0:
                self._counters.late += 1
                return False
            if ahead_ns < 0 or ahead_ns > passed_ns + _FAR_NS:
                self._begin_anew(passed_ns)
        self._known = stamp_ns, host_ns
        if host_ns < self._since_ns:
            return True
        self._values.append(values)
        self._validity.append(validity)
        self._stamps.append(stamp_ns)
        self._host_ns.append(host_ns)
        if len(self._stamps) >= self._block:
            self._yield(last=False)
        return True

    def _begin_anew(self, passed_ns: int) -> None:
        """The clock was set: what is missing is what the host's clock says."""
        self.flush()
        missing = max(0, round(passed_ns * 1e-9 * self._rate_hz) - 1)
        self._counters.lost += missing
        self._base = self.number + missing
        self.jumps += 1
        self._begin()

    def flush(self) -> None:
        self._yield(last=True)

    def _yield(self, *, last: bool) -> None:
        numbers = self._pace.place(self._stamps, last=last)
        taken = len(numbers)
        if not taken:
            return
        self._last = numbers[-1]
        placed = Placed(np.arange(taken), np.array(numbers, dtype=np.int64) + self._base)
        stamps = np.array(self._stamps[:taken], dtype=np.int64)
        host_ns = np.array(self._host_ns[:taken], dtype=np.int64)
        for i, stream in enumerate(self._streams):
            for block in cut(
                stream,
                placed,
                host_ns=host_ns,
                values=np.array([row[i] for row in self._values[:taken]], dtype=stream.dtype),
                validity=np.array([row[i] for row in self._validity[:taken]], dtype=np.uint8),
                ticks=stamps,
            ):
                self._publish(block)
        del self._values[:taken], self._validity[:taken], self._stamps[:taken], self._host_ns[:taken]


class StampedStreams(RowAssembler):
    """Groups of streams of one publisher, each group with its own stamps and rate; the first is what is counted by.

    cycles_hz   of the cycle in which they are not asked, by which skipped time is told
    """

    def __init__(self, cycles_hz: float, *groups: StampedRows) -> None:
        self.groups = groups
        self._cycles_hz = cycles_hz

    def count_in(self, counters: Counters) -> None:
        for group in self.groups:
            group.count_in(counters)

    @property
    def streams(self) -> tuple[Stream, ...]:
        return tuple(stream for group in self.groups for stream in group.streams)

    @property
    def number(self) -> int:
        return self.groups[0].number

    def skip(self, rows: int) -> None:
        for group in self.groups:
            group.skip(round(rows * group.streams[0].rate_hz / self._cycles_hz))

    def restart(self, since_ns: int) -> None:
        for group in self.groups:
            group.restart(since_ns)

    def flush(self) -> None:
        for group in self.groups:
            group.flush()
