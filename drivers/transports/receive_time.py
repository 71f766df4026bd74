"""From the kernel's receive stamp to host time."""

from __future__ import annotations

import time

from heft.drivers.clock import Clock

__all__ = ["ReceiveTime"]

#: A stamp older than this [ns] is not believed: the system's clock was set meanwhile, or it is no such stamp.
OLDEST_NS = 10_000_000_000


class ReceiveTime:
    """Host times of arrival on one line; they never go back.

    The kernel stamps arrivals in system time (CLOCK_REALTIME), which may be set or slewed. So only the age of the
    stamp is used: host time now, less system time now minus the stamp. System time is read first: an interruption
    between the two readings makes a stamp late, never early, which the lower-envelope fit of clocks tolerates.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last_ns = 0

    def host_ns(self, kernel_ns: int | None = None) -> int:
        """Host time [ns] of an arrival; without the kernel's stamp it is now."""
        age_ns = 0
        if kernel_ns is not None:
            age_ns = time.clock_gettime_ns(time.CLOCK_REALTIME) - kernel_ns
            if not 0 <= age_ns <= OLDEST_NS:
                age_ns = 0
        return self.not_before(self._clock.now_ns() - age_ns)

    def not_before(self, host_ns: int) -> int:
        """A host time [ns] of an arrival that is known, or that of the one before it where that is later."""
        self._last_ns = max(self._last_ns, host_ns)
        return self._last_ns
