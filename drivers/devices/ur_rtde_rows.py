"""Rows of several streams from the data packages of one RTDE recipe, numbered by the controller's `timestamp`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heft.drivers.block import Block, Validity
from heft.drivers.codecs.ur_rtde import TICK_BITS, TICK_HZ
from heft.drivers.devices.base.sequence import CounterSequence, Placed, cut
from heft.drivers.devices.bus.row_assembler import RowAssembler
from heft.drivers.driver import Counters
from heft.drivers.stream import Stream

__all__ = ["PackageRows", "Part"]


class Part(NamedTuple):
    """A stream: its columns of a package's values, and every how many samples there is a row."""

    stream: Stream
    columns: slice
    every: int = 1


class PackageRows(RowAssembler):
    """The first value of a package is the time [s]; `block` packages make blocks of every part."""

    def __init__(
        self, parts: Sequence[Part], rate_hz: float, block: int, publish: Callable[[Block], None]
    ) -> None:
        self._parts = tuple(parts)
        self._block, self._publish = block, publish
        self._sequence = CounterSequence(TICK_BITS, TICK_HZ / rate_hz, rate_hz, Counters())
        self._rows: list[Sequence[float]] = []
        self._host_ns: list[int] = []
        self._since_ns = 0
        self._last: float | None = None

    def count_in(self, counters: Counters) -> None:
        self._sequence.count_in(counters)

    @property
    def streams(self) -> tuple[Stream, ...]:
        return tuple(part.stream for part in self._parts)

    @property
    def number(self) -> int:
        return self._sequence.next

    def skip(self, rows: int) -> None:
        """Numbers go on by the time that passes: nothing is to be added."""
        self._forget()
        self._sequence.restart()

    def restart(self, since_ns: int) -> None:
        self._since_ns = since_ns
        self._forget()

    def put(self, values: Sequence[float], host_ns: int) -> bool:
        """The values of a package; whether it is younger than the last one."""
        new = self._last is None or values[0] != self._last
        self._last = values[0]
        if host_ns >= self._since_ns:
            self._rows.append(values)
            self._host_ns.append(host_ns)
            if len(self._rows) >= self._block:
                self.flush()
        return new

    def flush(self) -> None:
        if not self._rows:
            return
        values = np.array(self._rows, dtype=np.float64)
        host_ns = np.array(self._host_ns, dtype=np.int64)
        self._forget()
        ticks = np.rint(values[:, 0] * TICK_HZ).astype(np.int64)
        placed = self._sequence.place(ticks, host_ns)
        for stream, columns, every in self._parts:
            taken = placed
            if every > 1:
                some = placed.sequence % every == 0
                taken = Placed(placed.rows[some], placed.sequence[some] // every)
            own = values[:, columns].copy()
            for block in cut(stream, taken, values=own, validity=_finite(own), host_ns=host_ns, ticks=ticks):
                self._publish(block)

    def _forget(self) -> None:
        self._rows, self._host_ns = [], []


def _finite(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    """FAULT where a number is none."""
    return np.where(np.isfinite(values), Validity.OK, Validity.FAULT).astype(np.uint8)
