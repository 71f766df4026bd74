"""Rows from axes that send by themselves, each by its own clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from heft.drivers.block import Block
from heft.drivers.devices.base.sequence import ArrivalSequence, Placed, cut
from heft.drivers.devices.bus.row_assembler import RowAssembler
from heft.drivers.driver import Counters
from heft.drivers.stream import Stream

__all__ = ["BroadcastAssembler", "BroadcastAssemblers"]


class BroadcastAssembler(RowAssembler):
    """One stream of n axes that are not sampled together: a row is there when every axis has reported something new.

    The row's stamp is that of the youngest; how old each axis is by then is in the stream's last n columns. Of an axis
    that is faster than the others the newest counts. Nothing numbers the frames, so what is lost shows as time.

    columns   for each axis, the columns of its numbers
    """

    def __init__(
        self, stream: Stream, columns: Sequence[Sequence[int]], block: int, publish: Callable[[Block], None]
    ) -> None:
        self._stream = stream
        self._columns = columns
        self._block = block
        self._publish = publish
        self._all = (1 << len(columns)) - 1
        self._since_ns = 0
        self._base = 0
        self._counters = Counters()
        self._begin()

    def _begin(self) -> None:
        self._pace = ArrivalSequence(self._stream.rate_hz, self._counters)
        self._fresh = 0
        self._row: list[float] = [0.0] * self._stream.width
        self._flags: list[int] = [0] * self._stream.width
        self._heard_ns = [0] * len(self._columns)
        self._rows: list[list[float]] = []
        self._validity: list[list[int]] = []
        self._host_ns: list[int] = []
        self._last = -1

    def count_in(self, counters: Counters) -> None:
        self._counters = counters

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self._stream,)

    @property
    def number(self) -> int:
        return self._base + self._last + 1

    def skip(self, rows: int) -> None:
        self._base = self.number + rows
        self._begin()

    def restart(self, since_ns: int) -> None:
        self._since_ns = since_ns
        self.skip(0)

    def put(
        self, axis: int, values: Sequence[float], host_ns: int, flags: Sequence[int] | None = None
    ) -> None:
        """Values of one axis; `flags` are codes of `Validity`, one per value."""
        if host_ns < self._since_ns:
            return
        for i, column in enumerate(self._columns[axis]):
            self._row[column] = values[i]
            self._flags[column] = 0 if flags is None else flags[i]
        self._heard_ns[axis] = host_ns
        self._fresh |= 1 << axis
        if self._fresh == self._all:
            self._complete()

    def _complete(self) -> None:
        n, stamp = len(self._columns), max(self._heard_ns)
        ages = [(stamp - heard) * 1e-3 for heard in self._heard_ns]
        self._rows.append([*self._row[:-n], *ages])
        self._validity.append(self._flags.copy())
        self._host_ns.append(stamp)
        self._fresh = 0
        if len(self._rows) >= self._block:
            self._yield(last=False)

    def flush(self) -> None:
        self._yield(last=True)

    def _yield(self, *, last: bool) -> None:
        numbers = self._pace.place(self._host_ns, last=last)
        taken = len(numbers)
        if not taken:
            return
        self._last = numbers[-1]
        placed = Placed(np.arange(taken), np.array(numbers, dtype=np.int64) + self._base)
        for block in cut(
            self._stream,
            placed,
            host_ns=np.array(self._host_ns, dtype=np.int64),
            values=np.array(self._rows, dtype=self._stream.dtype),
            validity=np.array(self._validity, dtype=np.uint8),
        ):
            self._publish(block)
        del self._rows[:taken], self._validity[:taken], self._host_ns[:taken]


class BroadcastAssemblers(RowAssembler):
    """Several streams of the same axes, each at its own rate."""

    def __init__(self, *parts: BroadcastAssembler) -> None:
        self._parts = parts

    def count_in(self, counters: Counters) -> None:
        for part in self._parts:
            part.count_in(counters)

    @property
    def streams(self) -> tuple[Stream, ...]:
        return tuple(stream for part in self._parts for stream in part.streams)

    @property
    def number(self) -> int:
        return self._parts[0].number

    def skip(self, rows: int) -> None:
        for part in self._parts:
            part.skip(rows)

    def restart(self, since_ns: int) -> None:
        for part in self._parts:
            part.restart(since_ns)

    def flush(self) -> None:
        for part in self._parts:
            part.flush()
