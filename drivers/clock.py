"""The clock that every driver is given: host time in integer nanoseconds.

Real, simulated and manual clocks live in `heft.daq.clock`; drivers know only this seam.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

__all__ = ["Clock"]


class Clock(Protocol):
    """Monotonic host time, and waiting on it."""

    def now_ns(self) -> int:
        """Host time [ns], monotonic."""
        ...

    async def sleep_until(self, t_ns: int) -> None:
        """Return when host time is at least `t_ns`; at once (after one turn of the loop) if it already is."""
        ...

    def participant(self, name: str) -> AbstractContextManager[None]:
        """While inside, the calling task is one that simulated time waits for.

        A simulated clock advances only when every participant is in `sleep_until`, and wakes one participant
        at a time in the order (time, order of joining), so that a run does not depend on the machine's load.
        On a real clock this does nothing.
        """
        ...

    def hold(self) -> AbstractContextManager[None]:
        """While inside, simulated time stands still (a full queue, a chunk in flight). Real time does not."""
        ...
