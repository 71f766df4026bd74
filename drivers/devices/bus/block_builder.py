"""Builds Blocks of one stream from single rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from heft.drivers.block import Block
from heft.drivers.stream import Stream

__all__ = ["BlockBuilder"]


class BlockBuilder:
    """Gathers rows and yields a block when `block` of them are there, or when a number is missing.

    yield_  takes a finished block
    """

    def __init__(self, stream: Stream, block: int, yield_: Callable[[Block], None]) -> None:
        self.stream = stream
        self._block = block
        self._yield = yield_
        self._since_ns = 0
        self._first = 0
        self._values: list[Sequence[float]] = []
        self._validity: list[Sequence[int]] = []
        self._host_ns: list[int] = []
        self._request_ns: list[int] = []

    def add(
        self,
        sequence: int,
        values: Sequence[float],
        host_ns: int,
        *,
        request_ns: int | None = None,
        validity: Sequence[int] | None = None,
    ) -> None:
        """One row of the stream: k values and, where not all are good, k codes of `Validity`."""
        if host_ns < self._since_ns:
            return
        if sequence != self._first + len(self._host_ns):
            self.flush()
        if not self._host_ns:
            self._first = sequence
        self._values.append(values)
        self._validity.append((0,) * len(values) if validity is None else validity)
        self._host_ns.append(host_ns)
        if request_ns is not None:
            self._request_ns.append(request_ns)
        if len(self._host_ns) >= self._block:
            self.flush()

    def restart(self, since_ns: int) -> None:
        """Forget what is there, and what was received before this host time [ns]."""
        self._since_ns = since_ns
        self._forget()

    def flush(self) -> None:
        """Yield what is there."""
        if not self._host_ns:
            return
        block = Block(
            self.stream,
            self._first,
            np.array(self._host_ns, dtype=np.int64),
            np.array(self._values, dtype=self.stream.dtype),
            np.array(self._validity, dtype=np.uint8),
            np.array(self._request_ns, dtype=np.int64) if self._request_ns else None,
        )
        self._forget()
        self._yield(block)

    def _forget(self) -> None:
        self._values, self._validity, self._host_ns, self._request_ns = [], [], [], []
