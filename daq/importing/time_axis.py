"""Stamps of rows on the host's axis of time, run after run, and how that axis stands to UTC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.daq.errors import ConfigError, ImportFileError
from heft.daq.importing.import_map import ImportMap
from heft.daq.importing.table import NO_TIME, Batch, Column, Table
from heft.daq.importing.units import to_si

__all__ = ["HOST_START_NS", "Stamped", "TimeAxis"]

#: Host time of the first row [ns]. Stamps that jump back, by up to eleven days, still are positive.
HOST_START_NS = 1_000_000_000_000_000
GAP_NS = 2_000_000_000  # between runs whose times do not tell their distance
EPOCH_NS = (978_307_200_000_000_000, 4_102_444_800_000_000_000)  # years 2001 to 2100
SAME_CLOCK_NS = 5_000_000_000
HEADER, RECEIVED = "header.stamp", "received"


@dataclass(frozen=True, eq=False)
class Stamped:
    """Rows with a time: which of the batch (M,), host times (M,) [ns], the device's own on the same axis, or None."""

    rows: NDArray[np.intp]
    host_ns: NDArray[np.int64]
    device_ns: NDArray[np.int64] | None


class TimeAxis:
    """Lays the runs of a file one after the other. `file_utc_ns` is when the file was written, for want of better."""

    def __init__(self, mapped: ImportMap, tables: Sequence[Table], file_utc_ns: int) -> None:
        if mapped.rate_hz is None and mapped.time is None:
            raise ConfigError(
                "the map has neither `time` nor `rate_hz`; say which column the time is, or the rate"
            )
        self._map = mapped
        self._tables = {table.name: table for table in tables}
        self._shift: dict[str, int] = {}  # of each run: host time = time in the file + this
        self._end_ns = HOST_START_NS - GAP_NS
        self.spans: dict[str, tuple[int, int]] = {}  # host times of the first and the last row of each run
        first_ns = self._first_ns(tables)
        self.dated = EPOCH_NS[0] < first_ns < EPOCH_NS[1]
        #: UTC minus host time [ns].
        self.utc_offset_ns = (first_ns if self.dated else file_utc_ns) - HOST_START_NS
        self._first = first_ns
        self._device_shift: dict[str, int] = {}

    @property
    def columns(self) -> tuple[str, ...]:
        """Arrays that times are in."""
        time = self._map.time
        if self._map.rate_hz is not None or time is None or time.column in (HEADER, RECEIVED):
            return ()
        names = (time.column, time.nanoseconds, time.host)
        return tuple(self._column(name).array for name in names if name is not None)

    def rate_hz(self, table: Table) -> float:
        """The usual rate of a table's rows [Hz], from its first ones."""
        if self._map.rate_hz is not None:
            return self._map.rate_hz
        ns = self._file_ns(table.head)[0]
        steps = np.diff(ns[ns != NO_TIME])
        steps = steps[steps > 0]
        if not len(steps):
            raise ImportFileError(
                f"the times of {table.name or 'the rows'} do not rise; is it the right column? "
                "Say so in a map (`time`), or give `rate_hz`"
            )
        usual = float(np.median(steps))
        mean = float(steps.mean())
        return 1e9 / (mean if usual < mean / 2 else usual)

    def stamp(self, batch: Batch) -> Stamped:
        """Times of a batch's rows; those without one are left out."""
        file_ns, device_ns = self._file_ns(batch)
        rows = np.flatnonzero(file_ns != NO_TIME)
        if not len(rows):
            return Stamped(rows, file_ns[rows], None)
        if batch.run not in self._shift:
            self._begin(batch.run, int(file_ns[rows[0]]))
        host_ns = file_ns[rows] + self._shift[batch.run]
        good = host_ns > 0
        rows, host_ns = rows[good], host_ns[good]
        if not len(rows):
            return Stamped(rows, host_ns, None)
        low, high = int(host_ns.min()), int(host_ns.max())
        before = self.spans.get(batch.run, (low, high))
        self.spans[batch.run] = min(before[0], low), max(before[1], high)
        self._end_ns = max(self._end_ns, high)
        if device_ns is None:
            return Stamped(rows, host_ns, None)
        device_ns = device_ns[rows]
        if batch.table not in self._device_shift:
            late = file_ns[rows] - device_ns
            same = abs(int(np.median(late))) < SAME_CLOCK_NS
            self._device_shift[batch.table] = 0 if same else int(late.min())
        return Stamped(rows, host_ns, device_ns + self._device_shift[batch.table] + self._shift[batch.run])

    def next_file(self) -> None:
        """Runs of another file follow, whatever they are called."""
        self._shift.clear()
        self._device_shift.clear()
        self.spans = {}

    def _begin(self, run: str, first_ns: int) -> None:
        """Place a run: as its dates say, or behind the one before."""
        as_dated = first_ns - self._first + HOST_START_NS
        dated = self.dated and EPOCH_NS[0] < first_ns < EPOCH_NS[1]
        if dated and as_dated > self._end_ns:
            self._shift[run] = HOST_START_NS - self._first
        elif not self.spans and self._end_ns < HOST_START_NS:
            self._shift[run] = HOST_START_NS - (self._first if self._tables.keys() != {""} else first_ns)
        else:
            self._shift[run] = self._end_ns + GAP_NS - first_ns

    def _first_ns(self, tables: Sequence[Table]) -> int:
        firsts = []
        for table in tables:
            ns = self._file_ns(table.head)[0]
            ns = ns[ns != NO_TIME]
            if len(ns):
                firsts.append(int(ns[0]))
        if not firsts:
            raise ImportFileError("no row has a time; is it the right column? Say so in a map (`time`)")
        return min(firsts)

    def _file_ns(self, batch: Batch) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
        """Times of rows as the file has them [ns]: the host's, and the device's where there are both."""
        time = self._map.time
        if self._map.rate_hz is not None:
            return np.round(batch.rows * (1e9 / self._map.rate_hz)).astype(np.int64), None
        assert time is not None
        if batch.received_ns is not None and time.column in (HEADER, RECEIVED):
            stamped = self._tables[batch.table].head.stamped_ns is not None and time.column == HEADER
            own_ns = batch.received_ns if batch.stamped_ns is None else batch.stamped_ns
            return batch.received_ns, own_ns if stamped else None
        if time.column in (HEADER, RECEIVED):
            raise ConfigError(f"time.column: {time.column} is for bags; name a column of this file")
        own = _ns(batch.column(self._column(time.column)), time.unit)
        if time.nanoseconds is not None:
            more = _ns(batch.column(self._column(time.nanoseconds)), "ns")
            own = np.where((own == NO_TIME) | (more == NO_TIME), NO_TIME, own + more)
        if time.host is None:
            return own, None
        return _ns(batch.column(self._column(time.host)), time.host_unit), own

    def _column(self, name: str) -> Column:
        for table in self._tables.values():
            found = table.find(name)
            if len(found) == 1:
                return found[0]
        known = ", ".join(dict.fromkeys(c.array for t in self._tables.values() for c in t.columns))
        raise ConfigError(f"time.column: no column {name!r}; there are: {known[:400]}")


def _ns(values: NDArray[Any], unit: str) -> NDArray[np.int64]:
    """Whole nanoseconds of times in a unit; `NO_TIME` where there is none."""
    factor = to_si("time", unit)[0] * 1e9
    if values.dtype.kind in "iu":
        whole = values.astype(np.int64)
        return np.where(whole == NO_TIME, NO_TIME, whole * np.int64(round(factor)))
    with np.errstate(over="ignore"):  # beyond all doubles: no time
        wide = values.astype(np.float64) * factor
    good = np.isfinite(wide) & (np.abs(wide) < 9e18)
    if good.all():
        return np.rint(wide).astype(np.int64)
    return np.where(good, np.rint(np.where(good, wide, 0.0)), 0.0).astype(np.int64) + np.where(
        good, 0, NO_TIME
    )
