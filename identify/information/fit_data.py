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
from heft.identify.data.account import GRID, REST, UNMEASURED, USED, row_account
from heft.identify.data.kept_rows import KeptRows
from heft.identify.errors import DataError
from heft.identify.information.memory import ages
from heft.identify.information.own_offsets import RowMeans, RowSums, recording_numbers
from heft.identify.information.reduction import Information, Reduction
from heft.identify.robot import Robot

__all__ = ["SHARED", "FitData"]


#: What several recordings may be asked to have in common.
SHARED = ("offsets", "delay")


@dataclass(frozen=True)
class FitData:
    """Datasets of one robot, all processed alike, with the survey of each.

    recordings      number of the recording that each dataset is from
    common          of `SHARED`: what recordings have in common; torque offsets and delays are else each one's own
    delays_s        delay of torques against positions that rows are corrected for [s]: of each recording, or one of all
    rows_delays_s   delays that the filtered rows were computed with [s]; the difference to `delays_s` is corrected by
                    the torques' first and second derivative
    means           of the rows of each recording, where offsets are its own; None before the first pass
    """

    robot: Robot
    datasets: tuple[Dataset, ...]
    processing: Processing
    surveys: tuple[Survey, ...]
    recordings: tuple[int, ...]
    common: tuple[str, ...] = ()
    delays_s: tuple[float, ...] = (0.0,)
    rows_delays_s: tuple[float, ...] = (0.0,)
    means: RowMeans | None = None
    _kept: KeptRows = field(default_factory=KeptRows, repr=False)

    @classmethod
    def of(
        cls, robot: Robot, datasets: Sequence[Dataset], processing: Processing, common: Sequence[str] = ()
    ) -> FitData:
        """Survey the datasets; `DataError` where one cannot be used."""
        if unknown := [what for what in common if what not in SHARED]:
            raise DataError(f"recordings cannot have {unknown[0]!r} in common; choose of {', '.join(SHARED)}")
        surveys = tuple(survey(robot, data, processing) for data in datasets)
        recordings = recording_numbers(datasets)
        zeros = (0.0,) * (1 if "delay" in common else max(recordings) + 1)
        return cls(robot, tuple(datasets), processing, surveys, recordings, tuple(common), zeros, zeros)

    @property
    def recording_count(self) -> int:
        """Recordings that the datasets are from."""
        return max(self.recordings) + 1

    @property
    def own_offsets(self) -> bool:
        """Whether there are several recordings with torque offsets of their own."""
        return self.recording_count > 1 and "offsets" not in self.common

    def delay_group(self, dataset: int) -> int:
        """Which of the delays is that of a dataset."""
        return self.recordings[dataset] if len(self.delays_s) > 1 else 0

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks of all surveys, each line once."""
        return tuple(dict.fromkeys(note for one in self.surveys for note in one.notes))

    @property
    def accounts(self) -> tuple[dict[str, int], ...]:
        """For each dataset the number of rows used and left out, by reason (`heft.identify.data.account`)."""
        return tuple(
            row_account(self.robot, one, self.processing, self.rows_delays_s[self.delay_group(i)])
            for i, one in enumerate(self.surveys)
        )

    def with_one_delay(self) -> FitData:
        """The same data with one delay for all recordings."""
        common = tuple(dict.fromkeys([*self.common, "delay"]))
        return replace(self, common=common).delayed((0.0,))

    def delayed(self, delays_s: Sequence[float]) -> FitData:
        """The same data with rows to be computed anew for torque delays [s]."""
        delays = tuple(delays_s)
        return replace(self, delays_s=delays, rows_delays_s=delays, means=None, _kept=KeptRows())

    def aligned(self, delays_s: Sequence[float]) -> FitData:
        """The same rows, corrected for torque delays [s] near `rows_delays_s` by the torques' derivatives."""
        return replace(self, delays_s=tuple(delays_s))

    def weighted(self, weights: Array | None) -> FitData:
        """The same rows with means by the weights of all samples and joints (K, n), as robust estimators have them."""
        if weights is None or not self.own_offsets:
            return self
        sums = RowSums(self.robot, self.recording_count)
        for block in self._raw():
            sums.add(block, self.recordings[block.dataset], weights[block.index] * block.keep)
        return replace(self, means=sums.means())

    def blocks(self, progress: Callable[[float], None] | None = None) -> Iterator[RowBlock]:
        """All regression rows in order, numbered through all datasets.

        Computed in the first pass and kept for later ones; `progress` is called with the share computed, 0 to 1. Where
        recordings have offsets and drifts of their own, these are taken out (`heft.identify.information.own_offsets`).
        """
        if self.own_offsets and self.means is None:
            sums = RowSums(self.robot, self.recording_count)
            for block in self._raw(progress):
                sums.add(block, self.recordings[block.dataset], block.keep.astype(np.float64))
            object.__setattr__(self, "means", sums.means())
        for block in self._raw(progress):
            if self.means is not None:
                block = self.means.shifted(block, self.recordings[block.dataset])
            group = self.delay_group(block.dataset)
            yield block.aligned(self.delays_s[group] - self.rows_delays_s[group])

    def plain_blocks(self) -> Iterator[RowBlock]:
        """The same rows with the offsets that recordings have of their own still in them."""
        for block in self._raw():
            group = self.delay_group(block.dataset)
            yield block.aligned(self.delays_s[group] - self.rows_delays_s[group])

    def _raw(self, progress: Callable[[float], None] | None = None) -> Iterator[RowBlock]:
        """Rows as they were computed, with each recording's own offset."""
        if self._kept.complete:
            yield from self._kept
            return
        kept = KeptRows()
        whole, before, first = sum(data.duration_s for data in self.datasets), 0.0, 0
        for number, (data, one) in enumerate(zip(self.datasets, self.surveys, strict=True)):
            count, delay_s = 0, self.rows_delays_s[self.delay_group(number)]
            for block in filtered_rows(self.robot, data, self.processing, one, delay_s):
                count += len(block.index)
                numbered = replace(block, index=first + block.index, dataset=number)
                kept.add(numbered)
                if progress is not None:
                    progress(min((before + float(block.time[-1] - data.t[0])) / whole, 1.0))
                yield numbered
            before += data.duration_s
            first += count
        kept.complete = True
        object.__setattr__(self, "_kept", kept)

    def reduced(self, progress: Callable[[float], None] | None = None) -> tuple[Information, ...]:
        """The information of all rows that have a delay in common, for each delay; `DataError` where there is none."""
        reductions = [Reduction(self.robot.regressor.layout) for _ in self.delays_s]
        for block in self.blocks(progress):
            reduction = reductions[self.delay_group(block.dataset)]
            reduction.add(block.table, block.keep.astype(np.float64), block.rates)
        information = tuple(reduction.finish() for reduction in reductions)
        if not any(one.rows.any() for one in information):
            raise DataError(_no_rows(self.accounts))
        measured = any(data.has_torque for data in self.datasets)
        if measured and not any(one.factors[:, :, -1].any() for one in information):
            raise DataError("every torque is zero while the robot moves; give what the drives measured")
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
        weights, offsets = [], self._median_offsets(parameters)
        before_last = ages(block.time for block in self.blocks())
        for block, age in zip(self.blocks(), before_last, strict=True):
            offset = offsets[self.recordings[block.dataset]]
            weight = weigh(block.index, age, block.torque - block.predict(parameters) - offset)
            if counts is not None:
                weight = weight * counts[block.index * len(counts) // rows][:, None]
            if self.own_offsets:  # their means go by the weights, too
                weights.append(weight)
            else:
                reduction.add(block.table, np.sqrt(weight) * block.keep, block.rates)
        if weights:
            for block, weight in zip(self.weighted(np.concatenate(weights)).blocks(), weights, strict=True):
                reduction.add(block.table, np.sqrt(weight) * block.keep, block.rates)
        return reduction.finish()

    def _median_offsets(self, parameters: Array) -> Array:
        """Medians of the residuals of each recording [N m, N], shape (recordings, n): outliers do not move them.

        Zero where offsets are in common.
        """
        offsets = np.zeros((self.recording_count, len(self.robot.rows)))
        if not self.own_offsets:
            return offsets
        residuals: list[list[Array]] = [[] for _ in offsets]
        for block in self.blocks():
            residual = np.where(block.keep, block.torque - block.predict(parameters), np.nan)
            residuals[self.recordings[block.dataset]].append(residual)
        for number, parts in enumerate(residuals):
            for j, column in enumerate(np.concatenate(parts).T if parts else ()):
                kept = column[np.isfinite(column)]
                offsets[number, j] = np.median(kept) if len(kept) else 0.0
        return offsets

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
    if max(reasons, key=lambda reason: reasons[reason]) == UNMEASURED:
        return "no joint that moves has a torque that is measured; leave fewer of them out (`unmeasured`)"
    listed = ", ".join(f"{n} {reason}" for reason, n in reasons.items())
    return (
        f"none of {total[GRID]} rows can be used: {listed}; raise the cut-off, which needs less time between gaps, "
        "or record on a better line"
    )
