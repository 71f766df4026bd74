"""The datasets of one fit: checked, filtered to regression rows, and reduced to information factors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.data import Dataset, Processing, RowBlock, Survey, filtered_rows, survey
from heft.identify.data.account import GRID, REST, USED, row_account
from heft.identify.data.kept_rows import KeptRows
from heft.identify.errors import DataError
from heft.identify.information.memory import ages
from heft.identify.information.reduction import Information, Reduction
from heft.identify.robot import Robot

__all__ = ["FitData"]


@dataclass(frozen=True)
class FitData:
    """Datasets of one robot, all processed alike, with the survey of each.

    delay_s        delay of torques against positions that rows are corrected for [s]
    rows_delay_s   delay that the filtered rows were computed with [s]; the difference to `delay_s` is corrected by
                   the torques' first and second derivative
    """

    robot: Robot
    datasets: tuple[Dataset, ...]
    processing: Processing
    surveys: tuple[Survey, ...]
    delay_s: float = 0.0
    rows_delay_s: float = 0.0
    _kept: KeptRows = field(default_factory=KeptRows, repr=False)

    @classmethod
    def of(cls, robot: Robot, datasets: Sequence[Dataset], processing: Processing) -> FitData:
        """Survey the datasets; `DataError` where one cannot be used."""
        surveys = tuple(survey(robot, data, processing) for data in datasets)
        return cls(robot, tuple(datasets), processing, surveys)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks of all surveys, each line once."""
        return tuple(dict.fromkeys(note for one in self.surveys for note in one.notes))

    @property
    def accounts(self) -> tuple[dict[str, int], ...]:
        """For each dataset the number of rows used and left out, by reason (`heft.identify.data.account`)."""
        return tuple(row_account(one, self.processing, self.rows_delay_s) for one in self.surveys)

    def delayed(self, delay_s: float) -> FitData:
        """The same data with rows to be computed anew for a torque delay [s]."""
        return replace(self, delay_s=delay_s, rows_delay_s=delay_s, _kept=KeptRows())

    def aligned(self, delay_s: float) -> FitData:
        """The same rows, corrected for a torque delay [s] near `rows_delay_s` by the torques' derivatives."""
        return replace(self, delay_s=delay_s)

    def blocks(self, progress: Callable[[float], None] | None = None) -> Iterator[RowBlock]:
        """All regression rows in order, numbered through all datasets.

        Computed in the first pass and kept for later ones; `progress` is called with the share computed, 0 to 1.
        """
        rest_s = self.delay_s - self.rows_delay_s
        if self._kept.complete:
            yield from (block.aligned(rest_s) for block in self._kept)
            return
        kept = KeptRows()
        whole, before, first = sum(data.duration_s for data in self.datasets), 0.0, 0
        for data, one in zip(self.datasets, self.surveys, strict=True):
            count = 0
            for block in filtered_rows(self.robot, data, self.processing, one, self.rows_delay_s):
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
        """The information of all rows; `DataError` where no row can be used."""
        reduction = Reduction(self.robot.regressor.layout)
        for block in self.blocks(progress):
            reduction.add(block.table, block.keep.astype(np.float64), block.rates)
        information = reduction.finish()
        if not information.rows.any():
            raise DataError(_no_rows(self.accounts))
        return information

    def parts(self, count: int) -> tuple[Information, ...]:
        """The information of each of `count` equal parts of the rows, in order of time."""
        reductions = [Reduction(self.robot.regressor.layout) for _ in range(count)]
        rows = self.row_count()
        for block in self.blocks():
            part = block.index * count // rows
            for k in range(int(part[0]), int(part[-1]) + 1):
                here = part == k
                reductions[k].add(block.table[here], block.keep[here].astype(np.float64), block.rates[here])
        return tuple(reduction.finish() for reduction in reductions)

    def reweight(
        self,
        weigh: Callable[[NDArray[Any], Array, Array], Array],
        parameters: Array,
        counts: NDArray[np.int64] | None = None,
    ) -> Information:
        """The information with a weight for each sample and joint (`heft.identify.estimation.problem.Reweighter`).

        weigh    from the running numbers of a block's rows (B,), how long before the last row they were [s] (B,) and
                 their residuals measured - modelled [N m] (B, n) to weights on the squared residuals (B, n)
        counts   how often each of `len(counts)` equal parts of the rows counts (bootstrap); None: once
        """
        reduction = Reduction(self.robot.regressor.layout)
        rows = 0 if counts is None else self.row_count()
        before_last = ages(block.time for block in self.blocks())
        for block, age in zip(self.blocks(), before_last, strict=True):
            weights = weigh(block.index, age, block.torque - block.predict(parameters))
            if counts is not None:
                weights = weights * counts[block.index * len(counts) // rows][:, None]
            reduction.add(block.table, np.sqrt(weights) * block.keep, block.rates)
        return reduction.finish()

    def row_count(self) -> int:
        """Number of instants that have a row, of all datasets together."""
        return sum(len(block.index) for block in self.blocks())


def _no_rows(accounts: Sequence[dict[str, int]]) -> str:
    """The message where no row can be used: the reasons with their counts, and a remedy."""
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
