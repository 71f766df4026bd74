"""Samples that are no measurements: rows that repeat, signals that are held, streams that are slower than their log."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.data.held_samples import fresh_samples, stale_rows
from heft.identify.diagnosis.finding import Finding, Place, Severity
from heft.identify.diagnosis.log import QUANTITIES, Log, Table
from heft.identify.diagnosis.values import lattice

__all__ = ["check_holds"]

SIGNALS = ("q", "dq", "tau", "wrench")
SAID, MUCH = 0.002, 0.02  # of the rows that repeat the one before
LONG_HOLD = 0.3  # of a column's samples in motion that repeat the one before, beyond what its steps explain
STRAIGHT = 1e-6  # of a signal's step: second differences below are an interpolation
FINE = 8.0  # steps of a sensor, that most of a held signal's jumps are above
FEWEST = 64


def check_holds(log: Log) -> list[Finding]:
    """Stale rows of all tables together, then what each table holds by itself."""
    found = _stale(log)
    for key in SIGNALS:
        table = log.get(key)
        if table is None or len(table) < FEWEST:
            continue
        held = _regular(key, table) or _interpolated(key, table)
        found += held or ([] if found else _columns(log, key, table))
    return found


def _stale(log: Log) -> list[Finding]:
    q = log.tables["q"]
    tables = [log.tables[k].values for k in SIGNALS if k in log.tables and len(log.tables[k]) == len(q)]
    finite = np.all([np.isfinite(one).all(axis=1) for one in tables], axis=0)
    if finite.sum() < FEWEST:
        return []
    stale = stale_rows([one[finite] for one in tables])
    same = _same_rows([one[finite] for one in tables])
    moving = _moving(q.values[finite])
    rows = stale | (same & moving)
    share = float(rows.mean())
    if share < SAID and rows.sum() < 3:
        return []
    if all(not fresh_samples(one[finite]).all() for one in tables):
        return []  # all streams are regularly held: told as such
    at = float(q.t[finite][int(np.argmax(rows))])
    severity: Severity = "serious" if share > MUCH else "note"
    longest = _longest(rows)
    return [
        Finding(
            "stale_rows",
            severity,
            "all columns",
            f"{int(rows.sum())} rows ({100 * share:.2g} %) repeat the one before in every column while "
            "the arm moves, "
            f"up to {longest} in a row",
            "a value that was lost is passed off as a measurement: derivatives there are zero, then too large",
            "leave repeated rows out, or let the driver write nothing where nothing came",
            None,
            45 + 100 * share,
            Place("q", (int(np.argmax(np.ptp(q.values[finite], axis=0))),), (at - 0.2, at + 0.2)),
        )
    ]


def _regular(key: str, table: Table) -> list[Finding]:
    """A whole table that changes every k-th row only."""
    good = np.isfinite(table.values).all(axis=1)
    fresh = fresh_samples(table.values[good])
    if fresh.all():
        return []
    step = float(np.median(np.diff(np.flatnonzero(fresh))))
    logged = 1 / table.step_s
    true = logged / step
    name = table.stream or QUANTITIES[key]
    severity: Severity = "serious" if step >= 3 else "note"
    at = float(np.nanmedian(table.t))
    place = Place(
        key, (int(np.argmax(np.ptp(table.values[good], axis=0))),), (at, at + 12 * step * table.step_s)
    )
    text = f"it changes every {step:.3g} rows: measured at {true:.4g} samples/s, logged at {logged:.4g}"
    return [
        Finding(
            "slow_stream",
            severity,
            name,
            text,
            "its bandwidth is that of the slower rate, and between measurements it is late by up to a whole interval",
            "give each measurement once, with its own time; only changes are used",
            None,
            42 + step,
            place,
        ),
        Finding(
            "held_samples",
            severity,
            name,
            f"zero-order hold over {step:.3g} rows",
            "derivatives of a held signal are needles, and on average it is late by half the hold",
            "give each measurement once, with its own time; only changes are used",
            None,
            41 + step,
            place,
        ),
    ]


def _interpolated(key: str, table: Table) -> list[Finding]:
    """A whole table that runs along straight lines between every k-th row."""
    values = table.values[np.isfinite(table.values).all(axis=1)]
    if len(values) < FEWEST or not np.isfinite(table.step_s):
        return []
    steps = np.diff(values, axis=0)
    bends = np.abs(np.diff(steps, axis=0))
    typical = np.quantile(np.abs(steps), 0.9, axis=0)
    live = typical > 0
    if not live.any():
        return []
    moving = (np.abs(steps[1:]) > 0.01 * typical)[:, live].any(axis=1)
    straight = (bends[:, live] < np.maximum(STRAIGHT * typical[live], 1e-14)).all(axis=1) & moving
    knots = np.flatnonzero(moving & ~straight)
    if straight.sum() < 0.4 * moving.sum() or len(knots) < 16:
        return []
    gaps = np.diff(knots)
    usual = float(np.median(gaps))
    if usual < 2 or float(np.mean(np.abs(gaps - usual) <= 1)) < 0.6:
        return []
    logged = 1 / table.step_s
    return [
        Finding(
            "slow_stream",
            "serious",
            table.stream or QUANTITIES[key],
            f"it runs along straight lines of {usual:.3g} rows: measured at {logged / usual:.4g} samples/s, "
            f"logged at {logged:.4g}",
            "its bandwidth is that of the slower rate, and its noise looks smaller than it is",
            "give the measurements as they came, with their own times",
            None,
            40.0,
            Place(key),
        )
    ]


def _columns(log: Log, key: str, table: Table) -> list[Finding]:
    """Single columns that are held while others change."""
    values = table.values[np.isfinite(table.values).all(axis=1)]
    moving = _moving(log.tables["q"].values[np.isfinite(log.tables["q"].values).all(axis=1)])
    if len(moving) != len(values):
        moving = np.ones(len(values), dtype=bool)
    found = []
    same = np.concatenate([np.zeros((1, values.shape[1]), dtype=bool), np.diff(values, axis=0) == 0])
    shares = same[moving].mean(axis=0) if moving.any() else np.zeros(values.shape[1])
    for j, share in enumerate(shares.tolist()):
        jumps = np.abs(np.diff(values[:, j]))
        jumps = jumps[jumps > 0]
        if share < LONG_HOLD or len(jumps) < 16:
            continue
        step = lattice(values[:, j])
        if step is not None and float(np.quantile(jumps, 0.9)) < FINE * step:
            continue  # steps of the sensor: quantisation
        runs = _run_lengths(same[:, j])
        found.append(
            Finding(
                "held_samples",
                "serious" if share > 0.6 else "note",
                f"{QUANTITIES[key]} of {table.names[j]}",
                f"{100 * share:.0f} % of its samples repeat the one before while the arm moves, "
                f"{float(np.mean(runs)):.2g} in a row on average",
                "derivatives of a held signal are needles, and on average it is late by half the hold",
                "give each measurement once, with its own time",
                None,
                38.0,
                Place(key, (j,)),
            )
        )
    return found


def _same_rows(tables: list[Array]) -> NDArray[np.bool_]:
    same = np.ones(len(tables[0]) - 1, dtype=bool)
    for one in tables:
        same &= (one[1:] == one[:-1]).all(axis=1)
    return np.concatenate([[False], same])


def _moving(q: Array, reach: int = 25) -> NDArray[np.bool_]:
    """Rows around which some joint moves at over a twentieth of its usual top speed, shape (T,)."""
    if len(q) < 2 * reach + 2:
        return np.zeros(len(q), dtype=bool)
    speed = np.zeros(q.shape)
    speed[reach:-reach] = np.abs(q[2 * reach :] - q[: -2 * reach])
    top = np.quantile(speed, 0.95, axis=0)
    return np.asarray((speed > 0.2 * np.where(top > 0, top, np.inf)).any(axis=1))


def _run_lengths(flags: NDArray[np.bool_]) -> NDArray[np.int64]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return np.asarray(edges[1::2] - edges[::2])


def _longest(flags: NDArray[np.bool_]) -> int:
    runs = _run_lengths(flags)
    return int(runs.max()) if len(runs) else 0
