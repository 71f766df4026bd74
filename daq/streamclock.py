"""The clock behind one stream: its blocks in, the fit of device time to host time out."""

from __future__ import annotations

import numpy as np

from daq.clockfit import ClockFit, ClockFitter
from daq.ticks import Jump, Unwrapper
from drivers.block import Block, Validity
from drivers.stream import Stream

__all__ = ["StreamClock"]

#: Rows that carry no stamp of their own, or may carry a wrong one.
UNTIMELY = (Validity.STALE, Validity.CORRUPT, Validity.DUPLICATE)


class StreamClock:
    """Follows the device clock of a stream that has one, while its blocks come in.

    Unwrapped ticks count from the raw counter of the first sample, so a stored fit is used with the ticks of
    the same blocks, unwrapped from the same first one. Rows whose stamp is not to be trusted are left out.
    """

    #: Jumps that are kept for the report; a stuck counter makes one per sample.
    KEPT = 100

    def __init__(self, stream: Stream) -> None:
        self._unwrapper = Unwrapper.of(stream)
        self._fitter = ClockFitter(stream.tick_hz or 0.0)
        self.n_jumps = 0
        self.jumps: list[Jump] = []  # the first KEPT of them

    @classmethod
    def of(cls, stream: Stream) -> StreamClock | None:
        """None where the stream carries no device counter."""
        return None if stream.tick_hz is None or stream.tick_bits is None else cls(stream)

    def add(self, block: Block) -> None:
        """The next block of the stream."""
        if block.ticks is None:
            raise ValueError(
                f"{block.stream.name}: block {block.sequence} has no device ticks, but the stream has a counter; "
                "let the driver pass it on, or take tick_hz out of the stream"
            )
        good = ~np.isin(block.validity, UNTIMELY).any(axis=1)
        sequence = block.sequence + np.flatnonzero(good)
        host_ns = block.host_ns[good]
        out = self._unwrapper.unwrap(sequence, block.ticks[good])
        begin = 0
        for row in out.rows:
            self._fitter.add(out.ticks[begin:row], host_ns[begin:row])
            self._fitter.restart()
            begin = int(row)
        self._fitter.add(out.ticks[begin:], host_ns[begin:])
        self.n_jumps += len(out.jumps)
        self.jumps += out.jumps[: max(0, self.KEPT - len(self.jumps))]

    def fit(self) -> ClockFit | None:
        """The fit so far; None before there are two samples at different ticks."""
        return self._fitter.fit()
