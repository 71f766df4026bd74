"""Values of single columns: garbage, spikes, columns without a signal, clipping, coarse steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.data.spikes import spikes
from heft.identify.diagnosis.finding import Finding, Place, Severity
from heft.identify.diagnosis.log import QUANTITIES, Log, Table

__all__ = ["check_signals", "check_values", "lattice", "without_garbage"]

SIGNALS = ("q", "dq", "tau", "wrench")
ABSURD = 1e3  # times the range of the middle 98 %
FEWEST = 64
SAID, MUCH, MOST = 1e-4, 0.01, 0.3  # of the rows
HAMPEL, LOWER = 8.0, 0.7  # times the usual distance from the median of five, this quantile of them
IMPOSSIBLE = 1e12  # in SI units, of anything that an arm measures
OWN = 0.1  # of a column's range, that a spike has at least
CLIPPED, STEEP, BAND, PLATEAU = 0.002, 4.0, 0.02, 4
LEVELS, FEW_LEVELS = 0.03, 0.1  # of a column's own spread, by which its steps blur it
ACCELERATION, COARSE = 0.05, 0.2  # of the motion's acceleration, by which steps of positions blur it
CUTOFF_HZ = 5.0  # through which that is looked at
WHITE = 1.5  # variance of means over that of white noise: below, there is no signal


def check_signals(log: Log) -> list[Finding]:
    """Whether there is a signal at all: garbage, and columns without any."""
    absurd = {key: _absurd(table.values) for key in SIGNALS if (table := log.get(key)) is not None}
    found = _garbage(log, absurd)
    for key, table, rows in _usable(log, absurd):
        found += _dead(log, key, table, table.values[rows])
    return found


def check_values(log: Log) -> list[Finding]:
    """All tables, column by column."""
    absurd = {key: _absurd(table.values) for key in SIGNALS if (table := log.get(key)) is not None}
    found = _garbage(log, absurd)
    for key, table, rows in _usable(log, absurd):
        t, values = table.t[rows], table.values[rows]
        dead = _dead(log, key, table, values)
        found += dead
        skipped = {one.place.columns[0] for one in dead if one.place is not None}
        found += _spikes(key, table, t, values)
        found += _clipped(key, table, values, skipped)
        found += _coarse(key, table, values, skipped)
    return found


def _usable(
    log: Log, absurd: Mapping[str, NDArray[np.bool_]]
) -> Iterator[tuple[str, Table, NDArray[np.bool_]]]:
    """Key and table of each signal with enough rows that are numbers, and which rows these are (T,)."""
    for key, wild in absurd.items():
        table = log.tables[key]
        rows = np.isfinite(table.values).all(axis=1) & np.isfinite(table.t) & ~wild
        if rows.sum() >= FEWEST:
            yield key, table, rows


def _absurd(values: Array) -> NDArray[np.bool_]:
    """Rows with a number that is no measurement, or with zeros alone in the middle of others, shape (T,)."""
    finite = np.abs(values) < IMPOSSIBLE
    with np.errstate(invalid="ignore"):
        if finite.all():
            low, high = np.quantile(values, [0.01, 0.99], axis=0)
        else:
            low, high = np.nanquantile(np.where(finite, values, np.nan), [0.01, 0.99], axis=0)
        size = np.maximum(high - low, 1e-9)
        wild = np.abs(values - 0.5 * (low + high)) > ABSURD * np.maximum(size, 1e-3 * np.abs(high))
    zeros = (values == 0).all(axis=1)
    lone = zeros & ((~zeros).mean() > 0.9) if values.shape[1] > 1 else np.zeros(len(values), dtype=bool)
    return np.asarray(((wild & (np.abs(values) > 1.0)).any(axis=1)) | lone)


def without_garbage(log: Log) -> Log:
    """The log with rows that hold no measurement as NaN, so that the looks that follow leave them out."""
    signals = {key: table.values for key in SIGNALS if (table := log.get(key)) is not None}
    mended = {key: np.where(_absurd(values)[:, None], np.nan, values) for key, values in signals.items()}
    return log.with_values(**mended)


def _garbage(log: Log, absurd: Mapping[str, NDArray[np.bool_]]) -> list[Finding]:
    found = []
    for key, unusual in absurd.items():
        table = log.tables[key]
        missing = ~np.isfinite(table.values).all(axis=1)
        wild = unusual & ~missing
        if key == "wrench":
            missing &= False  # a wrench may be unknown
        count = int((missing | wild).sum())
        if not count:
            continue
        share = count / len(table)
        severity: Severity = "fatal" if share > MOST else "serious" if share > SAID or wild.any() else "note"
        at = table.t[int(np.argmax(missing | wild))]
        span = (float(at) - 0.5, float(at) + 0.5) if np.isfinite(at) else None
        found.append(
            Finding(
                "garbage_rows",
                severity,
                QUANTITIES[key],
                f"{int(missing.sum())} rows are not numbers and {int(wild.sum())} hold no measurement (beyond "
                f"{ABSURD:g} times the usual range, or zero in every column), of {len(table)}",
                "one such row outweighs all others in a fit",
                "leave these rows out; they are, by `heft import`",
                None,
                70 + 100 * share,
                Place(key, (0,), span),
            )
        )
    return found


def _spikes(key: str, table: Table, t: Array, values: Array) -> list[Finding]:
    order = np.argsort(t, kind="stable")
    found = spikes(t[order], values[order])
    counts = {j: int(_hampel(values[:, j]).sum()) for j in range(values.shape[1])}
    worst = max(counts, key=lambda j: counts[j])
    count = max(int(found.sum()), sum(counts.values()))
    if count < max(1, SAID * len(t)):
        return []
    share = count / len(t)
    rows = _hampel(values[:, worst])
    at = float(t[int(np.argmax(rows))]) if rows.any() else float(t[order][int(np.argmax(found))])
    severity: Severity = "serious" if share > MUCH / 2 else "note"
    return [
        Finding(
            "spikes",
            severity,
            f"{QUANTITIES[key]} of {table.names[worst]}",
            f"{count} samples ({100 * share:.2g} %) leave the signal for a sample or two and come back",
            "corrupt words or lost bits; squared, they outweigh what was measured",
            "leave them out (a fit does where they are few); look at the line and its checksums",
            None,
            44 + 100 * share,
            Place(key, (worst,), (at - 0.1, at + 0.1)),
        )
    ]


def _hampel(x: Array) -> NDArray[np.bool_]:
    """Samples far from the median of the five around, by the scatter of these distances, shape (T,)."""
    around = np.lib.stride_tricks.sliding_window_view(x, 5)
    middle = np.median(around, axis=1)
    away = np.abs(x[2:-2] - middle)
    steps = np.abs(np.diff(x))
    quantum = float(np.min(steps, initial=np.inf, where=steps > 0))
    kept = away[away > 0]
    usual = float(np.quantile(kept, LOWER)) if len(kept) else 0.0
    low, high = np.quantile(x, [0.02, 0.98])
    out = np.zeros(len(x), dtype=bool)
    out[2:-2] = away > max(
        HAMPEL * max(usual, quantum if np.isfinite(quantum) else 0.0), OWN * float(high - low)
    )
    return out if out.mean() < 0.2 else np.zeros(len(x), dtype=bool)


def _dead(log: Log, key: str, table: Table, values: Array) -> list[Finding]:
    """Columns that are constant, or noise alone, although their joint moves."""
    found = []
    q = log.tables["q"].values
    travel = (
        np.ptp(np.where(np.isfinite(q), q, np.nan), axis=0)
        if np.isfinite(q).all()
        else np.nanmax(q, axis=0) - np.nanmin(q, axis=0)
    )
    moved = travel > 0.02 * max(float(travel.max()), 1e-12)
    for j in range(values.shape[1]):
        x = values[:, j]
        own = key == "wrench" or (j < len(moved) and bool(moved[j]))
        constant = float(np.ptp(x)) <= 1e-12 * max(1.0, float(np.abs(x).max()))
        if key == "q":
            dq = log.get("dq")
            if not constant or dq is None or float(np.nanstd(dq.values[:, j])) < 1e-3:
                continue
        elif not (constant and (own or key == "tau")) and not (own and key == "tau" and _noise_alone(x)):
            continue
        what = (
            f"is {x[0]:.4g} throughout"
            if constant
            else (
                f"is white noise of {float(np.std(x)):.3g} around {float(np.mean(x)):.3g}: its means over "
                "0.1 to 1 s vary as "
                "those of noise do"
            )
        )
        severity: Severity = "fatal" if key == "q" else "serious"
        found.append(
            Finding(
                "dead_column",
                severity,
                f"{QUANTITIES[key]} of {table.names[j]}",
                f"the column {what}",
                "nothing of this joint can be identified from it",
                "find the column that was meant, or leave the joint's torque out (--set unmeasured=JOINT)"
                if key == "tau"
                else "find the column that was meant, or leave the joint out (lock it in the model)",
                None,
                150.0,
                Place(key, (j,)),
            )
        )
    return found


def _noise_alone(x: Array) -> bool:
    """Whether means over stretches of several lengths vary as those of white noise do."""
    ratios = []
    for size in (max(8, len(x) // 200), max(16, len(x) // 50)):
        count = len(x) // size
        if count < 12:
            return False
        means = x[: count * size].reshape(count, size).mean(axis=1)
        ratios.append(float(means.var()) * size / max(float(x.var()), 1e-300))
    return all(ratio < WHITE * (1 + 4 * np.sqrt(2 / 50)) for ratio in ratios)


def _clipped(key: str, table: Table, values: Array, skipped: set[int]) -> list[Finding]:
    """Columns that stand at their largest or smallest value."""
    if key == "q":
        return []
    found = []
    for j in range(values.shape[1]):
        x = values[:, j]
        size = float(np.ptp(x))
        if j in skipped or size <= 0:
            continue
        steps = np.abs(np.diff(x))
        repeats = float((steps == 0).mean())
        quantum = float(np.min(steps, initial=np.inf, where=steps > 0))
        band = max(BAND * size, 1.5 * quantum)
        best, where = 0, 0.0
        for end, gap in ((float(x.max()), x.max() - x), (float(x.min()), x - x.min())):
            at_end = gap <= 1e-9 * size
            near = int((gap <= band).sum())
            runs = _runs(at_end)
            plateaus = int((runs >= PLATEAU).sum())
            enough = at_end.sum() >= max(20, CLIPPED * len(x)) and at_end.sum() > STEEP * (
                near - at_end.sum()
            )
            elsewhere = float(((steps == 0) & ~at_end[1:]).mean())
            stands = (
                plateaus >= 2
                and elsewhere < 0.2
                and runs.max(initial=0) > 4 * max(1.0, _usual_run(x, at_end))
            )
            rest = (
                repeats - at_end.mean() > 0.05
                and plateaus == 1
                and runs.max() > 0.9 * at_end.sum()
                and runs.max() > 0.02 * len(x)
            )
            if (enough or stands) and not rest and int(at_end.sum()) > best:
                best, where = int(at_end.sum()), end
        if best:
            share = best / len(x)
            severity: Severity = "serious" if share > CLIPPED else "note"
            at = float(table.t[np.isfinite(table.t)][int(np.argmin(np.abs(x - where)))])
            found.append(
                Finding(
                    "saturation",
                    severity,
                    f"{QUANTITIES[key]} of {table.names[j]}",
                    f"it stands at its extreme value {where:.4g} in {best} samples ({100 * share:.2g} %)",
                    "what was beyond is missing: torques there are too small, and parameters with them",
                    "widen the range, or move slower; leave these samples out",
                    None,
                    80 + 100 * share,
                    Place(key, (j,), (at - 1.0, at + 1.0)),
                )
            )
    return found


def _usual_run(x: Array, at_end: NDArray[np.bool_]) -> float:
    """Longest usual run of equal samples away from the extreme."""
    runs = _runs(np.concatenate([[False], np.diff(x) == 0]) & ~at_end)
    return float(np.quantile(runs, 0.99)) if len(runs) else 1.0


def _runs(flags: NDArray[np.bool_]) -> NDArray[np.int64]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return np.asarray(edges[1::2] - edges[::2])


def _coarse(key: str, table: Table, values: Array, skipped: set[int]) -> list[Finding]:
    """Steps that are coarse beside the signal, or beside the acceleration it has to give."""
    worst: tuple[float, int, float] | None = None
    rate = 1 / table.step_s
    for j in range(values.shape[1]):
        x = values[:, j]
        step = lattice(x)
        if j in skipped or step is None or float(np.ptp(x)) <= 0:
            continue
        noise = step / np.sqrt(12)
        if key == "q":
            size = max(1, round(rate / (4 * CUTOFF_HZ)))
            means = x[: len(x) // size * size].reshape(-1, size).mean(axis=1)
            bend = np.diff(means, 2) * (rate / size) ** 2
            gain = (2 * np.pi * CUTOFF_HZ) ** 2 * np.sqrt(min(1.0, 2 * CUTOFF_HZ / (5 * rate)))
            share = noise * gain / max(float(np.std(bend)), 1e-300) * (LEVELS / ACCELERATION)
            if float(np.ptp(x)) < 20 * step:
                continue  # it hardly moves: told as that
        else:
            share = noise / max(float(np.std(x)), 1e-300)
        if worst is None or share > worst[0]:
            worst = (share, j, step)
    if worst is None or worst[0] < LEVELS:
        return []
    share, j, step = worst
    severity: Severity = "serious" if share > FEW_LEVELS else "note"
    blurred = (
        f"{100 * share * ACCELERATION / LEVELS:.2g} % of its acceleration"
        if key == "q"
        else f"{100 * share:.2g} % of its own spread"
    )
    return [
        Finding(
            "quantisation",
            severity,
            f"{QUANTITIES[key]} of {table.names[j]}",
            f"it comes in steps of {step:.4g}, {float(np.ptp(values[:, j])) / step:.4g} of them in its whole range: "
            f"noise of {blurred}",
            "friction and small torques drown in the steps",
            "log more digits, or measure with a finer sensor",
            None,
            30 + share,
            Place(key, (j,)),
        )
    ]


def lattice(x: Array) -> float | None:
    """The step of a signal whose values are multiples of one; None where they are not."""
    levels = np.unique(x)
    if len(levels) < 3 or len(levels) > 0.2 * len(x):
        return None
    gaps = np.diff(levels)
    step = float(np.quantile(gaps[gaps > 1e-9 * np.ptp(x)], 0.1)) if (gaps > 1e-9 * np.ptp(x)).any() else 0.0
    if step <= 0:
        return None
    off = (levels - levels[0]) / step
    return step if float(np.mean(np.abs(off - np.round(off)) < 0.05)) > 0.9 else None
