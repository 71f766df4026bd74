"""What wrenches say about the hand, reduced as they come: triangles and sums of squares instead of rows.

Each of the six equations has fifteen columns: the sensor's bias and its drift, the ten numbers, and the wrench with
its two derivatives (for its delay, as in `information.reduction`). Bias and drift are every dataset's own, belong to
one equation alone, and are taken out there and then: of the triangle, what is below and beside them; of the
squares, with the same combination of columns. Rows join in groups, so that an hour needs no more memory than a minute.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.data import Processing, RowBlock, Survey, filtered_rows
from heft.identify.data.rows import extents
from heft.identify.information.fit_data import FitData
from heft.identify.information.triangle import absorb, triangle
from heft.identify.payload.bare_hand.hand_alone import hand_alone, wrenches_alone
from heft.identify.robot import Robot

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
    robot, processing = hand_alone(fit_data.robot), fit_data.processing
    if processing.derivative == "fourier":  # a series of the joints' motion alone
        processing = replace(processing, derivative="central")
    parts = [
        part
        for survey in map(wrenches_alone, surveys)
        if (part := _of_dataset(robot, processing, survey, lag_s, per_group)) is not None
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


def _of_dataset(
    robot: Robot, processing: Processing, survey: Survey, lag_s: float, per_group: int
) -> WrenchInformation | None:
    """Of one dataset; None with fewer rows than it has unknowns of its own."""
    factors, squares, starts, count = np.zeros((6, WIDTH, WIDTH)), [], [], 0
    if all(last < first for first, last in extents(survey, processing, lag_s)):
        return None
    for block in filtered_rows(robot, survey.data, processing, survey, lag_s):
        table, time = _equations(block)
        for i in range(6):
            absorb(factors[i], np.array(table[:, i].T, order="C"))
        for first in range(0, len(table), per_group):
            group = np.swapaxes(table[first : first + per_group], 0, 1)
            squares.append(np.swapaxes(group, 1, 2) @ group)
            starts.append(float(time[first]))
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


def _equations(block: RowBlock) -> tuple[Array, Array]:
    """The six equations of the instants whose wrench is known, (K, 6, WIDTH), and their time [s] (K,)."""
    layout, joints = block.layout, block.layout.count - 6
    known = block.keep[:, joints]
    table = np.zeros((int(known.sum()), 6, WIDTH))
    for k in range(6):
        row, body = block.table[known, layout.row(joints + k)], layout.per_body(joints + k)
        table[:, k, :OWN] = row[:, body : body + OWN]
        table[:, k, OWN : OWN + body] = row[:, :body]
        table[:, k, OWN + TEN] = row[:, -1]
    table[:, :, OWN + TEN + 1 :] = block.rates[known, joints:]
    return table, block.time[known]
