"""One quantity of a recorded stream: stamps on the host's clock, clean values, and what was left out."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline

from daq.clockfit import ClockFit, fit_clock
from daq.recording import NO_TIME, Columns, Recording
from daq.ticks import Unwrapper
from drivers.block import Validity
from drivers.stream import Stream
from identify.arrays import Array
from identify.dataset.resampling import MISSING
from identify.errors import DataError

__all__ = ["Series", "read_series"]

UNTIMELY = (Validity.STALE, Validity.CORRUPT, Validity.DUPLICATE)  # stamps that are not to be trusted
SETTLED_S = 1.0  # of a clock between two jumps, before its fit is good
BENT_NS = 50_000  # of a clock that is not a line
SPIKE = 12.0  # robust standard deviations by which a single sample leaves its neighbours
MOST_SPIKES = 0.01  # of the samples: more are no spikes, but how this signal is


@dataclass(frozen=True)
class Series:
    """Stamps [s] (N,), increasing; values in SI units (N, k); nominal rate; samples left out by reason; notes.

    `sent` are all samples of the stream, those lost before the host included: N and those left out.
    """

    name: str
    t: Array
    values: Array
    rate_hz: float
    removed: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    sent: int = 0


def read_series(recording: Recording, stream: Stream, names: list[str]) -> Series:
    """Columns `names` of a stream. Invalid, repeated and outlying samples are left out, never mended."""
    columns = recording.columns(stream.name)
    if len(columns) < 2:
        raise DataError(
            f"{recording.path}: {stream.name} has {len(columns)} samples; was its device connected?"
        )
    values = np.stack([columns[name] for name in names], axis=1)
    valid = np.isfinite(values).all(axis=1)
    removed = {"invalid": int((~valid).sum())}
    stamps, timely, notes = _stamps(columns, stream)
    removed["without a stamp"] = int((valid & ~timely).sum())
    good = np.flatnonzero(valid & timely)
    rows = good[_once(stamps[good])]
    removed["repeated"] = len(good) - len(rows)
    t, kept = stamps[rows].astype(np.float64) * 1e-9, values[rows]
    if len(t) < 2:
        raise DataError(f"{recording.path}: {stream.name} has no two good samples: {_listed(removed)}")
    ages = _ages(columns, stream, names)
    if ages is not None:
        kept, near = _together(t, kept, ages[rows])
        removed["heard apart"] = int((~near).sum())
        t, kept = t[near], kept[near]
    spikes = _spikes(t, kept)
    removed["spike"] = int(spikes.sum())
    if removed["spike"]:
        t, kept = t[~spikes], kept[~spikes]
    lost = sum(count for _, count in columns.gaps)
    removed["lost before the host"] = lost
    sent = len(columns) + lost
    return Series(stream.name, t, kept, stream.rate_hz, removed, tuple(notes), sent)


def _once(stamps: NDArray[np.int64]) -> NDArray[np.intp]:
    """Places of the samples in the order of their stamps, each stamp once."""
    if np.all(np.diff(stamps) > 0):
        return np.arange(len(stamps))
    return np.unique(stamps, return_index=True)[1]


def _stamps(columns: Columns, stream: Stream) -> tuple[NDArray[np.int64], NDArray[np.bool_], list[str]]:
    """Host times [ns] of all samples (N,), which of them are good, and notes."""
    host_ns = columns.host_ns
    if stream.at_request and columns.request_ns is not None:
        host_ns = columns.request_ns
    good = np.asarray(~np.isin(columns.validity, UNTIMELY).any(axis=1))
    if columns.ticks is None or stream.tick_hz is None:
        return host_ns, good, []
    good &= columns.ticks != NO_TIME
    if good.sum() < 2:
        return host_ns, good, []
    out = Unwrapper.of(stream).unwrap(columns.sequence[good], columns.ticks[good])
    fit = fit_clock(out.ticks, host_ns[good], stream.tick_hz, restarts=out.rows.tolist())
    stamps = host_ns.copy()
    stamps[good] = fit.to_host(out.ticks)
    notes = []
    if len(fit.pieces) > 1:
        notes.append(_jumped(stream, fit))
        short = _in_short_pieces(fit, out.ticks, stream.tick_hz)
        good[np.flatnonzero(good)[short]] = False
    elif fit.main.bend_ns > BENT_NS:
        notes.append(
            f"{stream.name}: its clock is no line: up to {fit.main.bend_ns * 1e-6:.2g} ms off; delays move with it"
        )
    return stamps, good, notes


def _ages(columns: Columns, stream: Stream, names: list[str]) -> Array | None:
    """By how much each column was taken before its row's stamp [s] (N, k), where the axes do not sample together."""
    wanted = [f"{name.split('.')[0]}.age" for name in names]
    known = {column.name for column in stream.columns}
    return np.stack([columns[name] for name in wanted], axis=1) if set(wanted) <= known else None


def _together(t: Array, values: Array, ages: Array) -> tuple[Array, NDArray[np.bool_]]:
    """All columns at the stamps t (N,), each from its own instants; and where all have neighbours in time."""
    found, near = np.empty_like(values), np.ones(len(t), dtype=bool)
    far = MISSING * float(np.median(np.diff(t)))
    for k in range(values.shape[1]):
        own, index = np.unique(t - ages[:, k], return_index=True)
        found[:, k] = make_interp_spline(own, values[index, k], k=3)(np.minimum(t, own[-1]))
        after = np.clip(np.searchsorted(own, t), 1, len(own) - 1)
        near &= (own[after] - own[after - 1] <= far) & (t <= own[-1])
    return found, near


def _jumped(stream: Stream, fit: ClockFit) -> str:
    jumps = ", ".join(f"{jump * 1e-6:+.3g}" for jump in fit.jumps_ns[:3])
    return (
        f"{stream.name}: its clock jumped {len(fit.pieces) - 1} times (by {jumps} ms): each part has a fit of its own; "
        f"parts shorter than {SETTLED_S:g} s are left out"
    )


def _in_short_pieces(fit: ClockFit, ticks: NDArray[np.int64], tick_hz: float) -> NDArray[np.bool_]:
    short = np.zeros(len(ticks), dtype=bool)
    for piece in fit.pieces:
        if (piece.last_ticks - piece.first_ticks) / tick_hz < SETTLED_S:
            short |= (ticks >= piece.first_ticks) & (ticks <= piece.last_ticks)
    return short


def _spikes(t: Array, values: Array) -> NDArray[np.bool_]:
    """Single samples far off the line between their neighbours, shape (N,)."""
    found = np.zeros(len(values), dtype=bool)
    if len(values) < 16:
        return found
    off = np.abs(values[1:-1] - 0.5 * (values[:-2] + values[2:]))
    mean = off.mean(axis=0)
    if (off.max(axis=0) <= SPIKE * mean).all():
        return found
    usual = np.maximum(1.4826 * np.median(off, axis=0), mean)
    far = off > SPIKE * usual
    peak = np.ones_like(far)
    peak[1:] &= off[1:] >= off[:-1]
    peak[:-1] &= off[:-1] >= off[1:]
    rare = far.mean(axis=0) <= MOST_SPIKES
    steps = np.diff(t)
    beside = steps <= 1.5 * np.median(steps)  # at a gap, motion alone leaves the line
    found[1:-1] = (far & peak & rare).any(axis=1) & beside[1:] & beside[:-1]
    return found


def _listed(removed: dict[str, int]) -> str:
    return ", ".join(f"{count} {why}" for why, count in removed.items() if count) or "none came"
