"""When a servo sampled, by its own clock: a request that a busy host or an adapter has held up is obeyed late."""

from __future__ import annotations

from heft.drivers.devices.base.publisher_clock import PublisherClock

__all__ = ["ServoClock"]

_WRAP = 1 << 15  # [ms]
_TICK_NS = 1_000_000
_SURE_NS = 1_500_000  # above what the steps of its clock may feign
_OLDER = 20  # samples in a row: then it is the clock that was taken wrongly


class ServoClock:
    """Compares requests with a clock of 1 ms that wraps.

    The difference between its time and the request's is the clocks' plus what the request was held up, which is never
    negative: the least of a window is nearest to the clocks'.
    """

    def __init__(self) -> None:
        self._clock = PublisherClock()
        self._last: int | None = None
        self._ns = 0  # of its time, without wraps
        self._older = 0  # samples in a row

    def reset(self) -> None:
        """It may have begun anew."""
        self._clock.reset()
        self._last = None

    def off_ns(self, tick: int, asked_ns: int, heard_ns: int) -> int:
        """By how much a sample is younger than the request for it [ns]; 0: not by more than the clock can tell.

        Negative: it is older than the request, so that it answers an earlier one.

        asked_ns, heard_ns   when the request had passed the line, and when its answer came, by the host's clock
        """
        first = self._last is None
        passed = 0 if self._last is None else (tick - self._last) % _WRAP
        self._last = tick
        self._ns += passed * _TICK_NS
        if not first and (older_ns := self._clock.at(self._ns) - asked_ns) < -_SURE_NS:
            self._older += 1
            if self._older < _OLDER:
                return older_ns - _TICK_NS // 2
            self._clock.reset()  # all that were late before were late alike
        self._older = 0
        self._clock.take(asked_ns, self._ns)
        late_ns = self._clock.at(self._ns) - asked_ns
        if late_ns > heard_ns - asked_ns + _SURE_NS:  # later than it came: another clock
            self.reset()
            return 0
        return min(late_ns - _TICK_NS // 2, heard_ns - asked_ns) if late_ns > _SURE_NS else 0
