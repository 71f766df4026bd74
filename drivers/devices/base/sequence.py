"""Sequence numbers: from a device's counter, or from its rate where it has none.

A lost sample is a gap between numbers. A frame that comes twice, or after a younger one, is counted and left out: no
value is ever yielded again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.drivers.block import Block
from heft.drivers.driver import Counters
from heft.drivers.stream import Stream

__all__ = ["ArrivalSequence", "CounterSequence", "Placed", "RateSequence", "cut"]

Index = NDArray[np.intp]
Times = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Which of the samples stay (`rows`, shape (M,)), and their sequence numbers, strictly increasing, shape (M,)."""

    rows: Index
    sequence: NDArray[np.int64]


class CounterSequence:
    """Numbers samples by a counter that goes on by `per_sample` from one to the next, and wraps at 2**bits.

    A step back of up to `late` samples is a late frame, a further one a counter that was set anew, and so is a step
    ahead by more than the host's clock allows. Then, and after `restart()`, numbers go on by the time that has passed
    since the last one that the counter gave: also a counter that means nothing leaves the count right.
    Counts what it finds in `counters`.
    """

    LATE = 1000
    AHEAD_S = 1.0  # how much further than the host's clock a counter may go

    def __init__(self, bits: int, per_sample: float, rate_hz: float, counters: Counters) -> None:
        self._unused_bits = 64 - bits
        self._per_sample = per_sample
        self._rate_hz = rate_hz
        self._counters = counters
        self._sequence = -1
        self._raw: int | None = None
        self._host_ns = 0
        self._known = (0, 0)  # the last number that the counter gave, and when it came [ns]
        self._by_counter = True  # whether it gave the present one

    @property
    def next(self) -> int:
        """The number that follows the last one."""
        return self._sequence + 1

    def count_in(self, counters: Counters) -> None:
        """From now on, what is found is counted there."""
        self._counters = counters

    def restart(self) -> None:
        """The counter begins anew with the next sample."""
        self._raw = None

    def place(self, raw: NDArray[np.int64], host_ns: Times, anew: NDArray[np.bool_] | None = None) -> Placed:
        """Numbers for samples with these counters, received at these times, both (N,), in the order of arrival.

        `anew` (N,) marks those before which the counter is known to have begun anew.
        """
        if not len(raw):
            return Placed(np.arange(0), np.arange(0))
        if (self._steps(raw)[1:] == 1).all() and (anew is None or not anew.any()):
            first = self._step(int(raw[0]), int(host_ns[0]))
            if first > 0:
                sequence = self._sequence + first + np.arange(len(raw))
                self._counters.lost += first - 1
                self._raw, self._sequence, self._host_ns = int(raw[-1]), int(sequence[-1]), int(host_ns[-1])
                if self._by_counter or len(raw) > 1:
                    self._known = self._sequence, self._host_ns
                return Placed(np.arange(len(raw)), sequence)
        rows, sequence_list = [], []
        for row, (counter, t_ns) in enumerate(zip(raw.tolist(), host_ns.tolist(), strict=True)):
            if anew is not None and anew[row]:
                self.restart()
            step = self._step(counter, t_ns)
            if step == 0:
                self._counters.duplicate += 1
            elif step < 0:
                self._counters.late += 1
            else:
                self._counters.lost += step - 1
                self._sequence += step
                self._raw, self._host_ns = counter, t_ns
                if self._by_counter:
                    self._known = self._sequence, t_ns
                rows.append(row)
                sequence_list.append(self._sequence)
        return Placed(np.array(rows, dtype=np.intp), np.array(sequence_list, dtype=np.int64))

    def _steps(self, raw: NDArray[np.int64]) -> NDArray[np.int64]:
        """Samples from each counter to the next, shape (N,)."""
        ticks = np.diff(raw, prepend=np.int64(self._raw or 0))
        signed = (ticks << self._unused_bits) >> self._unused_bits
        return np.rint(signed / self._per_sample).astype(np.int64)

    def _step(self, counter: int, t_ns: int) -> int:
        """How many samples a counter is ahead of the last one; 0: the same, negative: behind."""
        self._by_counter = True
        if self._sequence < 0:
            return 1
        passed_s = (t_ns - self._host_ns) * 1e-9
        if self._raw is not None:
            step = int(self._steps(np.array([counter]))[0])
            if -self.LATE <= step <= (passed_s + self.AHEAD_S) * self._rate_hz:
                return step
        self._by_counter = False
        number, since_ns = self._known
        due = number + round((t_ns - since_ns) * 1e-9 * self._rate_hz)
        return max(1, due - self._sequence)


