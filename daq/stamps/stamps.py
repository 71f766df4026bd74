"""One rule that gives every sample its stamp, of a recording (`stamps_of`) and of blocks as they come (`LiveStamps`).

1. A row with a value that is stale, corrupt or a duplicate has no stamp: it may carry that of another instant.
2. The host's own statement is `request_ns` where the device samples when it is asked (`at_request`), else `host_ns`.
3. Where the stream has a device counter, ticks are unwrapped and mapped to host time by the clock's fit to (2). A row
   without a tick then has no stamp; the others keep theirs. A stream whose device has shown no tick at all, and one
   with a single row, is stamped by (2).
4. Where the clock jumped, each part has a line of its own. A part of less than SETTLED_S has none that is good, and
   its rows have no stamp.

A row without a stamp is left out: neither its time nor its values are used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from heft.daq.recording.columns import NO_TIME, Columns
from heft.daq.stamps.clock_fit import ClockFit, ClockFitter
from heft.daq.stamps.ticks import Unwrapper
from heft.drivers.block import Block, Validity
from heft.drivers.stream import Stream

__all__ = ["SETTLED_S", "LiveStamps", "Stamps", "StreamClock", "stamps_of"]

#: Rows that carry no stamp of their own, or may carry a wrong one.
UNTIMELY = (Validity.STALE, Validity.CORRUPT, Validity.DUPLICATE)
#: Of a clock between two jumps, before its line is good [s].
SETTLED_S = 1.0
#: Of columns that are in use: a clock is fitted to them once, however many readers there are.
_KNOWN: WeakKeyDictionary[Columns, Stamps] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, eq=False)
class Stamps:
    """Stamps of N samples.

    ns     host time at which the device took each [ns], shape (N,) int64
    good   which samples have a stamp, shape (N,); the others' `ns` mean nothing
    fit    of the device's clock that they are from; None: they are the host's own times
    """

    ns: NDArray[np.int64]
    good: NDArray[np.bool_]
    fit: ClockFit | None = None

    def rows(self, valid: NDArray[np.bool_] | None = None) -> NDArray[np.intp]:
        """Places of samples that have a stamp (and are `valid`, shape (N,)), in the order of time, each stamp once."""
        places = np.flatnonzero(self.good if valid is None else self.good & valid)
        stamps = self.ns[places]
        if np.all(np.diff(stamps) > 0):
            return places
        return places[np.unique(stamps, return_index=True)[1]]

    def seconds(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Stamps of some samples [s], shape (M,)."""
        return self.ns[rows].astype(np.float64) * 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class _Timed:
    """What the rule needs of N samples: the host's statement [ns], which are timely, and unwrapped ticks of those."""

    host_ns: NDArray[np.int64]
    timely: NDArray[np.bool_]
    ticks: NDArray[np.int64] | None

    def stamps(self, fit: ClockFit | None) -> Stamps:
        """By a fit of the clock that has seen these samples; None: there is none yet."""
        if fit is None or self.ticks is None:
            return Stamps(self.host_ns, self.timely)
        ns, good = self.host_ns.copy(), self.timely.copy()
        ns[self.timely] = fit.to_host(self.ticks)
        if len(fit.pieces) > 1:
            spans = np.array([piece.last_ticks - piece.first_ticks for piece in fit.pieces]) / fit.tick_hz
            good[self.timely] = (spans >= SETTLED_S)[fit.piece_of(self.ticks)]
        return Stamps(ns, good, fit)


class StreamClock:
    """The clock of a stream's device: samples in, the fit of device time to host time out.

    Unwrapped ticks count from the raw counter of the first sample, so a stored fit is used with the ticks of
    the same samples, unwrapped from the same first one.
    """

    def __init__(self, stream: Stream) -> None:
        self._unwrapper = self._fitter = None
        if stream.tick_hz is not None and stream.tick_bits is not None:
            self._unwrapper, self._fitter = Unwrapper.of(stream), ClockFitter(stream.tick_hz)
        self._ticking = False  # a tick has come
        self.n_jumps = 0  # of the counter, so far

    def follow(self, samples: Columns) -> _Timed:
        """The next samples of the stream, by points 1 to 3 of the rule; the fit learns from those that are timely."""
        host_ns, timely = _host_ns(samples), _timely(samples)
        if self._unwrapper is None or self._fitter is None:
            return _Timed(host_ns, timely, None)
        self._ticking = self._ticking or samples.ticks is not None
        if not self._ticking:
            return _Timed(host_ns, timely, None)
        if samples.ticks is None:
            return _Timed(host_ns, np.zeros_like(timely), np.empty(0, np.int64))
        timely &= samples.ticks != NO_TIME
        out = self._unwrapper.unwrap(samples.sequence[timely], samples.ticks[timely])
        self._fitter.add(out.ticks, host_ns[timely], out.rows.tolist())
        self.n_jumps += len(out.rows)
        return _Timed(host_ns, timely, out.ticks)

    def fit(self) -> ClockFit | None:
        """The fit so far; None before there are two samples at different ticks, and where there is no counter."""
        return None if self._fitter is None else self._fitter.fit()


def stamps_of(columns: Columns) -> Stamps:
    """Stamps of all samples of a stream that were recorded, by one fit of its clock to all of them."""
    if columns not in _KNOWN:
        clock = StreamClock(columns.stream)
        timed = clock.follow(columns)
        _KNOWN[columns] = timed.stamps(clock.fit())
    return _KNOWN[columns]


class LiveStamps:
    """Stamps of a stream's blocks as they come, by the fit of its clock so far, which is made anew now and then."""

    #: How old a fit may be [s]: a clock's skew changes slowly.
    REFIT_S = 0.5

    def __init__(self, stream: Stream) -> None:
        self._clock = StreamClock(stream)
        self._fit: ClockFit | None = None
        self._fitted_ns = 0
        self._n_jumps = 0
        self._last_ns = -(1 << 62)

    def of(self, block: Block) -> Stamps:
        """Stamps of the next block's samples; one that a newer fit puts before a sample that was stamped has none."""
        timed = self._clock.follow(Columns.of(block.stream, [block]))
        now_ns, jumped = int(timed.host_ns[-1]), self._clock.n_jumps > self._n_jumps
        if self._fit is None or jumped or now_ns - self._fitted_ns > self.REFIT_S * 1e9:
            self._fit, self._fitted_ns, self._n_jumps = self._clock.fit(), now_ns, self._clock.n_jumps
        stamps = timed.stamps(self._fit)
        if stamps.fit is None:
            return stamps
        good = stamps.good & (stamps.ns > self._last_ns)
        if good.any():
            self._last_ns = int(stamps.ns[good].max())
        return replace(stamps, good=good)


def _host_ns(samples: Columns) -> NDArray[np.int64]:
    """What the host knows of when each sample was taken [ns], shape (N,): when it was asked for, or when it arrived."""
    if not samples.stream.at_request or samples.request_ns is None:
        return samples.host_ns
    asked = samples.request_ns != NO_TIME
    return samples.request_ns if asked.all() else np.where(asked, samples.request_ns, samples.host_ns)


def _timely(samples: Columns) -> NDArray[np.bool_]:
    """Which rows carry a time of their own, shape (N,)."""
    if not samples.validity.any():
        return np.ones(len(samples), dtype=np.bool_)
    return np.asarray(~np.isin(samples.validity, UNTIMELY).any(axis=1))
