"""Numbers for rows that nothing numbers, from when they came."""

from __future__ import annotations

from collections.abc import Sequence

from drivers.driver import Counters

__all__ = ["Pace"]


class Pace:
    """Rows come at a steady rate, each a little late, some very late, and never early.

    So the earliest ones tell when a row is due. A row that is late by most of a period either is late, and then soon
    one comes in time again; or one before it was lost, and then all that follow are as late. It waits until that is
    known: for `WINDOW` more rows, not counting those that come in a bunch after a stall of this host.

    LATE    [periods]; DRIFT: by how much clocks may differ
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
