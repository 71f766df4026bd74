"""Which column is the time, in which unit, and what else states the rate."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heft.daq.importing.guessing.names import HOST, TIME, hints_of, words_of
from heft.daq.importing.table import ABSURD, Batch, Column, Table
from heft.daq.importing.units import known_unit, to_si

__all__ = ["TimeGuess", "guess_time", "stated_rate"]

RISING = 0.9  # share of steps that go on: stamps may repeat or jump back now and then
#: Seconds since 1970 of the years 2001 to 2100.
EPOCH = (978_307_200.0, 4_102_444_800.0)
_RATE = re.compile(
    r"(?:rate|frequency|fs|sampling)\w*[^0-9\n]{0,20}?([0-9]+(?:\.[0-9]+)?)\s*(k?)hz", re.IGNORECASE
)
_RATE_NAMES = frozenset(("fs", "fps", "rate", "frequency", "hz"))
_STEP_NAMES = frozenset(("ts", "dt", "step", "period"))
_SECONDS = frozenset(("s", "sec", "secs", "second", "seconds"))
_NANOSECONDS = frozenset(("ns", "nsec", "nsecs", "nanosec", "nanosecs", "nanosecond", "nanoseconds"))


@dataclass(frozen=True)
class TimeGuess:
    """A column, its unit and why; `nanoseconds`: a second one that goes with it, where it has whole seconds."""

    column: Column
    unit: str
    reason: str
    host: bool
    nanoseconds: Column | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """One column, or two."""
        return (self.column,) if self.nanoseconds is None else (self.column, self.nanoseconds)

    def seconds(self, head: Batch) -> NDArray[np.float64]:
        """Times of some rows [s], from the first on, shape (N,)."""
        values = np.asarray(head.column(self.column))
        seconds = np.asarray((values - values[0]) * to_si("time", self.unit)[0])
        if self.nanoseconds is None:
            return seconds
        more = np.asarray(head.column(self.nanoseconds))
        return np.asarray(seconds + 1e-9 * (more - more[0]))


def guess_time(table: Table) -> list[TimeGuess]:
    """Columns that are times, the likeliest first."""
    found = [(2.0, one) for one in _in_two_columns(table)]
    parts = {column for _, one in found for column in one.columns}
    for column in table.columns:
        if column in parts:
            continue
        values = np.asarray(table.head.column(column))
        if values.dtype.kind not in "fiu" or len(values) < 2:
            continue
        hints = hints_of(column.name, column.unit)
        words = set(words_of(column.label or column.name)) | set(hints.words)
        named = bool(words & TIME) or (
            not hints.quantity and known_unit("time", hints.unit) and bool(hints.unit)
        )
        rising = _rising(values)
        if rising < RISING or (not named and rising < 1.0):
            continue
        counter = bool(words & {"index", "id", "frame", "seq", "sequence", "count", "counter", "n", "sample"})
        unit, why = _unit(values, hints.unit)
        if not named:
            if hints.quantity or counter or not _even(values):
                continue
            why = f"rises evenly from row to row; {why}"
        score = 2.0 * named + rising - 0.5 * counter - 0.1 * bool(words & HOST)
        found.append((score, TimeGuess(column, unit, why, bool(words & HOST))))
    return [one for _, one in sorted(found, key=lambda item: -item[0])]


def _in_two_columns(table: Table) -> list[TimeGuess]:
    """Whole seconds and the nanoseconds beyond them, as ROS writes stamps: `stamp.sec`, `stamp.nanosec`.

    Where names tell nothing, dates in whole seconds with such numbers in the column behind them.
    """
    words = {words_of(column.name): column for column in table.columns if column.place is None}
    found = []
    for name, column in words.items():
        if not name or name[-1] not in _SECONDS:
            continue
        second = next((words[one] for last in _NANOSECONDS if (one := (*name[:-1], last)) in words), None)
        if second is None:
            continue
        why = f"whole seconds, and {second.name!r} goes with it"
        guessed = TimeGuess(column, "s", why, bool(set(name) & HOST), second)
        if _rising(guessed.seconds(table.head)) >= RISING:
            found.append(guessed)
    plain = [column for column in table.columns if column.place is None]
    for column, second in itertools.pairwise([] if found else plain):
        seconds, more = (_whole(table.head.column(one)) for one in (column, second))
        if not len(seconds) or not len(more) or not EPOCH[0] < seconds.min() <= seconds.max() < EPOCH[1]:
            continue
        if not 0 <= more.min() <= more.max() < 1e9 or more.max() < 1e6 or hints_of(second.name).quantity:
            continue
        why = f"whole seconds since 1970, and {second.name!r} goes with it"
        guessed = TimeGuess(column, "s", why, False, second)
        if _rising(guessed.seconds(table.head)) >= RISING:
            found.append(guessed)
    return found


def _whole(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers that are all whole; none where one is not."""
    good = np.asarray(values, np.float64)
    return good if np.isfinite(good).all() and np.all(good == np.round(good)) else good[:0]


def stated_rate(table: Table, comments: Sequence[str]) -> tuple[float, str] | None:
    """A rate [Hz] that the file states beside its rows, and where; None: it states none."""
    for name, value in table.constants.items():
        if value.size != 1 or value.dtype.kind not in "fiu" or not float(value.reshape(-1)[0]) > 0:
            continue
        words, number = set(words_of(name)), float(value.reshape(-1)[0])
        if words & _RATE_NAMES:
            return number, f"{name} = {number:g}"
        if words & _STEP_NAMES:
            return 1 / number, f"{name} = {number:g} s"
    for line in comments:
        if match := _RATE.search(line):
            return float(match[1]) * (1e3 if match[2] else 1.0), f"the comment {line.strip()[:60]!r}"
    return None


def _rising(values: NDArray[np.float64]) -> float:
    """Share of steps that go on; 0 for what hardly changes or is not finite."""
    good = values[np.abs(values.astype(np.float64)) < ABSURD] if values.dtype.kind == "f" else values
    if len(good) < max(2, 0.9 * len(values)):
        return 0.0
    return float(np.mean(np.diff(good) > 0))


def _even(values: NDArray[np.float64]) -> bool:
    """Whether nine of ten steps are within half of the usual one: lost samples leave time even, a motion is not."""
    steps = np.diff(values.astype(np.float64))
    usual = float(np.median(steps))
    return bool(np.mean(np.abs(steps - usual) <= 0.5 * usual) >= RISING)


def _unit(values: NDArray[np.float64], stated: str) -> tuple[str, str]:
    """The unit of times, and why."""
    if values.dtype == np.int64 and np.median(values) > 1e17:
        return "ns", "dates, or nanoseconds since 1970"
    if stated and known_unit("time", stated):
        return stated, f"named in {stated}"
    middle = float(np.median(values[np.isfinite(values)]))
    for unit, factor in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)):
        if EPOCH[0] < middle * factor < EPOCH[1]:
            return unit, f"read in {unit} it is {1970 + middle * factor / 31_556_952:.0f} AD"
    step = float(np.median(np.diff(values[np.isfinite(values)])))
    whole = bool(np.all(values[np.isfinite(values)] == np.round(values[np.isfinite(values)])))
    for unit, factor in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)):
        if step * factor <= (0.2 if whole else 0.5) and not (whole and step * factor > 0.2):
            return unit, f"its usual step of {step:g} is {1 / (step * factor):.4g} Hz in {unit}"
    return "s", f"its usual step is {step:g}"
