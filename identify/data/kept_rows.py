"""Filtered rows of a dataset, made once and kept for later passes: in memory while they are few, else on disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from heft.identify.data.on_disk import OnDisk
from heft.identify.data.row_block import RowBlock

__all__ = ["KeptRows"]

IN_MEMORY = 12_000_000  # bytes; more lie on disk


@dataclass(frozen=True, eq=False)
class _Place:
    """A block without its tables, which lie on disk in rows `start` to `stop`."""

    block: RowBlock
    start: int
    stop: int


class KeptRows:
    """Blocks in the order in which they were added; of more than IN_MEMORY bytes the tables lie on disk.

    complete   all blocks of the dataset have been added
    """

    def __init__(self) -> None:
        self.complete = False
        self._blocks: list[RowBlock | _Place] = []
        self._bytes = 0
        self._tables: OnDisk | None = None  # columns of the regression, then the torques' derivatives

    def add(self, block: RowBlock) -> None:
        """Keep the next block."""
        self._bytes += block.table.nbytes + block.rates.nbytes
        self._blocks.append(block)
        if self._bytes > IN_MEMORY:
            start = 0 if self._tables is None else -1
            self._blocks[start:] = [self._on_disk(one) for one in self._blocks[start:]]

    def _on_disk(self, block: RowBlock | _Place) -> RowBlock | _Place:
        """The block with its tables moved to the end of the file."""
        if isinstance(block, _Place):
            return block
        rows = np.concatenate([block.table, block.rates.reshape(len(block.rates), -1)], axis=1)
        start = 0 if self._tables is None else len(self._tables)
        if self._tables is None:
            self._tables = OnDisk(rows)
        else:
            self._tables.append(rows)
        bare = replace(block, table=block.table[:0].copy(), rates=block.rates[:0].copy())
        return _Place(bare, start, start + len(rows))

    def __iter__(self) -> Iterator[RowBlock]:
        for one in self._blocks:
            yield one if isinstance(one, RowBlock) else self._read(one)

    def _read(self, place: _Place) -> RowBlock:
        assert self._tables is not None
        rows = self._tables[place.start : place.stop]
        width, joints = place.block.layout.width, place.block.rates.shape[1]
        rates = rows[:, width:].reshape(len(rows), joints, 2)
        return replace(place.block, table=np.ascontiguousarray(rows[:, :width]), rates=rates)
