"""Rows that were made once, for whoever goes through them again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from identify.dataset import RowBlock
from identify.dataset.on_disk import OnDisk

__all__ = ["KeptRows"]

IN_MEMORY = 12_000_000  # bytes; what comes after lies on disk


@dataclass(frozen=True, eq=False)
class _Place:
    """A block whose tables lie on disk, in rows `start` to `stop`."""

    block: RowBlock
    start: int
    stop: int


class KeptRows:
    """Blocks in the order in which they were added. An hour's rows need no more memory than a minute's.

    complete   all blocks are here: they can be gone through instead of being made again
    """

    def __init__(self) -> None:
        self.complete = False
        self._blocks: list[RowBlock | _Place] = []
        self._bytes = 0
        self._tables: OnDisk | None = None  # columns of the regression, then the torques' derivatives

    def add(self, block: RowBlock) -> None:
        """One more."""
        self._bytes += block.table.nbytes + block.rates.nbytes
        if self._bytes <= IN_MEMORY:
            self._blocks.append(block)
            return
        rows = np.concatenate([block.table, block.rates.reshape(len(block.rates), -1)], axis=1)
        if self._tables is None:
            self._tables = OnDisk(rows)
            start = 0
        else:
            start = len(self._tables)
            self._tables.append(rows)
        bare = replace(block, table=block.table[:0], rates=block.rates[:0])
        self._blocks.append(_Place(bare, start, start + len(rows)))

    def __iter__(self) -> Iterator[RowBlock]:
        for one in self._blocks:
            yield one if isinstance(one, RowBlock) else self._read(one)

    def _read(self, place: _Place) -> RowBlock:
        assert self._tables is not None
        rows = self._tables[place.start : place.stop]
        width, joints = place.block.layout.width, place.block.rates.shape[1]
        rates = rows[:, width:].reshape(len(rows), joints, 2)
        return replace(place.block, table=np.ascontiguousarray(rows[:, :width]), rates=rates)
