"""One quantity of a recorded stream: stamps on the host's clock, clean values, and what was left out."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline

from heft.daq.recording import Columns, Recording
from heft.daq.stamps import SETTLED_S, ClockFit, stamps_of
from heft.drivers.stream import Stream
from heft.identify.bodies.arrays import Array
from heft.identify.data.held_samples import fresh_samples
from heft.identify.data.resampling import MISSING
from heft.identify.data.spikes import spikes
from heft.identify.errors import DataError

__all__ = ["Series", "read_series"]

BENT_NS = 50_000  # of a clock that is not a line


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
    """Columns `names` of a stream. Invalid, repeated, held and outlying samples are left out, never mended."""
    columns = recording.columns(stream.name)
    if len(columns) < 2:
        raise DataError(
            f"{recording.path}: {stream.name} has {len(columns)} samples; was its device connected?"
        )
    values = np.stack([columns[name] for name in names], axis=1)
    valid = np.asarray(np.isfinite(values).all(axis=1))
    removed = {"invalid": int((~valid).sum())}
    stamps = stamps_of(columns)
    removed["without a stamp"] = int((valid & ~stamps.good).sum())
    rows = stamps.rows(valid)
    removed["repeated"] = int((valid & stamps.good).sum()) - len(rows)
    t, kept = stamps.seconds(rows), values[rows]
    if len(t) < 2:
        raise DataError(f"{recording.path}: {stream.name} has no two good samples: {_listed(removed)}")
    ages = _ages(columns, stream, names)
    if ages is not None:
        kept, near = _together(t, kept, ages[rows])
        removed["heard apart"] = int((~near).sum())
        t, kept = t[near], kept[near]
    measured = fresh_samples(kept)
    removed["held"] = int((~measured).sum())
    if removed["held"]:
        t, kept = t[measured], kept[measured]
    spiked = spikes(t, kept)
    removed["spike"] = int(spiked.sum())
    if removed["spike"]:
        t, kept = t[~spiked], kept[~spiked]
    lost = sum(count for _, count in columns.gaps)
    removed["lost before the host"] = lost
    sent = len(columns) + lost
    return Series(stream.name, t, kept, stream.rate_hz, removed, _clock_notes(stream, stamps.fit), sent)


def _clock_notes(stream: Stream, fit: ClockFit | None) -> tuple[str, ...]:
    """What a clock did that its stamps suffer from."""
    if fit is None:
        return ()
    if len(fit.pieces) > 1:
        jumps = ", ".join(f"{jump * 1e-6:+.3g}" for jump in fit.jumps_ns[:3])
        return (
            f"{stream.name}: its clock jumped {len(fit.pieces) - 1} times (by {jumps} ms): each part has a fit of its "
            f"own; parts shorter than {SETTLED_S:g} s are left out",
        )
    if fit.main.bend_ns > BENT_NS:
        return (
            f"{stream.name}: its clock is no line: up to {fit.main.bend_ns * 1e-6:.2g} ms off; delays move with it",
        )
    return ()


def _ages(columns: Columns, stream: Stream, names: list[str]) -> Array | None:
    """Age of each column at its row's stamp [s] (N, k); None where all axes are sampled together."""
    wanted = [f"{name.split('.')[0]}.age" for name in names]
    known = {column.name for column in stream.columns}
    return np.stack([columns[name] for name in wanted], axis=1) if set(wanted) <= known else None


def _together(t: Array, values: Array, ages: Array) -> tuple[Array, NDArray[np.bool_]]:
    """All columns at the stamps t (N,), each from its own instants; and where all have neighbours in time."""
    together, near = np.empty_like(values), np.ones(len(t), dtype=bool)
    far = MISSING * float(np.median(np.diff(t)))
    for k in range(values.shape[1]):
        own, index = np.unique(t - ages[:, k], return_index=True)
        together[:, k] = make_interp_spline(own, values[index, k], k=3)(np.minimum(t, own[-1]))
        after = np.clip(np.searchsorted(own, t), 1, len(own) - 1)
        near &= (own[after] - own[after - 1] <= far) & (t <= own[-1])
    return together, near


def _listed(removed: dict[str, int]) -> str:
    return ", ".join(f"{count} {why}" for why, count in removed.items() if count) or "none came"
