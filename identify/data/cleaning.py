"""Arrays cleaned as recordings are: what cannot be used is left out and counted, nothing is mended.

In this order: rows that are not numbers, rows out of order and repeated stamps, rows and signals that are held, spikes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.data.held_samples import fresh_samples, stale_rows
from heft.identify.data.resampling import at_instants
from heft.identify.data.spikes import spikes
from heft.identify.data.stamp_order import rows_in_order
from heft.identify.errors import DataError

__all__ = ["CleanArrays", "cleaned"]

MOST_LOST = 0.5  # with less than this nothing is identified, as of recordings
SIGNALS = ("q", "tau", "dq", "motor")
NUMBERS = ("base", "imu")  # of a root: only looked through for what is no number
WRENCHES = ("wrench", "wrenches")  # their NaN stay: their rows are the joints', too


@dataclass(frozen=True)
class CleanArrays:
    """Stamps [s] (N,), increasing; tables (N, k) by name; rows left out by reason; notes for the result."""

    t: Array
    tables: Mapping[str, NDArray[Any]]
    removed: Mapping[str, int]
    notes: tuple[str, ...]


def cleaned(t: Array, tables: Mapping[str, NDArray[Any]]) -> CleanArrays:
    """Clean stamps t [s] (T,) and tables (T, k): `q`, `tau`, `dq`, `motor`, `base`, `imu`; and wrenches: NaN stay.

    The caller's own arrays where there is nothing to leave out. `DataError` where too little is left.
    """
    count, removed, notes = len(t), dict[str, int](), list[str]()
    signals = [name for name in SIGNALS if name in tables]
    rows = np.flatnonzero(
        np.isfinite(t)
        & np.all(
            [np.isfinite(tables[name]).all(axis=1) for name in (*signals, *NUMBERS) if name in tables], axis=0
        )
    )
    removed["invalid"] = count - len(rows)
    _check_left(len(rows), count, removed)
    order, disorder = rows_in_order(t[rows])
    removed |= disorder
    moved = int((np.diff(rows[order]) < 0).sum())
    rows = rows[order]
    if moved:
        notes.append(f"rows were out of order at {moved} places: sorted by their stamps")
    whole = len(rows) == count and not moved

    def kept(name: str) -> NDArray[Any]:
        return tables[name] if whole and len(rows) == count else tables[name][rows]

    stale = stale_rows([kept(name) for name in signals])
    removed["held"] = int(stale.sum())
    rows = rows[~stale]
    _check_left(len(rows), count, removed)
    fresh = {name: fresh_samples(kept(name)) for name in signals}
    slowest = min(signals, key=lambda name: int(fresh[name].sum()))
    if not fresh[slowest].all():
        return _resampled(t, tables, rows, fresh, slowest, removed, notes)
    bad = np.zeros(len(rows), dtype=bool)
    for name in signals:
        bad |= spikes(t[rows], kept(name))
    removed["spike"] = int(bad.sum())
    rows = rows[~bad]
    tables, notes = _clean_wrench(t, tables, notes)
    if len(rows) == count and not moved:
        return CleanArrays(t, tables, {}, tuple(notes))
    notes += _left_out(removed, count)
    return CleanArrays(t[rows], {name: table[rows] for name, table in tables.items()}, removed, tuple(notes))


def _resampled(
    t: Array,
    tables: Mapping[str, NDArray[Any]],
    rows: NDArray[np.int64],
    fresh: Mapping[str, NDArray[np.bool_]],
    slowest: str,
    removed: dict[str, int],
    notes: list[str],
) -> CleanArrays:
    """All signals at the instants at which the slowest was measured, each from its own instants."""
    stamps, values = {}, {}
    for name, measured in fresh.items():
        own = rows[measured]
        spiked = spikes(t[own], tables[name][own])
        own = own[~spiked]
        stamps[name], values[name] = t[own], np.asarray(tables[name][own], dtype=np.float64)
        if name == slowest:
            base, removed["spike"] = own, int(spiked.sum())
        elif spiked.any():
            notes.append(f"{int(spiked.sum())} spikes of {name} are left out")
    removed["held"] += int((~fresh[slowest]).sum())
    near, together = np.ones(len(base), dtype=bool), {}
    for name in fresh:
        together[name], known = (
            (values[name], near) if name == slowest else at_instants(t[base], stamps[name], values[name])
        )
        near = near & known
    removed["apart"] = int((~near).sum())
    seconds = float(t[rows[-1]] - t[rows[0]])
    notes += [
        f"{name} is held: it changes {measured.sum() / seconds:.4g} times a second, of {len(rows) / seconds:.4g} "
        "samples; only changes are measurements, and all signals are taken at the slowest one's"
        for name, measured in fresh.items()
        if not measured.all()
    ]
    tables, notes = _clean_wrench(t, tables, notes)
    for name in (*NUMBERS, *WRENCHES):
        if name in tables:
            together[name] = tables[name][base]
    notes += _left_out(removed, len(t))
    return CleanArrays(t[base][near], {name: together[name][near] for name in tables}, removed, tuple(notes))


def _clean_wrench(
    t: Array, tables: Mapping[str, NDArray[Any]], notes: list[str]
) -> tuple[Mapping[str, NDArray[Any]], list[str]]:
    """The tables with NaN where a wrench is infinite or has a spike: its rows are the joints' too, and stay."""
    for name in WRENCHES:
        if name not in tables:
            continue
        parts = []
        for first in range(0, tables[name].shape[1], 6):
            wrench = tables[name][:, first : first + 6]
            known = np.isfinite(wrench).all(axis=1) & np.isfinite(t)
            bad = np.isinf(wrench).any(axis=1)
            bad[np.flatnonzero(known)[spikes(t[known], wrench[known])]] = True
            parts.append(np.where(bad[:, None], np.nan, wrench) if bad.any() else wrench)
            if bad.any():
                notes = [*notes, f"{int(bad.sum())} samples of {name} are left out: spikes, or not finite"]
        tables = {**tables, name: parts[0] if len(parts) == 1 else np.hstack(parts)}
    return tables, notes


def _check_left(left: int, count: int, removed: Mapping[str, int]) -> None:
    if left < (1 - MOST_LOST) * count or left < 2:
        raise DataError(
            f"{count - left} of {count} rows cannot be used ({_listed(removed)}), at most "
            f"{100 * MOST_LOST:.0f} % may be: look at the columns and stamps"
        )


def _left_out(removed: Mapping[str, int], count: int) -> list[str]:
    lost = sum(removed.values())
    return [f"{lost} of {count} rows are left out: {_listed(removed)}"] if lost else []


def _listed(removed: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {why}" for why, n in removed.items() if n)
