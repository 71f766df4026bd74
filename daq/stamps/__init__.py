"""The stamp of a sample: when its device took it, on the host's clock.

In the order of the work: raw counters to ticks that only count on (`ticks`), the line below all arrivals (`envelope`),
ticks to host time (`clock_fit`), and the rule by which every sample gets its stamp or is left out (`stamps`).
"""

from __future__ import annotations

from heft.daq.stamps.clock_fit import ClockFit
from heft.daq.stamps.stamps import SETTLED_S, LiveStamps, Stamps, StreamClock, stamps_of

__all__ = ["SETTLED_S", "ClockFit", "LiveStamps", "Stamps", "StreamClock", "stamps_of"]
