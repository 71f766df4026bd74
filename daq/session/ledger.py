"""The account of every sample: expected, received, lost, per stream; and the clock of every device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from heft.daq.recording.columns import Columns
from heft.daq.stamps import ClockFit, StreamClock
from heft.drivers.block import Block, Validity
from heft.drivers.errors import DeviceFault
from heft.drivers.stream import Role, Stream

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


class _Entry:
    WINDOW_NS = 1_000_000_000  # over which the rate is looked at
    LEAST = 0.5  # of the stated rate; below that in two windows in a row the stream is not what the rig's file says

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.first: int | None = None
        self.next = 0
        self.received = self.invalid = self.gaps = self.never_came = 0
        self.first_ns = self.last_ns = 0
        self._window = (0, 0)  # number and time [ns] at its beginning
        self._slow_windows = 0

    def enter(self, block: Block) -> None:
        if self.first is None:
            self.first = self.next = block.sequence
            self.first_ns = int(block.host_ns[0])
            self._window = self.next, self.first_ns
        if block.sequence > self.next:
            self.gaps += 1
        self.next = max(self.next, block.next_sequence)
        self.received += len(block)
        if block.validity.any():
            self.invalid += int(np.count_nonzero((block.validity != Validity.OK).any(axis=1)))
        self.last_ns = int(block.host_ns[-1])

    def slow_rate_hz(self) -> float | None:
        """The rate at which the device samples, by its own numbers, where that is far below the stated one."""
        number, since_ns = self._window
        if self.first is None or self.last_ns - since_ns < self.WINDOW_NS:
            return None
        rate_hz = (self.next - number) / (self.last_ns - since_ns) * 1e9
        self._window = self.next, self.last_ns
        self._slow_windows = self._slow_windows + 1 if rate_hz < self.LEAST * self.stream.rate_hz else 0
        return rate_hz if self._slow_windows >= 2 else None

    def fall_silent(self, now_ns: int, bound_s: float) -> None:
        silent_s = (now_ns - self.last_ns) * 1e-9
        if self.first is not None and silent_s > bound_s:
            self.never_came = int(silent_s * self.stream.rate_hz)
            self.gaps += 1

    def account(self) -> Account:
        expected = 0 if self.first is None else self.next - self.first + self.never_came
        span_s = (self.last_ns - self.first_ns) * 1e-9
        rate = (self.received - 1) / span_s if span_s > 0 else 0.0
        return Account(
            self.stream.name, expected, self.received, expected - self.received, self.invalid, self.gaps, rate
        )


class _Clock:
    """The clock of one stream's device. Blocks wait: one by one they would cost more than all else that is done."""

    CHUNK = 500  # samples

    def __init__(self, stream: Stream) -> None:
        self._stream, self._clock = stream, StreamClock(stream)
        self._waiting: list[Block] = []
        self._n_waiting = 0

    def add(self, block: Block) -> None:
        if block.ticks is None:
            raise ValueError(
                f"{block.stream.name}: block {block.sequence} has no device ticks, but the stream has a counter; "
                "let the driver pass it on, or take tick_hz out of the stream"
            )
        self._waiting.append(block)
        self._n_waiting += len(block)
        if self._n_waiting >= self.CHUNK:
            self._follow()

    def fit(self) -> ClockFit | None:
        self._follow()
        return self._clock.fit()

    def _follow(self) -> None:
        if self._waiting:
            self._clock.follow(Columns.of(self._stream, self._waiting))
            self._waiting, self._n_waiting = [], 0


class Ledger:
    """Keeps one entry per stream and one clock per device; told of every block."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._clocks: dict[str, _Clock] = {}  # by the stream that tells the device's time

    def expect(self, stream: Stream) -> None:
        """A stream that will come; it is listed even if no sample arrives."""
        self._entries.setdefault(stream.name, _Entry(stream))
        ticks = stream.tick_hz is not None and stream.tick_bits is not None
        if ticks and stream.device not in {name.split(".")[0] for name in self._clocks}:
            self._clocks[stream.name] = _Clock(stream)

    def enter(self, block: Block) -> None:
        self._entries[block.stream.name].enter(block)
        clock = self._clocks.get(block.stream.name)
        if clock is not None:
            clock.add(block)

    def fall_silent(self, device: str, now_ns: int, bound_s: float) -> None:
        """A device was lost: streams that were silent for longer than `bound_s` owe samples from their last one on.

        They are counted by the nominal rate, until `now_ns`; no later sample will show that gap by its number.
        """
        for entry in self._entries.values():
            if entry.stream.device == device and entry.stream.role is not Role.SENT:
                entry.fall_silent(now_ns, bound_s)

    def check_rates(self) -> None:
        """Raise DeviceFault where a measured stream has come far below its stated rate for two seconds."""
        for entry in self._entries.values():
            stream = entry.stream
            rate_hz = entry.slow_rate_hz() if stream.role is Role.MEASURED else None
            if rate_hz is not None:
                raise DeviceFault(
                    stream.device,
                    f"{stream.name} comes at {rate_hz:.4g} Hz, stated {stream.rate_hz:g} Hz (bound "
                    f"{entry.LEAST * stream.rate_hz:g} Hz); set the device to its rate, or correct rate_hz in the "
                    "rig's file",
                )

    @property
    def accounts(self) -> tuple[Account, ...]:
        return tuple(entry.account() for entry in self._entries.values())

    @property
    def started(self) -> bool:
        """Has every expected measured stream yielded a sample?"""
        return all(e.received for e in self._entries.values() if e.stream.role is Role.MEASURED)

    def clock_fits(self) -> dict[str, ClockFit]:
        """Fits of device time to host time, by device; absent where there is no device time or no sample yet."""
        fits = {name.split(".")[0]: clock.fit() for name, clock in self._clocks.items()}
        return {device: fit for device, fit in fits.items() if fit is not None}
