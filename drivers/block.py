"""A Block: consecutive samples of one stream, as the device gave them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.drivers.stream import Stream

__all__ = ["Block", "Validity"]


class Validity(IntEnum):
    """Why a value may not be used; 0 is good."""

    OK = 0
    SATURATED = 1
    STALE = 2
    FAULT = 3  # the device flags its own value
    CORRUPT = 4
    DUPLICATE = 5


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """N samples with consecutive sequence numbers `sequence .. sequence + N - 1`; arrays are made read-only.

    A lost sample is a gap between the sequence numbers of two blocks, never a value.

    host_ns      receive time, host clock [ns], shape (N,) int64
    values       in the device's own numbers, shape (N, k), dtype as the stream says
    validity     `Validity` codes, shape (N, k) uint8
    request_ns   when the request left, host clock [ns], shape (N,) int64, or None
    ticks        raw device counter as received (wrapping), shape (N,) int64, or None
    """

    stream: Stream
    sequence: int
    host_ns: NDArray[np.int64]
    values: NDArray[Any]
    validity: NDArray[np.uint8]
    request_ns: NDArray[np.int64] | None = None
    ticks: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        n, k = len(self.host_ns), self.stream.width
        for label, array, shape in (
            ("host_ns", self.host_ns, (n,)),
            ("values", self.values, (n, k)),
            ("validity", self.validity, (n, k)),
            ("request_ns", self.request_ns, (n,)),
            ("ticks", self.ticks, (n,)),
        ):
            if array is None:
                continue
            if array.shape != shape:
                raise ValueError(f"{self.stream.name}: {label} has shape {array.shape}, expected {shape}")
            array.setflags(write=False)
        if self.values.dtype != np.dtype(self.stream.dtype):
            raise ValueError(
                f"{self.stream.name}: values are {self.values.dtype.str}, the stream says {self.stream.dtype}"
            )

    def __len__(self) -> int:
        return len(self.host_ns)

    @property
    def next_sequence(self) -> int:
        """Sequence number that follows this block when nothing is lost."""
        return self.sequence + len(self)

    @property
    def si(self) -> NDArray[np.float64]:
        """Values in SI units, shape (N, k); what is not valid is NaN."""
        si = self.values * self.stream.scale + self.stream.offset
        return np.where(self.validity == Validity.OK, si, np.nan)
