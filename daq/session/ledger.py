"""The account of every sample: expected, received, lost, per stream; and the clock of every device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daq.clockfit import ClockFit, ClockFitter
from daq.ticks import Unwrapper
from drivers.block import Block, Validity
from drivers.stream import Stream

__all__ = ["Account", "Ledger"]


@dataclass(frozen=True, slots=True)
class Account:
    """What happened to one stream's samples, by the device's own counter."""

    stream: str
    expected: int
    received: int
    lost: int
    invalid: int
    gaps: int
    rate_hz: float  # as received, over the session

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


class _DeviceClock:
    """Raw ticks in, a fit of the device's clock out."""

    def __init__(self, stream: Stream, tick_hz: float) -> None:
        self._unwrapper = Unwrapper.of(stream)
        self.fitter = ClockFitter(tick_hz)

    def enter(self, sequence: int, raw: NDArray[np.int64], host_ns: NDArray[np.int64]) -> None:
        unwrapped = self._unwrapper.unwrap(sequence + np.arange(len(raw)), raw)
        start = 0
        for row in (*unwrapped.rows, len(raw)):
            self.fitter.add(unwrapped.ticks[start:row], host_ns[start:row])
            if row < len(raw):
                self.fitter.restart()
            start = int(row)


class _Entry:
    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.first: int | None = None
        self.next = 0
        self.received = self.invalid = self.gaps = 0
        self.first_ns = self.last_ns = 0
        self.clock = None if stream.tick_hz is None else _DeviceClock(stream, stream.tick_hz)

    def enter(self, block: Block) -> None:
        if self.first is None:
            self.first = self.next = block.sequence
            self.first_ns = int(block.host_ns[0])
        if block.sequence > self.next:
            self.gaps += 1
        self.next = max(self.next, block.next_sequence)
        self.received += len(block)
        self.invalid += int(np.count_nonzero((block.validity != Validity.OK).any(axis=1)))
        self.last_ns = int(block.host_ns[-1])
        if self.clock is not None and block.ticks is not None:
            self.clock.enter(block.sequence, block.ticks, block.host_ns)

    def account(self) -> Account:
        expected = 0 if self.first is None else self.next - self.first
        span_s = (self.last_ns - self.first_ns) * 1e-9
        rate = (self.received - 1) / span_s if span_s > 0 else 0.0
        return Account(
            self.stream.name, expected, self.received, expected - self.received, self.invalid, self.gaps, rate
        )


class Ledger:
    """Keeps one entry per stream; told of every block."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}

    def expect(self, stream: Stream) -> None:
        """A stream that will come; it is listed even if no sample arrives."""
        self._entries.setdefault(stream.name, _Entry(stream))

    def enter(self, block: Block) -> None:
        self._entries[block.stream.name].enter(block)

    @property
    def accounts(self) -> tuple[Account, ...]:
        return tuple(entry.account() for entry in self._entries.values())

    @property
    def started(self) -> bool:
        """Has every expected measured stream yielded a sample?"""
        return all(e.received for e in self._entries.values() if e.stream.role == "measured")

    def clock_fits(self) -> dict[str, ClockFit]:
        """Fits of device time to host time, by stream; absent where there is no device time or no sample yet."""
        fits = {name: e.clock.fitter.fit() for name, e in self._entries.items() if e.clock is not None}
        return {name: fit for name, fit in fits.items() if fit is not None}
