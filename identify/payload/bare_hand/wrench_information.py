"""What wrenches say about the hand, reduced as they come: triangles and sums of squares instead of rows.

Each of the six equations has fifteen columns: the sensor's bias and its drift, the ten numbers, and the wrench with
its two derivatives (for its delay, as in `information.reduction`). Bias and drift are every dataset's own, belong to
one equation alone, and are taken out there and then: of the triangle, what is below and beside them; of the
squares, with the same combination of columns. Rows join in groups, so that an hour needs no more memory than a minute.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.data import Survey
from heft.identify.information.fit_data import FitData
from heft.identify.information.triangle import absorb, triangle
from heft.identify.payload.bare_hand.wrench_rows import wrench_rows

__all__ = ["TEN", "WrenchInformation", "wrench_information"]

OWN = 2  # columns of bias and drift
TEN = 10  # numbers of a body
WIDTH = OWN + TEN + 3  # the wrench and two derivatives
MOST_GROUPS = 1_500  # some 12 MB of squares, however long the data are


@dataclass(frozen=True)
class WrenchInformation:
    """Of all wrenches together; columns: ten numbers, wrench, its first and second derivative.

    factors   triangle of each equation, shape (6, 13, 13)
    squares   X'X of each group and equation, shape (G, 6, 13, 13)
    starts    time of each group's first row [s], shape (G,)
    rows      instants in all; six rows each
    datasets  that they come from: each has its own bias and drift
    offsets   of each dataset and equation: bias and drift as (2, 13) combinations of the columns, (datasets, 6, 2, 13)
    """

    factors: Array
    squares: Array
    starts: Array
    rows: int
    datasets: int
    offsets: Array

    @property
    def unknowns(self) -> int:
        """Ten numbers, and two for each equation and dataset."""
        return TEN + 6 * OWN * self.datasets


def wrench_information(fit_data: FitData, lag_s: float) -> WrenchInformation | None:
    """One pass through the wrenches, taken `lag_s` later; None where there are none."""
    surveys = [survey for survey in fit_data.surveys if survey.data.wrench is not None]
    if fit_data.robot.sensor is None or not surveys:
        return None
    whole = sum(survey.data.duration_s for survey in surveys)
    per_group = max(1, int(2 * fit_data.processing.cutoff_hz * whole / MOST_GROUPS))
    parts = [
        part for survey in surveys if (part := _of_dataset(fit_data, survey, lag_s, per_group)) is not None
    ]
    if not parts:
        return None
    return WrenchInformation(
        factors=np.array([triangle(np.concatenate([part.factors[i] for part in parts])) for i in range(6)]),
        squares=np.concatenate([part.squares for part in parts]),
        starts=np.concatenate([part.starts for part in parts]),
        rows=sum(part.rows for part in parts),
        datasets=len(parts),
        offsets=np.concatenate([part.offsets for part in parts]),
    )


def _of_dataset(fit_data: FitData, survey: Survey, lag_s: float, per_group: int) -> WrenchInformation | None:
    """Of one dataset; None with fewer rows than it has unknowns of its own."""
    factors, squares, starts, count = np.zeros((6, WIDTH, WIDTH)), [], [], 0
    middle = float(survey.data.t[0] + survey.data.t[-1]) / 2
    for rows in wrench_rows(fit_data.robot, fit_data.processing, survey, lag_s):
        if not len(rows.time):
            continue
        since = np.broadcast_to((rows.time - middle)[:, None, None], (len(rows.time), 6, 1))
        table = np.concatenate([np.ones_like(since), since, rows.regressor, rows.wrench], axis=2)
        for i in range(6):
            absorb(factors[i], np.array(table[:, i].T, order="C"))
        for first in range(0, len(table), per_group):
            group = np.swapaxes(table[first : first + per_group], 0, 1)
            squares.append(np.swapaxes(group, 1, 2) @ group)
            starts.append(float(rows.time[first]))
        count += len(table)
    if count <= 2 * OWN:
        return None
    offsets = np.asarray(np.linalg.solve(factors[:, :OWN, :OWN], factors[:, :OWN, OWN:]))
    apart = np.concatenate(
        [-offsets, np.broadcast_to(np.eye(WIDTH - OWN), (6, WIDTH - OWN, WIDTH - OWN))], axis=1
    )
    return WrenchInformation(
        factors=factors[:, OWN:, OWN:],
        squares=np.swapaxes(apart, 1, 2) @ np.array(squares) @ apart,
        starts=np.array(starts),
        rows=count,
        datasets=1,
        offsets=offsets[None],
    )
