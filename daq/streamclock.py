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
    #: Samples that are unwrapped together; until then their blocks only wait. One by one they would cost more
    #: than all else that a session does with a block.
    CHUNK = 500

    def __init__(self, stream: Stream) -> None:
        self._unwrapper = Unwrapper.of(stream)
        self._fitter = ClockFitter(stream.tick_hz or 0.0)
        self._waiting: list[Block] = []
        self._n_waiting = 0
        self._n_jumps = 0
        self._jumps: list[Jump] = []

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
        self._waiting.append(block)
        self._n_waiting += len(block)
        if self._n_waiting >= self.CHUNK:
            self._take_waiting()

    @property
    def n_jumps(self) -> int:
        """How often the counter jumped so far."""
        self._take_waiting()
        return self._n_jumps

    @property
    def jumps(self) -> tuple[Jump, ...]:
        """The first KEPT of those jumps."""
        self._take_waiting()
        return tuple(self._jumps)

    def _take_waiting(self) -> None:
        blocks, self._waiting, self._n_waiting = self._waiting, [], 0
        if not blocks:
            return
        sequence = np.concatenate([np.arange(b.sequence, b.next_sequence) for b in blocks])
        host_ns = np.concatenate([b.host_ns for b in blocks])
        raw = np.concatenate([b.ticks for b in blocks if b.ticks is not None])
        if any(b.validity.any() for b in blocks):
            good = np.concatenate([~np.isin(b.validity, UNTIMELY).any(axis=1) for b in blocks])
            sequence, host_ns, raw = sequence[good], host_ns[good], raw[good]
        out = self._unwrapper.unwrap(sequence, raw)
        begin = 0
        for row in out.rows:
            self._fitter.add(out.ticks[begin:row], host_ns[begin:row])
            self._fitter.restart()
            begin = int(row)
        self._fitter.add(out.ticks[begin:], host_ns[begin:])
        self._n_jumps += len(out.jumps)
        self._jumps += out.jumps[: max(0, self.KEPT - len(self._jumps))]

    def fit(self) -> ClockFit | None:
        """The fit so far; None before there are two samples at different ticks."""
        self._take_waiting()
        return self._fitter.fit()
