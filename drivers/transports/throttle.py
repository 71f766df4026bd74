"""How much of a line is taken in, however much comes: a flood must not keep the event loop from the drives."""

from __future__ import annotations

from heft.drivers.clock import Clock

__all__ = ["Throttle"]

_BURST_S = 0.25  # what a stalled host may find waiting, in seconds' worth


class Throttle:
    """At most `per_second` items in the long run, and a quarter of a second's worth at once.

    PAUSE_S     for how long a line that has had its share is left alone [s]; what comes then is the kernel's to drop
    throttled   how often that happened
    """

    PAUSE_S = 0.01

    def __init__(self, clock: Clock, per_second: float) -> None:
        self._clock, self._per_second = clock, per_second
        self._most = self._left = _BURST_S * per_second
        self._last_ns = clock.now_ns()
        self.throttled = 0

    def room(self, wanted: int) -> int:
        """How many of `wanted` items may be taken now; none: pause."""
        now_ns = self._clock.now_ns()
        passed_s, self._last_ns = (now_ns - self._last_ns) * 1e-9, now_ns
        self._left = min(self._most, self._left + passed_s * self._per_second)
        room = min(wanted, int(self._left))
        self.throttled += room < 1
        return room

    def take(self, items: int) -> None:
        """So many were taken."""
        self._left -= items
