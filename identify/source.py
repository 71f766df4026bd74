"""The data of one fit: looked over, reduced, and at hand for estimators that go through them again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from identify.dataset import Dataset, Processing, Survey, filtered_rows, survey
from identify.errors import DataError
from identify.reduction import Information, Reduction, Reweighting
from identify.robot import Robot

__all__ = ["Source"]


@dataclass(frozen=True)
class Source:
    """Datasets of one robot, all processed alike; `surveys` say what was found in each."""

    robot: Robot
    datasets: tuple[Dataset, ...]
    processing: Processing
    surveys: tuple[Survey, ...]

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
    def reweighting(self) -> Reweighting:
        """The data once more, with other weights."""
        return Reweighting(self.robot, self.datasets, self.processing)

    def reduced(self, progress: Callable[[float], None] | None = None) -> Information:
        """The information in all data together; `progress` is told the share that has been read, 0 to 1."""
        reduction = Reduction(self.robot.regressor.layout)
        whole, before = sum(data.duration_s for data in self.datasets), 0.0
        for data, found in zip(self.datasets, self.surveys, strict=True):
            for block in filtered_rows(self.robot, data, self.processing, found):
                reduction.add(block.table, block.keep.astype(np.float64))
                if progress is not None:
                    progress(min((before + float(block.time[-1] - data.t[0])) / whole, 1.0))
            before += data.duration_s
        information = reduction.finish()
        if not information.rows.any():
            raise DataError("no joint moves long enough for a single row; give data in which the robot moves")
        return information