class RateSequence:
    """Numbers samples of a device without a counter by the time between them.

    Samples come in batches: what one read of the line gave. A host that has stalled finds many in one, so it is from
    batch to batch that their number is compared with the time passed. A batch that comes late on a busy host looks like
    one before which a sample was lost, until one comes in time again: so it waits for `WINDOW` more, and if until
    any of them no more time has passed than should have, nothing was lost.

    LATE   more time than for the samples of a batch, by which it is suspicious [periods]
    """

    LATE = 0.6
    WINDOW = 3

    def __init__(self, rate_hz: float, counters: Counters) -> None:
        self._period_ns = 1e9 / rate_hz
        self._counters = counters
        self._sequence = -1
        self._host_ns = 0
        self._restarted = False

    def restart(self) -> None:
        """The line was opened anew: what is missing before the next sample is lost, however long it took."""
        self._restarted = True

    def place(self, host_ns: Times, batches: Sequence[int] | None = None, *, last: bool = False) -> Placed:
        """Numbers for the samples received at these times (N,), in batches of these lengths: those that need not wait.

        Without `batches` each sample is one. Those that are left are given again, with what has come since. `last`:
        nothing more will come.
        """
        batches = [1] * len(host_ns) if batches is None else batches
        numbers: list[int] = []
        ends = np.cumsum(batches).tolist()
        for i, (n, end) in enumerate(zip(batches, ends, strict=True)):
            t_ns = int(host_ns[end - 1])
            missing = self._missing(t_ns, n) if self._sequence >= 0 else 0
            if missing and not self._restarted and not last:
                later = ends[i + 1 : i + 1 + self.WINDOW]
                come = (self._missing(int(host_ns[e - 1]), n + e - end) for e in later)
                missing = min((missing, *come))
                if missing and len(later) < self.WINDOW:
                    break
            self._restarted = False
            self._counters.lost += missing
            numbers.extend(range(self._sequence + 1 + missing, self._sequence + 1 + missing + n))
            self._sequence += missing + n
            self._host_ns = t_ns
        return Placed(np.arange(len(numbers)), np.array(numbers, dtype=np.int64))

    def _missing(self, t_ns: int, n: int) -> int:
        """How many samples fewer than should have come until t_ns [ns] have: `n` did."""
        periods = (t_ns - self._host_ns) / self._period_ns - n
        return round(periods) if periods > self.LATE else 0


class ArrivalSequence:
    """Numbers rows without a counter by their arrival times, at a steady rate with delays but never early.

    The earliest arrivals give the time at which a row is due. A row that is late by more than `LATE` periods was either
    delayed (a later row is in time again) or follows a loss (all later rows are as late). It is numbered when that is
    known: after `WINDOW` more rows, not counting those that arrive in a burst after a stall of this host.

    LATE    lateness from which a loss is suspected [periods]
    DRIFT   largest difference between device clock and host clock
    """

    LATE = 0.7
    WINDOW = 4
    DRIFT = 5e-4

    def __init__(self, rate_hz: float, counters: Counters) -> None:
        self._period_ns = 1e9 / rate_hz
        self._counters = counters
        self._due_ns: float | None = None  # when the next row is due, had nothing ever been late
        self._next = 0

    def place(self, host_ns: Sequence[int], *, last: bool = False) -> list[int]:
        """Numbers of the first rows of those that came at these times; the others must wait, and be given again.

        `last`: nothing more will come.
        """
        numbers: list[int] = []
        for i, t_ns in enumerate(host_ns):
            missing = self._missing(host_ns[i:], last)
            if missing is None:
                break
            self._counters.lost += missing
            numbers.append(self._next + missing)
            self._next = numbers[-1] + 1
            due_ns = t_ns if self._due_ns is None else self._due_ns + missing * self._period_ns
            late_ns = t_ns - due_ns
            follow_ns = late_ns if late_ns < 0.0 else min(self.DRIFT * self._period_ns, late_ns)
            self._due_ns = due_ns + follow_ns + self._period_ns
        return numbers

    def _missing(self, times: Sequence[int], last: bool) -> int | None:
        """How many rows are missing before the first of these; None: not known yet."""
        if self._due_ns is None:
            return 0
        least, seen, calm = times[0] - self._due_ns, 0, 0
        while least > self.LATE * self._period_ns:
            seen += 1
            if seen == len(times):
                return round(least / self._period_ns) if last else None
            calm += times[seen] - times[seen - 1] > 0.5 * self._period_ns
            least = min(least, times[seen] - self._due_ns - seen * self._period_ns)
            if calm == self.WINDOW:
                return max(0, round(least / self._period_ns))
        return 0


def cut(
    stream: Stream,
    placed: Placed,
    *,
    host_ns: Times,
    values: NDArray[Any],
    validity: NDArray[np.uint8],
    ticks: NDArray[np.int64] | None = None,
    request_ns: Times | None = None,
) -> Iterator[Block]:
    """Blocks of consecutive samples; the arrays have one row per sample before placing."""
    rows, sequence = placed.rows, placed.sequence
    if not len(rows):
        return
    ends = np.flatnonzero(np.diff(sequence) != 1) + 1
    for part, numbers in zip(np.split(rows, ends), np.split(sequence, ends), strict=True):
        yield Block(
            stream=stream,
            sequence=int(numbers[0]),
            host_ns=host_ns[part],
            values=values[part],
            validity=validity[part],
            request_ns=None if request_ns is None else request_ns[part],
            ticks=None if ticks is None else ticks[part],
        )
