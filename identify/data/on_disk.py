"""Tables that are too long for memory: kept in a temporary file, from which rows are read when they are indexed."""

from __future__ import annotations

import os
import tempfile
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["OnDisk"]


class OnDisk:
    """A table (T, k) of numbers, indexed like an array. Its file has no name and is freed with the object."""

    ndim = 2

    def __init__(self, table: NDArray[Any]) -> None:
        self.shape = table.shape
        self.dtype = table.dtype
        self._row_bytes = table.shape[1] * table.dtype.itemsize
        self._descriptor, path = tempfile.mkstemp(prefix="heft-")
        weakref.finalize(self, os.close, self._descriptor)
        os.unlink(path)
        self._write(table)

    def append(self, table: NDArray[Any]) -> None:
        """More rows, of the same width and kind."""
        self._write(table)
        self.shape = (self.shape[0] + len(table), self.shape[1])

    def _write(self, table: NDArray[Any]) -> None:
        rest = np.ascontiguousarray(table, self.dtype).reshape(-1).view(np.uint8).data
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | NDArray[Any]) -> NDArray[Any]:
        """Rows by a slice, or by numbers or truth values (all that lies between them is read)."""
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            return self._read(start, max(stop, start))[::step]
        rows = np.flatnonzero(rows) if rows.dtype == bool else np.asarray(rows)
        if not len(rows):
            return self._read(0, 0)
        first = int(rows.min())
        return self._read(first, int(rows.max()) + 1)[rows - first]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self._read(0, len(self)).astype(dtype or self.dtype, copy=False)

    def _read(self, start: int, stop: int) -> NDArray[Any]:
        table = np.empty((stop - start, self.shape[1]), self.dtype)
        rest, at = table.reshape(-1).view(np.uint8).data, start * self._row_bytes
        while rest:
            count = os.preadv(self._descriptor, [rest], at)
            rest, at = rest[count:], at + count
        return table
