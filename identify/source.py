"""The data of one fit: looked over, reduced, and at hand for whoever goes through them again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from identify.arrays import Array
from identify.dataset import Dataset, Processing, RowBlock, Survey, filtered_rows, survey
from identify.dataset.account import GRID, REST, USED, row_account
from identify.errors import DataError
from identify.kept_rows import KeptRows
from identify.reduction import Information, Reduction
from identify.robot import Robot

__all__ = ["Source"]


@dataclass(frozen=True)
class Source:
    """Datasets of one robot, all processed alike; `surveys` say what was found in each.

    delay_s    how old torques are against positions; rows come with it taken out
    made_s     the delay that rows are made with; the rest is taken out by the torques' derivatives
    """

    robot: Robot
    datasets: tuple[Dataset, ...]
    processing: Processing
    surveys: tuple[Survey, ...]
    delay_s: float = 0.0
    made_s: float = 0.0
    _kept: KeptRows = field(default_factory=KeptRows, repr=False)

    @classmethod
    def of(cls, robot: Robot, datasets: Sequence[Dataset], processing: Processing) -> Source:
        """Look over the data; `DataError` where they cannot be used."""
        surveys = tuple(survey(robot, data, processing) for data in datasets)
        return cls(robot, tuple(datasets), processing, surveys)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found in the data, each line once."""
        return tuple(dict.fromkeys(note for found in self.surveys for note in found.notes))

    @property
    def accounts(self) -> tuple[dict[str, int], ...]:
        """What became of the rows of each dataset (`identify.dataset.account`)."""
        return tuple(row_account(found, self.processing, self.made_s) for found in self.surveys)

    def delayed(self, delay_s: float) -> Source:
        """The same data with another delay of torques taken out."""
        return replace(self, delay_s=delay_s, made_s=delay_s, _kept=KeptRows())

    def aligned(self, delay_s: float) -> Source:
        """The same with a delay that is near: rows are brought to it by the torques' derivatives."""
        return replace(self, delay_s=delay_s)

    def blocks(self, progress: Callable[[float], None] | None = None) -> Iterator[RowBlock]:
        """All rows in order, numbered through all datasets; `progress` is told the share read, 0 to 1."""
        rest_s = self.delay_s - self.made_s
        if self._kept.complete:
            yield from (block.aligned(rest_s) for block in self._kept)
            return
        kept = KeptRows()
        whole, before, first = sum(data.duration_s for data in self.datasets), 0.0, 0
        for data, found in zip(self.datasets, self.surveys, strict=True):
            count = 0
            for block in filtered_rows(self.robot, data, self.processing, found, self.made_s):
                count += len(block.index)
                numbered = replace(block, index=first + block.index)
                kept.add(numbered)
                if progress is not None:
                    progress(min((before + float(block.time[-1] - data.t[0])) / whole, 1.0))
                yield numbered.aligned(rest_s)
            before += data.duration_s
            first += count
        kept.complete = True
        object.__setattr__(self, "_kept", kept)

    def reduced(self, progress: Callable[[float], None] | None = None) -> Information:
        """The information in all data together."""
        reduction = Reduction(self.robot.regressor.layout)
        for block in self.blocks(progress):
            reduction.add(block.table, block.keep.astype(np.float64), block.rates)
        information = reduction.finish()
        if not information.rows.any():
            raise DataError(_nothing_left(self.accounts))
        return information

    def parts(self, count: int) -> tuple[Information, ...]:
        """The information in each of `count` equal parts of the rows, in order."""
        reductions = [Reduction(self.robot.regressor.layout) for _ in range(count)]
        for block, number in self._numbered(count):
            for k in range(int(number[0]), int(number[-1]) + 1):
                here = number == k
                reductions[k].add(block.table[here], block.keep[here].astype(np.float64), block.rates[here])
        return tuple(reduction.finish() for reduction in reductions)

    def drawn(self, counts: NDArray[np.int64]) -> Drawn:
        """The rows with each of `len(counts)` equal parts as often as `counts` says."""
        return Drawn(self, counts)

    def _numbered(self, count: int) -> Iterator[tuple[RowBlock, NDArray[np.int64]]]:
        """Blocks, and which of `count` equal parts each of their rows belongs to."""
        rows = max(sum(len(block.index) for block in self.blocks()), 1)
        for block in self.blocks():
            yield block, block.index * count // rows

    def reweight(self, weigh: Callable[[NDArray[Any], Array], Array], parameters: Array) -> Information:
        """The data once more, with weights by residual: what robust estimation asks for (`problem.Reweighter`).

        `weigh` gets the running numbers of a block's instants (B,) and the residuals there [N m] (B, n), measured
        minus modelled, and answers with weights on their squares (B, n).
        """
        reduction = Reduction(self.robot.regressor.layout)
        for block in self.blocks():
            root = np.sqrt(weigh(block.index, block.torque - block.predict(parameters))) * block.keep
            reduction.add(block.table, root, block.rates)
        return reduction.finish()


def _nothing_left(accounts: Sequence[dict[str, int]]) -> str:
    """Why there is no row, and what to do about it."""
    total: Counter[str] = Counter()
    for account in accounts:
        total.update(account)
    reasons = {reason: n for reason, n in total.items() if n and reason not in (GRID, USED)}
    if not reasons or max(reasons, key=lambda reason: reasons[reason]) == REST:
        return "no joint moves long enough for a single row; give data in which the robot moves"
    listed = ", ".join(f"{n} {reason}" for reason, n in reasons.items())
    return (
        f"none of {total[GRID]} rows can be used: {listed}; raise the cut-off, which needs less time between gaps, "
        "or record on a better line"
    )


@dataclass(frozen=True)
class Drawn:
    """A source's rows, each part of them as often as `counts` says, shape (parts,)."""

    source: Source
    counts: NDArray[np.int64]

    def reweight(self, weigh: Callable[[NDArray[Any], Array], Array], parameters: Array) -> Information:
        """As `Source.reweight`; a part that was drawn twice weighs twice, one that was not has no weight."""
        reduction = Reduction(self.source.robot.regressor.layout)
        for block, number in self.source._numbered(len(self.counts)):
            weights = weigh(block.index, block.torque - block.predict(parameters))
            root = np.sqrt(weights * self.counts[number][:, None]) * block.keep
            reduction.add(block.table, root, block.rates)
        return reduction.finish()
