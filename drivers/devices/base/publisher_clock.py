"""What the clock of a publisher shows, by the stamps and arrivals of its messages."""

from __future__ import annotations

from collections import deque

__all__ = ["PublisherClock"]

_WINDOW_NS = 2_000_000_000  # over which the shortest way is looked for
_RECENT = 101  # stamps
_STEP_NS = 50_000_000  # of which the shortest is kept


class PublisherClock:
    """Maps host time to the publisher's by the message that came the fastest way.

    The difference host - stamp is the clocks' plus the time on the way, which is never negative: the least of a window
    is nearest to the clocks'.
    """

    def __init__(self) -> None:
        self._least: deque[tuple[int, int]] = (
            deque()
        )  # arrival and host - stamp of the fastest in each step [ns]
        self._first: tuple[int, int] | None = None
        self._last: tuple[int, int] | None = None
        #: The newest stamps [ns].
        self.recent: deque[int] = deque(maxlen=_RECENT)

    def reset(self) -> None:
        """The clock was set, or it is another one."""
        self._least.clear()
        self.recent.clear()
        self._first = self._last = None

    def take(self, stamp_ns: int, host_ns: int) -> None:
        """A message with this stamp has come at this time."""
        late_ns = host_ns - stamp_ns
        if self._least and host_ns - self._least[-1][0] < _STEP_NS:
            if late_ns < self._least[-1][1]:
                self._least[-1] = (self._least[-1][0], late_ns)
        else:
            self._least.append((host_ns, late_ns))
            while self._least[0][0] < host_ns - _WINDOW_NS:
                self._least.popleft()
        self._first = self._first or (stamp_ns, host_ns)
        self._last = stamp_ns, host_ns
        self.recent.append(stamp_ns)

    def at(self, host_ns: int) -> int:
        """What it shows at this host time [ns]; at least one message has come."""
        return host_ns - min(late_ns for _, late_ns in self._least)

    @property
    def rate(self) -> float:
        """Its seconds per second of the host's; 1 until it has been heard for half a second."""
        if self._first is None or self._last is None or self._last[1] - self._first[1] < 500_000_000:
            return 1.0
        return (self._last[0] - self._first[0]) / (self._last[1] - self._first[1])
