"""Columns of numbers as a file has them, read in batches, so that a file may be larger than memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.daq.errors import ImportFileError
from heft.daq.importing.stated_length import StatedLength

__all__ = ["ABSURD", "HEAD_ROWS", "NO_TIME", "Batch", "Column", "DroppedRow", "Source", "Table"]

#: Rows that a column's meaning is guessed from: half a minute at 1 kHz.
HEAD_ROWS = 1 << 15
MOST_COLUMNS = 4096
#: A number beyond this was never measured, in whatever unit; and its square is beyond all doubles.
ABSURD = 1e100
#: A time in nanoseconds that is missing.
NO_TIME = np.int64(-(1 << 63))


@dataclass(frozen=True, slots=True)
class Column:
    """One number of a row: `name` as a map says it, its place in an array of the file, and what is known of it.

    array   name of the array that it is a part of (`q` of `q[2]`), or its own name
    place   index in that array; None: the array has one number per row
    label   what the file calls this element (a joint's name), or ""
    unit    as the file states it, or ""
    """

    name: str
    array: str
    place: int | None = None
    label: str = ""
    unit: str = ""


@dataclass(frozen=True, slots=True)
class DroppedRow:
    """A row that could not be used: its number in the file (from 1, as an editor counts) and why."""

    row: int
    why: str


@dataclass(frozen=True, eq=False)
class Batch:
    """N consecutive usable rows of one table and one run.

    arrays       by name: numbers, shape (N,) or (N, k)
    rows         number of each in its run (N,); a broken row is missing here
    received_ns  when a bag received each (N,) [ns], or None
    stamped_ns   what each header says (N,) [ns], or None
    """

    table: str
    run: str
    arrays: Mapping[str, NDArray[Any]]
    rows: NDArray[np.int64]
    received_ns: NDArray[np.int64] | None = None
    stamped_ns: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, column: Column) -> NDArray[Any]:
        """The numbers of one column, shape (N,)."""
        array = self.arrays[column.array]
        return array if column.place is None else array[:, column.place]


@dataclass(frozen=True, eq=False)
class Table:
    """Rows that belong to one instant each.

    columns    in the order of the file
    head       the first rows of its longest run, for guessing; at most HEAD_ROWS
    stamped    every row has a time of its own beside the columns (a bag's header or receive time)
    constants  by name: small arrays and texts beside the rows (gear ratios, a rate, names of joints)
    """

    name: str
    columns: tuple[Column, ...]
    head: Batch
    stamped: bool = False
    constants: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def find(self, name: str) -> tuple[Column, ...]:
        """The column of a name, or all columns of the array of that name; none where there is no such."""
        own = tuple(column for column in self.columns if column.name == name)
        return own or tuple(column for column in self.columns if column.array == name)


class Source(ABC):
    """One file, opened: its tables, and their rows in batches.

    tables    at least one
    comments  free text of the file (comment lines), where a rate may be stated
    oddities  what was left out of the tables and why, for messages
    dropped   rows left out so far, the first few by number; `n_dropped` counts them all
    stated    how long the file says that it is
    """

    #: Dropped rows that are told by number.
    MOST_TOLD = 20

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tables: tuple[Table, ...] = ()
        self.comments: tuple[str, ...] = ()
        self.oddities: list[str] = []
        self.dropped: list[DroppedRow] = []
        self.n_dropped = 0
        self.stated = StatedLength()

    @abstractmethod
    def batches(self, wanted: Mapping[str, Sequence[str]]) -> Iterator[Batch]:
        """All rows of the tables that are wanted, with the arrays that are wanted of each, in the file's order."""

    def bounded(self, columns: int) -> None:
        """`ImportFileError` where there are more columns than any table of samples has."""
        if columns > MOST_COLUMNS:
            raise ImportFileError(
                f"{self.path}: {columns} columns, at most {MOST_COLUMNS}; is it a table of samples?"
            )

    def drop(self, row: int, why: str, count: int = 1) -> None:
        """Leave a row out, or `count` rows from it on."""
        self.n_dropped += count
        if len(self.dropped) < self.MOST_TOLD:
            self.dropped.append(DroppedRow(row, why))
