"""Raw device counters, which wrap, as ticks that only count on.

A counter of n bits tells time only modulo 2^n. How often it went round between two samples follows from
their sequence numbers: so many samples apart, at the stream's rate, so many ticks are expected, and of all
counts that the raw values allow, the one nearest to that is taken. This holds through gaps, as long as the
expected count is certain to less than half a turn.

A counter that does not do what is expected (the device restarted, its clock was set, its counter is stuck)
is reported as a Jump. Ticks then go on by the expected count, so they never run back; the fit of the
device's clock starts anew there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heft.drivers.stream import Stream

__all__ = ["Jump", "Unwrapped", "Unwrapper"]

#: What rounding to ticks can do to a count: 1 to the counter's difference, 0.5 to the expected one [ticks].
ROUNDING = 1.5


@dataclass(frozen=True, slots=True)
class Jump:
    """A place where the counter did not go on as expected.

    sequence  number of the first sample after it
    ticks     how far the counter was off the expected count (negative: back) [ticks]; modulo 2^bits
    lost      True: the gap before it was too long to know how often the counter went round
    """

    sequence: int
    ticks: int
    lost: bool


@dataclass(frozen=True, slots=True, eq=False)
class Unwrapped:
    """Ticks that only count on, shape (N,) int64, and the rows before which they jumped."""

    ticks: NDArray[np.int64]
    jumps: tuple[Jump, ...]
    rows: NDArray[np.intp]


class Unwrapper:
    """Unwraps one stream's counter, block by block or all at once: the result is the same.

    bits                 of the counter, 1 to 64
    ticks_per_sample     nominal: tick_hz / rate_hz
    tolerance_samples    a count further than this from the expected one is a jump [samples]
    rate_tolerance       and, in a gap, this much of the gap: how far the true rate may be off the nominal one
    """

    def __init__(
        self,
        bits: int,
        ticks_per_sample: float,
        *,
        tolerance_samples: float = 0.5,
        rate_tolerance: float = 0.01,
    ) -> None:
        if not 1 <= bits <= 64:
            raise ValueError(f"a counter of {bits} bits cannot be unwrapped, must be 1 to 64")
        if not ticks_per_sample > 0.0:
            raise ValueError(f"{ticks_per_sample:g} ticks per sample, must be positive")
        tolerance = tolerance_samples * ticks_per_sample + ROUNDING
        if tolerance >= 0.5 * 2.0**bits:
            raise ValueError(
                f"a counter of {bits} bits with {ticks_per_sample:g} ticks per sample goes round in "
                f"{2.0**bits / ticks_per_sample:g} samples, too few to be counted; give the stream a "
                "slower tick, or none"
            )
        self._unused_bits = 64 - bits
        self._half_turn = 0.5 * 2.0**bits
        self._ticks_per_sample = ticks_per_sample
        self._tolerance = tolerance
        self._rate_tolerance = rate_tolerance
        self._last: tuple[int, int, int] | None = None  # sequence, raw counter, ticks

    @classmethod
    def of(cls, stream: Stream) -> Unwrapper:
        """For the counter that a stream describes."""
        if stream.tick_hz is None or stream.tick_bits is None:
            raise ValueError(f"{stream.name} has no device counter to unwrap; see its tick_hz and tick_bits")
        return cls(stream.tick_bits, stream.tick_hz / stream.rate_hz)

    def unwrap(self, sequence: NDArray[np.int64], raw: NDArray[np.int64]) -> Unwrapped:
        """Ticks of samples with these sequence numbers and raw counters, both (N,), after the last call's.

        The first tick of all is the raw value itself. Samples that come late (an older sequence number) get
        the tick they should have had.
        """
        if len(raw) == 0:
            return Unwrapped(np.zeros(0, np.int64), (), np.zeros(0, np.intp))
        if self._last is None:
            self._last = int(sequence[0]), int(raw[0]), int(raw[0])
        last_sequence, last_raw, last_ticks = self._last
        expected = np.diff(sequence, prepend=last_sequence) * self._ticks_per_sample
        count = np.rint(expected).astype(np.int64)
        with np.errstate(over="ignore"):  # a 64-bit counter wraps just as int64 does
            off = self._signed(np.diff(raw, prepend=np.int64(last_raw)) - count)
        tolerance = self._tolerance + self._rate_tolerance * np.abs(expected)
        lost = tolerance >= self._half_turn
        jumped = lost | (np.abs(off) > tolerance)
        ticks = last_ticks + np.cumsum(np.where(jumped, count, count + off))
        self._last = int(sequence[-1]), int(raw[-1]), int(ticks[-1])
        rows = np.flatnonzero(jumped)
        jumps = tuple(Jump(int(sequence[i]), int(off[i]), bool(lost[i])) for i in rows)
        return Unwrapped(ticks, jumps, rows)

    def _signed(self, difference: NDArray[np.int64]) -> NDArray[np.int64]:
        """Modulo 2^bits, the value nearest to zero."""
        return (difference << self._unused_bits) >> self._unused_bits
