"""What wrenches say about the hand, reduced as they come: triangles and sums of squares instead of rows.

Each of the six equations has fifteen columns: the sensor's bias and its drift, the ten numbers, and the wrench with
its two derivatives (for its delay, as in `information.reduction`). What biases and drifts are each dataset's own is
taken out of the rows as for any sensor (`information.own_offsets`); what they have in common is taken out then: of the
triangle, what is below and beside them; of the squares, with the same combination of columns. Rows join in groups, so
that an hour needs no more memory than a minute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.data import Processing, RowBlock, Survey
from heft.identify.data.rows import extents
from heft.identify.information.fit_data import FitData
from heft.identify.information.triangle import absorb
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
    offsets   of each equation: bias and drift, their means, as (2, 13) combinations of the columns, (6, 2, 13)
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
    processing = fit_data.processing
    if processing.derivative == "fourier":  # a series of the joints' motion alone
        processing = replace(processing, derivative="central")
    whole = sum(survey.data.duration_s for survey in surveys)
    per_group = max(1, int(2 * processing.cutoff_hz * whole / MOST_GROUPS))
    used = [
        wrenches_alone(survey)
        for survey in surveys
        if any(last >= first for first, last in extents(survey, processing, lag_s))
    ]
    factors, squares, starts, count = np.zeros((6, WIDTH, WIDTH)), [], [], 0
    for block in _rows(hand_alone(fit_data.robot), used, processing, lag_s).blocks() if used else ():
        table, time = _equations(block)
        for i in range(6):
            absorb(factors[i], np.array(table[:, i].T, order="C"))
        for first in range(0, len(table), per_group):
            group = np.swapaxes(table[first : first + per_group], 0, 1)
            squares.append(np.swapaxes(group, 1, 2) @ group)
            starts.append(float(time[first]))
        count += len(table)
    if count <= 2 * OWN * len(used):
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
        datasets=len(used),
        offsets=offsets,
    )


def _rows(robot: Robot, surveys: Sequence[Survey], processing: Processing, lag_s: float) -> FitData:
    """The rows of `hand_alone`'s sensor in all datasets, each with a bias and drift of its own, by one delay."""
    numbers = tuple(range(len(surveys)))
    datasets = tuple(survey.data for survey in surveys)
    lag = (lag_s,)
    return FitData(robot, datasets, processing, tuple(surveys), numbers, ("delay",), lag, lag)


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
