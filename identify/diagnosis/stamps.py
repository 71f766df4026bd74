"""Stamps: missing, repeated, backward, uneven; gaps; a rate that is not the stated one; two clocks that drift apart."""

from __future__ import annotations

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.diagnosis.finding import Finding, Place, Severity
from heft.identify.diagnosis.log import Log, Table

__all__ = ["check_stamps", "streams_of"]

LOST = 1.5  # usual intervals: longer, and a sample is missing
SAID, MUCH, MOST = 0.001, 0.01, 0.5  # of the samples
LONG_S = 0.1  # a gap through which an arm's motion cannot be bridged
JITTER = 0.1  # of an interval: stamps of arrival, not of measurement
RATE_OFF = 0.01  # of the stated rate
DRIFT = 3e-4  # of two clocks: quartz is within 1e-4
DRIFTED_S = 2e-3  # over the log


def streams_of(log: Log) -> list[tuple[str, Table]]:
    """Tables with stamps of their own: of several that share them, the first."""
    seen: list[tuple[str, Table]] = []
    for key, table in log.tables.items():
        if not any(table.t is one.t or np.array_equal(table.t, one.t, equal_nan=True) for _, one in seen):
            seen.append((key, table))
    return seen


def check_stamps(log: Log) -> list[Finding]:
    """Of every stream with stamps of its own."""
    found: list[Finding] = []
    for key, table in streams_of(log):
        name = table.stream or key
        order = _order(name, key, table)
        found += order
        if any(one.severity == "fatal" for one in order):
            continue
        found += [*_gaps(name, key, table, log.breaks), *_drift(name, key, table)]
    q = log.get("q")
    if q is not None and log.rate_hz and np.isfinite(q.step_s):
        found += _stated(log.rate_hz, q)
    return found


def _order(name: str, key: str, table: Table) -> list[Finding]:
    t = table.t
    bad = int((~np.isfinite(t)).sum())
    steps = np.diff(t[np.isfinite(t)])
    same, back = int((steps == 0).sum()), int((steps < 0).sum())
    usual = table.step_s
    if not np.isfinite(usual):
        return [_stamps(name, key, "fatal", f"no two of {len(t)} stamps increase", 1.0)]
    share = (bad + same + back) / len(t)
    found = []
    if bad + same + back:
        severity: Severity = "fatal" if share > MOST else "serious" if share > SAID or back else "note"
        text = f"{same} stamps repeat the one before, {back} go backward, {bad} are no numbers, of {len(t)}"
        at = float(t[np.isfinite(t)][int(np.argmax(steps <= 0))]) if same + back else None
        found.append(_stamps(name, key, severity, text, share, at))
    forward = steps[(steps > 0) & (steps < LOST * usual)]
    spread = float(np.std(forward)) / usual if len(forward) > FEW else 0.0
    if spread > JITTER and not found:
        text = (
            f"intervals of {1e3 * usual:.4g} ms scatter by {100 * spread:.0f} % (bound {100 * JITTER:.0f} %)"
        )
        found.append(_stamps(name, key, "note", text, spread))
    return found


FEW = 32  # intervals


def _stamps(
    name: str, key: str, severity: Severity, evidence: str, weight: float, at: float | None = None
) -> Finding:
    return Finding(
        "stamps",
        severity,
        name,
        evidence,
        "velocities and accelerations are differences over these intervals",
        "give the stamps of the device instead of those of arrival, one per sample, in order; or a rate",
        None,
        100 + weight,
        Place(key, (0,), None if at is None else (at - 0.5, at + 0.5)),
    )


def _gaps(name: str, key: str, table: Table, breaks: tuple[float, ...]) -> list[Finding]:
    t = np.unique(table.t[np.isfinite(table.t)])
    steps, usual = np.diff(t), table.step_s
    for start in breaks:  # the interval that ends where a segment begins is none
        place = int(np.searchsorted(t, start - 0.5 * usual))
        if 0 < place < len(t):
            steps[place - 1] = usual
    wide = steps[steps > LOST * usual]
    if not len(wide):
        return []
    missing = float((wide / usual - 1).sum())
    share, longest = missing / (len(t) + missing), float(wide.max())
    if share < SAID and longest < LONG_S:
        return []
    at = float(t[int(np.argmax(steps))])
    severity: Severity = "serious" if share > MUCH or longest > LONG_S else "note"
    text = (
        f"{len(wide)} intervals are longer than {LOST:g} times the usual {1e3 * usual:.4g} ms, the longest "
        f"{1e3 * longest:.3g} ms: {100 * share:.2g} % of the samples are missing"
    )
    return [
        Finding(
            "gaps",
            severity,
            name,
            text,
            "samples were lost; a grid of even steps through them has a wrong rate, and derivatives there are wrong",
            "use the recorded stamps, never a uniform grid; record on a better line",
            None,
            60 + 100 * share,
            Place(key, (0,), (at - 0.3, at + longest + 0.3)),
        )
    ]


def _stated(rate_hz: float, q: Table) -> list[Finding]:
    stamped = 1 / q.step_s
    if abs(np.log(rate_hz / stamped)) < RATE_OFF:
        return []
    text = f"the file states {rate_hz:.6g} samples/s, its stamps have {stamped:.6g}"
    return [
        Finding(
            "rate_mismatch",
            "serious",
            "time",
            text,
            "inertias go with the square of the rate, viscous friction with the rate",
            "find out which is right: compare the duration with a watch",
            None,
            200.0,
            Place("q"),
        )
    ]


def _drift(name: str, key: str, table: Table) -> list[Finding]:
    """Of two stamps of the same samples."""
    if table.host is None:
        return []
    good = np.isfinite(table.t) & np.isfinite(table.host)
    t, host = table.t[good], table.host[good]
    if len(t) < FEW or np.ptp(t) <= 0:
        return []
    slope, away = _lower_line(t, host - t)
    drifted = abs(slope) * float(np.ptp(t))
    if abs(slope) < DRIFT or drifted < DRIFTED_S:
        return []
    text = (
        f"its two clocks drift apart by {1e6 * slope:.3g} ppm, {1e3 * drifted:.3g} ms over the log (scatter "
        f"{1e3 * away:.2g} ms)"
    )
    severity: Severity = "serious" if abs(slope) > 10 * DRIFT else "note"
    return [
        Finding(
            "clock_drift",
            severity,
            name,
            text,
            "streams that are stamped by different clocks come apart with time",
            "use one clock for all streams, or map device time to host time by a line",
            None,
            50.0,
            Place(key),
        )
    ]


def _lower_line(t: Array, late: Array) -> tuple[float, float]:
    """Slope of the lower envelope of lateness over time, which arrival jitter does not reach, and the scatter [s]."""
    parts = np.array_split(np.arange(len(t)), 16)
    x = np.array([t[part].mean() for part in parts])
    y = np.array([np.quantile(late[part], 0.1) for part in parts])
    slope, start = np.polyfit(x - x[0], y, 1)
    return float(slope), float(np.std(y - start - slope * (x - x[0])))
