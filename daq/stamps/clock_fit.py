"""A device's clock against the host's: the line below all arrivals.

Every sample carries a device tick and the host time at which it arrived, which is never early:

    host = offset + skew * device + latency,   latency >= the least latency of the way

So the clock is the *lower envelope* of the points (device, host): of all lines with no point below them, the
one that is highest on average. It touches the points that came without delay; late ones do not pull at it.
For latencies that fall off exponentially it is the maximum-likelihood line. It is an edge of the points'
lower convex hull, the one above or below the mean of the device times, which is why the fit can go along with
the data in bounded memory: a hull, moments and a few minima are all it keeps.

What the fit cannot see is the least latency itself: it becomes part of the offset. A fitted time is the
instant at which an undelayed sample would have arrived; the constant that is left is part of the stream's
delay (`docs/units-and-frames.md`).

Residuals (arrival minus fit, never below zero but by rounding) say how late samples come, not how good the
line is: their mean and rms are latency above the least one, and jitter. The line is known far better than
that, through the samples that came nearly undelayed. With N samples of mean extra latency L over T seconds
the offset is late by about L / N in the middle of the data and the skew is off by about 10 L / (N T): for
20 s at 1 kHz with 0.2 ms, some 20 ns and 0.005 ppm (measured in `tests/daq/stamps/test_clock_fit.py`). `bend_ns`
tells of a clock that is not a line (temperature, small steps): the highest that the envelope of any part of
the data lies above the line.

A clock that jumps starts a new piece of the fit. A jump back is seen at once (arrivals before the envelope),
a jump forward when nothing has come near the envelope for a while.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from heft.daq.stamps.envelope import Envelope

__all__ = ["ClockFit", "ClockFitter", "ClockPiece"]


@dataclass(frozen=True, slots=True)
class ClockPiece:
    """One stretch without a jump: host = anchor_ns + skew * (ticks - anchor_ticks) / tick_hz.

    first_ticks, last_ticks  what it was fitted to [ticks]
    anchor_ticks, anchor_ns  a point of the line in the middle of the data, where it is known best
    skew                     host seconds per device second
    n                        samples
    residual_mean_ns         mean of arrival minus fit: latency above the least one [ns]
    residual_rms_ns          and its standard deviation: jitter [ns]
    bend_ns                  highest envelope of any part of the data above the line [ns]
    """

    first_ticks: int
    last_ticks: int
    anchor_ticks: int
    anchor_ns: int
    skew: float
    n: int
    residual_mean_ns: float
    residual_rms_ns: float
    bend_ns: float


@dataclass(frozen=True, slots=True)
class ClockFit:
    """Device time to host time: one piece, or one more after each jump of the clock."""

    tick_hz: float
    pieces: tuple[ClockPiece, ...]

    @property
    def main(self) -> ClockPiece:
        """The piece with the most samples."""
        return max(self.pieces, key=lambda piece: piece.n)

    @property
    def skew(self) -> float:
        """Host seconds per device second, of the main piece."""
        return self.main.skew

    @property
    def skew_ppm(self) -> float:
        """Parts per million by which the device's clock is slow: (skew - 1) 1e6, of the main piece."""
        return (self.skew - 1.0) * 1e6

    @property
    def offset_ns(self) -> int:
        """Host time of device tick 0 [ns], of the main piece; far from the data it is extrapolated."""
        main = self.main
        return main.anchor_ns - round(main.anchor_ticks / self.tick_hz * 1e9 * main.skew)

    @property
    def residual_ns(self) -> float:
        """Mean latency above the least one [ns], over all pieces."""
        return sum(piece.n * piece.residual_mean_ns for piece in self.pieces) / self.n

    @property
    def n(self) -> int:
        """Samples in all pieces."""
        return sum(piece.n for piece in self.pieces)

    @property
    def span_s(self) -> float:
        """Device time from the first sample to the last [s]."""
        return (self.pieces[-1].last_ticks - self.pieces[0].first_ticks) / self.tick_hz

    @property
    def jumps_ns(self) -> tuple[int, ...]:
        """How far the device's clock jumped between pieces [ns]; positive: it fell back or stood still."""
        return tuple(
            self._host(after, after.first_ticks) - self._host(before, after.first_ticks)
            for before, after in zip(self.pieces, self.pieces[1:], strict=False)
        )

    def to_host(self, ticks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Host time [ns] of unwrapped ticks, shape (N,) int64; each by the piece that it falls in."""
        ticks = np.asarray(ticks, dtype=np.int64)
        which = self.piece_of(ticks)
        host_ns = np.empty_like(ticks)
        for i, piece in enumerate(self.pieces):
            rows = which == i
            elapsed_ns = (ticks[rows] - piece.anchor_ticks) * (1e9 / self.tick_hz * piece.skew)
            host_ns[rows] = piece.anchor_ns + np.rint(elapsed_ns).astype(np.int64)
        return host_ns

    def piece_of(self, ticks: NDArray[np.int64]) -> NDArray[np.intp]:
        """Number of the piece that each of these unwrapped ticks falls in, shape (N,)."""
        starts = np.array([piece.first_ticks for piece in self.pieces[1:]], dtype=np.int64)
        return np.searchsorted(starts, ticks, side="right")

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Inverse of `to_dict`."""
        return cls(data["tick_hz"], tuple(ClockPiece(**piece) for piece in data["pieces"]))

    def _host(self, piece: ClockPiece, ticks: int) -> int:
        return piece.anchor_ns + round((ticks - piece.anchor_ticks) / self.tick_hz * 1e9 * piece.skew)


class ClockFitter:
    """Fits a device's clock while samples come in, in bounded memory and about 1 us per sample.

    tick_hz     nominal rate of the device's counter [Hz]
    max_skew    how far its true rate may be off (relative); the fit's skew stays within it
    jump_s      step of the envelope that counts as a jump [s]; five times the mean residual if that is more
    patience_s  how long nothing may come near the envelope before a jump forward is believed [s]
    """

    #: Samples that are looked at together; until then they only wait.
    CHUNK = 512
    #: The same where they are at hand and the piece has settled: its line is then good for seconds ahead.
    LONG_CHUNK = 4096
    #: Samples and seconds that a piece has before a jump can be seen: earlier its envelope still sinks.
    SETTLED = 100
    SETTLED_S = 1.0

    def __init__(
        self, tick_hz: float, *, max_skew: float = 1e-3, jump_s: float = 1e-3, patience_s: float = 2.0
    ) -> None:
        if not tick_hz > 0.0:
            raise ValueError(f"tick_hz is {tick_hz}, must be positive")
        self._tick_hz = tick_hz
        self._max_slope = max_skew * 1e9  # [ns/s]
        self._jump_ns = jump_s * 1e9
        self._patience_s = patience_s
        self._waiting: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        self._n_waiting = 0
        self._origin: tuple[int, int] | None = None  # ticks and host time that the envelopes count from
        self._finished: list[ClockPiece] = []
        self._envelope = Envelope(self._max_slope)
        self._late: Envelope | None = None  # samples since which nothing came near the envelope

    def add(self, ticks: NDArray[np.int64], host_ns: NDArray[np.int64], restarts: Iterable[int] = ()) -> None:
        """Samples by unwrapped ticks and host times of arrival [ns], both (N,), in order of arrival.

        `restarts` are rows before which the counter is known to have jumped (`Unwrapped.rows`): a new piece begins.
        """
        begin = 0
        for row in restarts:
            self._wait(ticks[begin:row], host_ns[begin:row])
            self._restart()
            begin = row
        self._wait(ticks[begin:], host_ns[begin:])

    def _wait(self, ticks: NDArray[np.int64], host_ns: NDArray[np.int64]) -> None:
        if len(ticks) == 0:
            return
        self._waiting.append((ticks, host_ns))
        self._n_waiting += len(ticks)
        if self._n_waiting >= self.CHUNK:
            self._take_waiting()

    def _restart(self) -> None:
        self._take_waiting()
        self._merge_late()
        self._finish()

    def fit(self) -> ClockFit | None:
        """The fit so far; None before there are two samples at different ticks."""
        self._take_waiting()
        pieces = list(self._finished)
        now = self._envelope if self._late is None else self._envelope.merged(self._late)
        if now.usable:
            pieces.append(self._piece(now))
        return ClockFit(self._tick_hz, tuple(pieces)) if pieces else None

    def _take_waiting(self) -> None:
        """Centre what waits, and hand it on piece by piece.

        x is device time [s], y is how much more host time than that has passed [ns], both since the origin.
        Differences of integers come first: as a floating-point number a time of 1e18 ns would lose 128 ns.
        """
        if not self._waiting:
            return
        ticks = np.concatenate([t for t, _ in self._waiting])
        host_ns = np.concatenate([h for _, h in self._waiting])
        self._waiting.clear()
        self._n_waiting = 0
        if self._origin is None:
            self._origin = int(ticks[0]), int(host_ns[0])
        elapsed = (ticks - self._origin[0]).astype(np.float64)
        x, y = elapsed / self._tick_hz, (host_ns - self._origin[1]) - elapsed * (1e9 / self._tick_hz)
        while len(x):
            chunk = self.LONG_CHUNK if self._settled else self.CHUNK
            taken = self._take(x[:chunk], y[:chunk])
            x, y = x[taken:], y[taken:]

    def _take(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> int:
        """Take the samples that belong together, ending a piece where one ends; how many were taken."""
        envelope = self._envelope
        if not self._settled:
            envelope.add(x, y)
            return len(x)
        step_ns = max(self._jump_ns, 5.0 * envelope.residual_mean_ns)
        residual = y - envelope.line(x)
        end = next(iter(np.flatnonzero(residual < -step_ns)), len(x))
        if end == 0:  # a jump back
            self._merge_late()
            self._finish()
            return 0
        near = np.flatnonzero(residual[:end] <= step_ns)
        if len(near):
            n = near[-1] + 1
            self._merge_late()
            self._envelope.add(x[:n], y[:n])
        else:
            n = 0
        if n < end:
            self._late = self._late or Envelope(self._max_slope)
            self._late.add(x[n:end], y[n:end])
            if self._late.span_s > self._patience_s:  # a jump forward
                self._finish()
                self._envelope, self._late = self._late, None
        return int(end)

    @property
    def _settled(self) -> bool:
        return self._envelope.n >= self.SETTLED and self._envelope.span_s >= self.SETTLED_S

    def _merge_late(self) -> None:
        """They were only late: part of the piece after all."""
        if self._late is not None:
            self._envelope, self._late = self._envelope.merged(self._late), None

    def _finish(self) -> None:
        if self._envelope.usable:
            self._finished.append(self._piece(self._envelope))
        self._envelope = Envelope(self._max_slope)

    def _piece(self, envelope: Envelope) -> ClockPiece:
        ticks0, host0_ns = self._origin or (0, 0)
        anchor = round(envelope.mean_x * self._tick_hz)
        above_ns = float(envelope.line(np.array([anchor / self._tick_hz]))[0])
        return ClockPiece(
            first_ticks=ticks0 + round(envelope.first_x * self._tick_hz),
            last_ticks=ticks0 + round(envelope.last_x * self._tick_hz),
            anchor_ticks=ticks0 + anchor,
            anchor_ns=host0_ns + round(anchor * (1e9 / self._tick_hz) + above_ns),
            skew=1.0 + envelope.slope * 1e-9,
            n=envelope.n,
            residual_mean_ns=envelope.residual_mean_ns,
            residual_rms_ns=envelope.residual_rms_ns,
            bend_ns=envelope.bend_ns,
        )
