"""Dates and times of day as texts, to nanoseconds. Pure."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = ["is_clock_text", "nanoseconds_of"]

_DAY_NS, _SECOND_NS = 86_400_000_000_000, 1_000_000_000
#: A date (year first, or day first with dots) that may be missing, a time of day, a zone that may be missing.
_PATTERN = (
    r"^(?:(?:(?P<year>\d{4})[-/.](?P<month>\d\d?)[-/.](?P<day>\d\d?)"
    r"|(?P<german_day>\d\d?)\.(?P<german_month>\d\d?)\.(?P<german_year>\d{4}))(?:[T_]| +))?"
    r"(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,:](?P<fraction>\d{1,9})\d*)?)"
    r" ?(?:Z|UTC|(?P<zone>[+-]\d\d(?::?\d\d)?))?$"
)
_COMPILED = re.compile(_PATTERN)


def is_clock_text(cell: str) -> bool:
    """Whether a cell is a time of day, with a date or without."""
    return _COMPILED.match(cell.strip().strip('"')) is not None


def nanoseconds_of(column: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Nanoseconds since 1970 (UTC; since midnight without a date) of texts (N,), and which of them are times."""
    texts = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    texts = pc.fill_null(pc.utf8_trim(texts, ' "'), "")
    found = pc.extract_regex(texts, _PATTERN)
    good = np.asarray(pc.is_valid(found).to_numpy(zero_copy_only=False), bool)

    def whole(name: str, other: str | None = None) -> NDArray[np.int64]:
        part = pc.fill_null(pc.struct_field(found, name), "")
        if other is not None:
            part = pc.if_else(pc.equal(part, ""), pc.fill_null(pc.struct_field(found, other), ""), part)
        part = pc.if_else(pc.equal(part, ""), "0", part)
        return np.asarray(part.cast(pa.int64()).to_numpy(zero_copy_only=False), np.int64)

    fraction = pc.utf8_rpad(pc.fill_null(pc.struct_field(found, "fraction"), ""), 9, "0")
    clock_ns = ((whole("hour") * 60 + whole("minute")) * 60 + whole("second")) * _SECOND_NS + np.asarray(
        fraction.cast(pa.int64()).to_numpy(zero_copy_only=False), np.int64
    )
    zone = pc.fill_null(pc.struct_field(found, "zone"), "")
    digits = pc.replace_substring(pc.utf8_slice_codeunits(zone, 1, 6), ":", "")
    digits = np.asarray(
        pc.utf8_rpad(digits, 4, "0").cast(pa.int64()).to_numpy(zero_copy_only=False), np.int64
    )
    ahead = np.where(np.asarray(pc.starts_with(zone, "-").to_numpy(zero_copy_only=False), bool), -1, 1)
    clock_ns -= ahead * (digits // 100 * 60 + digits % 100) * 60 * _SECOND_NS
    year, month, day = (whole(name, f"german_{name}") for name in ("year", "month", "day"))
    dated = year > 0
    good &= ~dated | ((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31))
    days = _days(
        np.where(good & dated, year, 1970), np.where(good & dated, month, 1), np.where(good & dated, day, 1)
    )
    return np.where(good, days * _DAY_NS + clock_ns, 0), good


def _days(year: NDArray[np.int64], month: NDArray[np.int64], day: NDArray[np.int64]) -> NDArray[np.int64]:
    """Days since 1970 of dates."""
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    return np.asarray(months.astype("datetime64[D]").astype(np.int64) + day - 1, np.int64)
