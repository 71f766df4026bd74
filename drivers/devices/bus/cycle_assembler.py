"""Rows from request cycles: one row per cycle, from the answers of all axes to one request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from heft.drivers.block import Block
from heft.drivers.devices.bus.block_builder import BlockBuilder
from heft.drivers.devices.bus.row_assembler import RowAssembler
from heft.drivers.driver import Counters
from heft.drivers.stream import Stream

__all__ = ["CycleAssembler", "Place"]


class Place(NamedTuple):
    """Stream and column that a number of a frame goes to."""

    stream: int
    column: int


class _Cycle:
    """Frames received in one cycle; bit p of `have` stands for frame p."""

    __slots__ = (
        "doubtful",
        "have",
        "heard_ns",
        "host_ns",
        "number",
        "request_ns",
        "sampled_ns",
        "validity",
        "values",
    )

    def __init__(
        self, number: int, request_ns: int, sampled_ns: int, widths: Sequence[int], frames: int
    ) -> None:
        self.number = number
        self.request_ns = request_ns
        self.sampled_ns = sampled_ns
        self.host_ns = 0
        self.heard_ns = [0] * frames
        self.have = 0
        self.doubtful = 0  # frames that may be late ones of the cycle before
        self.values: list[list[float]] = [[0] * width for width in widths]
        self.validity: list[list[int] | None] = [None] * len(widths)


class CycleAssembler(RowAssembler):
    """Makes rows of several streams from frames that every cycle expects once each.

    A frame belongs to the cycle in whose time it was received; frames come in the order of their stamps. A cycle is
    over when all its frames are there, or when a younger one has come; where a frame is missing then, its rows are a
    gap. CAN frames carry no number: one that comes after the next request cannot be told from the answer to that one,
    until that one comes too; then the first was late, and is left out.

    places   for each frame, stream and column of its numbers
    ages     for each frame, where to note how much earlier than the row's stamp it came; empty: nowhere
    ended    called at the end of each cycle with the frames that were missing, as bits
    """

    def __init__(
        self,
        streams: Sequence[Stream],
        places: Sequence[Sequence[Place]],
        block: int,
        publish: Callable[[Block], None],
        ended: Callable[[int], None],
        ages: Sequence[Sequence[Place]] = (),
    ) -> None:
        self._counters = Counters()
        self._rows = [BlockBuilder(stream, block, publish) for stream in streams]
        self._places = places
        self._ages = ages
        self._ended = ended
        self._all = (1 << len(places)) - 1
        self._needs = [
            sum(1 << frame for frame, wanted in enumerate(places) if any(p.stream == s for p in wanted))
            for s in range(len(streams))
        ]
        self._widths = [stream.width for stream in streams]
        self._running: _Cycle | None = None
        self._before: _Cycle | None = None  # while frames of it may still be on their way to us
        self._overdue = 0  # frames that the cycle before had to do without
        self._number = 0

    def count_in(self, counters: Counters) -> None:
        self._counters = counters

    @property
    def streams(self) -> tuple[Stream, ...]:
        return tuple(rows.stream for rows in self._rows)

    @property
    def missing(self) -> int:
        return 0 if self._running is None else self._all & ~self._running.have

    def begin(self, request_ns: int, *, sampled_ns: int | None = None) -> int:
        """A request has left [ns, host time]: a new cycle; its number.

        `sampled_ns` is when its last bit has passed a slow line, and the rows' `request_ns`.
        """
        self._close()
        self._before = self._running
        at_ns = request_ns if sampled_ns is None else sampled_ns
        self._running = _Cycle(self._number, request_ns, at_ns, self._widths, len(self._places))
        self._number += 1
        return self._running.number

    def sampled_late(self, late_ns: int) -> None:
        """The axes have sampled so much later than said when the running cycle began [ns]; negative: earlier."""
        if self._running is not None:
            self._running.sampled_ns += late_ns

    @property
    def sampled_ns(self) -> int | None:
        """When the axes have sampled in the running cycle [ns]; None: all has come."""
        return None if self._running is None else self._running.sampled_ns

    def put(
        self, frame: int, values: Sequence[float], host_ns: int, flags: Mapping[int, int] | None = None
    ) -> None:
        """The numbers of one frame; `flags` are codes of `Validity` by the number's index."""
        cycle, bit = self._before, 1 << frame
        running = self._running
        if cycle is None or (running is not None and host_ns >= running.request_ns):
            self._close()
            cycle = running
        if cycle is None:
            self._counters.duplicate += 1  # its cycle is complete
            return
        if cycle.have & bit:
            if not cycle.doubtful & bit:
                self._counters.duplicate += 1
                return
            self._counters.late += 1
            cycle.doubtful &= ~bit
        elif cycle is running and self._overdue & bit:
            cycle.doubtful |= bit
        cycle.have |= bit
        cycle.heard_ns[frame] = host_ns
        cycle.host_ns = max(cycle.host_ns, host_ns)
        self._enter(cycle, self._places[frame], values, flags)
        if cycle.have == self._all and not cycle.doubtful:
            if cycle is running:
                self._running = None
            else:
                self._before = None
            self._end(cycle)

    @property
    def number(self) -> int:
        return self._number

    def skip(self, rows: int) -> None:
        self._running = self._before = None
        self._overdue = 0
        self._number += rows

    def leave_out(self, rows: int) -> None:
        self._number += rows
        self._counters.lost += rows

    def restart(self, since_ns: int) -> None:
        for rows in self._rows:
            rows.restart(since_ns)

    def flush(self) -> None:
        for rows in self._rows:
            rows.flush()

    def _enter(
        self,
        cycle: _Cycle,
        places: Sequence[Place],
        values: Sequence[float],
        flags: Mapping[int, int] | None,
    ) -> None:
        for value, (stream, column) in zip(values, places, strict=True):
            cycle.values[stream][column] = value
        for index, code in (flags or {}).items():
            stream, column = places[index]
            validity = cycle.validity[stream]
            if validity is None:
                validity = cycle.validity[stream] = [0] * self._widths[stream]
            validity[column] = code

    def _close(self) -> None:
        """End the previous cycle."""
        if self._before is not None:
            cycle, self._before = self._before, None
            self._end(cycle)

    def _end(self, cycle: _Cycle) -> None:
        missing = self._overdue = self._all & ~cycle.have
        for heard_ns, places in zip(cycle.heard_ns, self._ages, strict=False):
            for stream, column in places:
                cycle.values[stream][column] = (cycle.host_ns - heard_ns) // 1000
        for stream, (rows, needs) in enumerate(zip(self._rows, self._needs, strict=True)):
            if not needs & missing:
                rows.add(
                    cycle.number,
                    cycle.values[stream],
                    cycle.host_ns,
                    request_ns=cycle.sampled_ns,
                    validity=cycle.validity[stream],
                )
        self._counters.lost += bool(missing)
        self._ended(missing)
