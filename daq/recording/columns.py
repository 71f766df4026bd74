"""All samples of a stream as arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.daq.errors import RecordingError
from heft.drivers.block import Block, Validity
from heft.drivers.stream import Stream

__all__ = ["NO_TIME", "Columns"]

#: Stands for a request time or tick that a Block lacks while others of its stream have one.
NO_TIME = int(np.iinfo(np.int64).min)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Columns:
    """The samples of one stream that were received, in the order they were recorded; arrays are read-only.

    What was lost is not here: `sequence` jumps, and `gaps` says where.

    sequence     number of each sample, shape (N,) int64
    host_ns      receive time, host clock [ns], shape (N,) int64
    values       in the device's own numbers, shape (N, k); `si` in SI units, NaN where not valid
    validity     `Validity` codes, shape (N, k) uint8
    request_ns   when the request left, host clock [ns], shape (N,) int64, or None
    ticks        raw device counter, shape (N,) int64, or None
    """

    stream: Stream
    sequence: NDArray[np.int64]
    host_ns: NDArray[np.int64]
    values: NDArray[Any]
    validity: NDArray[np.uint8]
    request_ns: NDArray[np.int64] | None = None
    ticks: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        for name in ("sequence", "host_ns", "values", "validity", "request_ns", "ticks"):
            array = getattr(self, name)
            if array is not None:
                array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.sequence)

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        """One column by its name (`joint1.position`) in SI units, shape (N,); NaN where not valid."""
        for i, column in enumerate(self.stream.columns):
            if column.name == name:
                si = self.values[:, i] * column.scale + column.offset
                return np.where(self.validity[:, i] == Validity.OK, si, np.nan)
        known = ", ".join(column.name for column in self.stream.columns)
        raise RecordingError(f"{self.stream.name} has no column {name!r}; it has {known}")

    def quantity(self, quantity: str) -> NDArray[np.float64]:
        """All columns of one quantity (`position`) in SI units, shape (N, n), in column order."""
        return self.si[:, self.stream.indices(quantity)]

    @property
    def si(self) -> NDArray[np.float64]:
        """Values in SI units, shape (N, k); what is not valid is NaN."""
        si = self.values * self.stream.scale + self.stream.offset
        return np.where(self.validity == Validity.OK, si, np.nan)

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """Samples missing between the first and the last: number of the first missing one, and how many."""
        steps = np.diff(self.sequence)
        numbers = self.sequence if np.all(steps > 0) else np.unique(self.sequence)
        jumps = np.flatnonzero(np.diff(numbers) > 1)
        return [(int(numbers[i]) + 1, int(numbers[i + 1] - numbers[i]) - 1) for i in jumps]

    @classmethod
    def of(cls, stream: Stream, blocks: Iterable[Block]) -> Columns:
        """Columns made of a stream's Blocks."""
        parts = list(blocks)
        if not parts:
            none = np.empty(0, np.int64)
            shape = (0, stream.width)
            return cls(stream, none, none.copy(), np.empty(shape, stream.dtype), np.empty(shape, np.uint8))
        return cls(
            stream,
            _sequence(parts),
            np.concatenate([b.host_ns for b in parts]),
            np.concatenate([b.values for b in parts]),
            np.concatenate([b.validity for b in parts]),
            _times([b.request_ns for b in parts], parts),
            _times([b.ticks for b in parts], parts),
        )


def _sequence(blocks: list[Block]) -> NDArray[np.int64]:
    """The number of every sample."""
    first = np.array([b.sequence for b in blocks], np.int64)
    length = np.array([len(b) for b in blocks], np.int64)
    place = np.cumsum(length) - length  # of each Block's first sample
    return np.repeat(first - place, length) + np.arange(length.sum())


def _times(arrays: list[NDArray[np.int64] | None], blocks: list[Block]) -> NDArray[np.int64] | None:
    """Times of all Blocks, None where no Block has any."""
    if all(array is None for array in arrays):
        return None
    return np.concatenate(
        [
            np.full(len(b), NO_TIME) if array is None else array
            for array, b in zip(arrays, blocks, strict=True)
        ]
    )
