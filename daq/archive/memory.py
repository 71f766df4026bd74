"""The most recent Blocks of a session."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from itertools import islice
from types import MappingProxyType

__all__ = ["Memory"]


class Memory:
    """Keeps encoded Blocks up to `limit` bytes in all; beyond that the oldest are forgotten, not their numbers."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._blocks: dict[str, deque[bytes]] = {}
        self._order: deque[str] = deque()  # streams of the Blocks, oldest first
        self._counts: dict[str, int] = {}

    @property
    def counts(self) -> Mapping[str, int]:
        """Blocks so far, by stream: kept or forgotten."""
        return MappingProxyType(self._counts)

    def first(self, stream: str) -> int:
        """Number of the oldest Block of a stream that is kept; the next number where there is none."""
        return self._counts.get(stream, 0) - len(self._blocks.get(stream, ()))

    def add(self, stream: str, data: bytes) -> None:
        """The stream's next Block."""
        self._blocks.setdefault(stream, deque()).append(data)
        self._counts[stream] = self._counts.get(stream, 0) + 1
        self._order.append(stream)
        self._size += len(data)
        while self._size > self._limit and len(self._order) > 1:
            self._size -= len(self._blocks[self._order.popleft()].popleft())

    def take(self, stream: str, first: int, limit: int) -> list[bytes]:
        """Blocks from number `first` on, until they have `limit` bytes; `first` must not be forgotten."""
        taken: list[bytes] = []
        for data in islice(self._blocks.get(stream, ()), first - self.first(stream), None):
            if limit <= 0:
                break
            taken.append(data)
            limit -= len(data)
        return taken
