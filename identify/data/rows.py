"""From data to filtered rows of the regression, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.data.dataset import Dataset
from heft.identify.data.filters import Differentiator, central
from heft.identify.data.measured_rows import JOINTS, measured_rows
from heft.identify.data.periodic import periodic_rows
from heft.identify.data.processing import Processing
from heft.identify.data.row_block import RowBlock
from heft.identify.data.sampling import Piece
from heft.identify.data.survey import Survey, survey
from heft.identify.errors import DataError
from heft.identify.robot.regressor.drives import REFERENCE_K

if TYPE_CHECKING:
    from heft.identify.robot import Robot

__all__ = ["extents", "filtered_rows", "source_rates", "source_rows", "within"]

BLOCK = 8192  # samples: the same ones always stand in the same block


def filtered_rows(
    robot: Robot,
    data: Dataset,
    processing: Processing,
    surveyed: Survey | None = None,
    delay_s: float = 0.0,
) -> Iterator[RowBlock]:
    """Rows of a dataset in order of time; `surveyed` is what `survey` says of it. Memory does not grow with it.

    `delay_s` is how old torques are against positions: whole samples of it are taken out by reading torques that
    much later, the rest by their derivatives. The torque of the data's known load is taken off.
    """
    surveyed = surveyed or survey(robot, data, processing)
    load = None if data.load is None else data.load.parameters(robot)
    for block in _blocks(robot, processing, surveyed, delay_s):
        yield block if load is None else block.relieved(load)


def _blocks(robot: Robot, processing: Processing, surveyed: Survey, delay_s: float) -> Iterator[RowBlock]:
    """Rows with torques as measured."""
    if processing.derivative == "fourier":
        if robot.regressor.layout.cuts or robot.tree.free:
            raise DataError("derivative fourier is for joint torques of an arm; use central for wrenches")
        yield periodic_rows(robot, surveyed.data, processing, surveyed, delay_s)
        return
    data, step = surveyed.data, surveyed.sampling.step_s
    lag = round(delay_s / step)
    taps, decimation = processing.taps(1 / step), processing.decimation(1 / step)
    motion, torque = processing.differentiator(1 / step), central(taps, step)
    half, width = len(taps) // 2, robot.regressor.layout.width
    length = max(BLOCK, 4 * motion.half)
    index = 0
    for piece, (first, last) in zip(
        surveyed.sampling.pieces, extents(surveyed, processing, delay_s), strict=True
    ):
        if last < first:
            continue
        open_rows = np.zeros((0, width))
        for start in range(first * decimation - half, last * decimation + half + 1, length):
            stop = min(start + length, last * decimation + half + 1)
            position, velocity, acceleration = data.kinematics(piece, step, start, stop, motion)
            surveyed.held(position, velocity, acceleration)
            inner = measured_rows(robot, data, piece, step, start, stop, lag)
            time = piece.start_s + step * np.arange(start, stop, dtype=np.float64)
            done = min(last, (stop - 1 - half) // decimation)  # last row that is complete after this block
            reached = min(last, (stop - 1 + half) // decimation)
            rows = np.zeros((reached - first + 1, width))
            rows[: len(open_rows)] = open_rows
            robot.regressor.decimate(
                position,
                velocity,
                acceleration,
                inner,
                taps,
                decimation,
                first * decimation - half - start,
                rows,
                _warmth(robot, data, time),
                data.root(robot, piece, step, start, stop, motion),
                time - data.middle_s,
            )
            complete = max(0, done - first + 1)
            time = piece.start_s + step * decimation * np.arange(first, first + complete, dtype=np.float64)
            if complete:
                around = (first * decimation - torque.half, done * decimation + torque.half + 1)
                block = RowBlock(
                    robot.regressor.layout,
                    index + np.arange(complete),
                    time,
                    rows[:complete],
                    _usable(robot, surveyed, time, processing, delay_s),
                    _rates(robot, data, piece, step, around, lag, torque, decimation),
                )
                yield block.aligned(delay_s - lag * step)
            index += complete
            first += complete
            open_rows = rows[complete:]
    if index == 0:
        longest = max(piece.count for piece in surveyed.sampling.pieces) * step
        raise DataError(
            f"too short: the longest stretch is {longest:.3g} s, and at {processing.cutoff_hz:g} Hz the filters need "
            f"{(2 * (motion.half + half) + decimation) * step:.3g} s; record longer, or raise the cut-off"
        )


def _rates(
    robot: Robot,
    data: Dataset,
    piece: Piece,
    step_s: float,
    around: tuple[int, int],
    lag: int,
    filters: Differentiator,
    decimation: int,
    sources: tuple[str, ...] | None = None,
) -> Array:
    """How what was measured changes when it is read later: both derivatives, low-passed and decimated, (K, rows, 2).

    The lever of a contact stays where it is meanwhile: what its sensor tells is read a sample earlier and later.
    """
    if not robot.regressor.layout.contacts:
        return filters.rates(measured_rows(robot, data, piece, step_s, *around, lag, sources), decimation)
    wrenches = tuple(name for name in data.wrench_names if sources is None or name in sources)
    early, now, late = (
        filters.apply(measured_rows(robot, data, piece, step_s, *around, lag + k, wrenches))[0][
            :, ::decimation
        ].T
        for k in (-1, 0, 1)
    )
    rates = np.stack([(late - early) / (2 * step_s), (late - 2 * now + early) / step_s**2], axis=2)
    if sources is None or JOINTS in sources:
        rates += filters.rates(measured_rows(robot, data, piece, step_s, *around, lag, (JOINTS,)), decimation)
    return rates


def source_rates(
    robot: Robot,
    surveyed: Survey,
    processing: Processing,
    time: Array,
    delay_s: float,
    sources: tuple[str, ...],
) -> Array:
    """Derivatives of what some sources measured, at the instants `time` of a block of rows: shape (B, rows, 2).

    `delay_s` is what the block's rows were made with. `sources` as in `measured_rows`.
    """
    data, step, lag = surveyed.data, surveyed.sampling.step_s, round(delay_s / surveyed.sampling.step_s)
    piece, around, filters, decimation = _under(surveyed, processing, time)
    rates = _rates(robot, data, piece, step, around, lag, filters, decimation, sources)
    rates[:, :, 0] += (delay_s - lag * step) * rates[:, :, 1]
    return rates


def source_rows(
    robot: Robot,
    surveyed: Survey,
    processing: Processing,
    time: Array,
    delay_s: float,
    sources: tuple[str, ...],
) -> Array:
    """What some sources alone add to what was measured of each row, at the instants `time` of a block: (B, rows).

    Arguments as of `source_rates`; to a whole sample of the delay.
    """
    step = surveyed.sampling.step_s
    piece, around, filters, decimation = _under(surveyed, processing, time)
    rows = measured_rows(robot, surveyed.data, piece, step, *around, round(delay_s / step), sources)
    return np.asarray(filters.apply(rows)[0][:, ::decimation].T)


def _under(
    surveyed: Survey, processing: Processing, time: Array
) -> tuple[Piece, tuple[int, int], Differentiator, int]:
    """The piece that rows at the instants `time` are of, the samples that they are made of, by which filters, and how
    many samples lie between them.
    """
    step = surveyed.sampling.step_s
    decimation = processing.decimation(1 / step)
    filters = central(processing.taps(1 / step), step)
    starts = np.array([piece.start_s for piece in surveyed.sampling.pieces])
    piece = surveyed.sampling.pieces[int(np.searchsorted(starts, time[0], side="right")) - 1]
    first = round((time[0] - piece.start_s) / step)
    stop = first + (len(time) - 1) * decimation + 1
    return piece, (first - filters.half, stop + filters.half), filters, decimation


def _warmth(robot: Robot, data: Dataset, time: Array) -> Array | None:
    """How much warmer than `REFERENCE_K` the joints are [K], shape (n, T), where a term asks for it."""
    if data.temperature is None or not robot.drives.uses_temperature:
        return None
    return data.temperature.at(time) - REFERENCE_K


def extents(surveyed: Survey, processing: Processing, delay_s: float) -> list[tuple[int, int]]:
    """First and last row of each piece. Row k stands at sample k * decimation and needs a margin on both sides."""
    step = surveyed.sampling.step_s
    rate, lag = 1 / step, round(delay_s / step)
    decimation = processing.decimation(rate)
    margin = processing.differentiator(rate).half + len(processing.taps(rate)) // 2
    trim = [int(np.ceil(seconds / step)) for seconds in processing.trim_s]
    final, pairs = len(surveyed.sampling.pieces) - 1, []
    for number, piece in enumerate(surveyed.sampling.pieces):
        before = (max(margin, trim[0]) if number == 0 else margin) + max(0, -lag)
        after = (max(margin, trim[1]) if number == final else margin) + max(0, lag)
        pairs.append((-(-before // decimation), (piece.count - 1 - after) // decimation))
    return pairs


def _usable(
    robot: Robot, surveyed: Survey, time: Array, processing: Processing, delay_s: float
) -> NDArray[np.bool_]:
    """Where each joint moves and its torque is measured, and where each wrench is known: shape (B, rows).

    A margin around rest and gaps is left out. Gaps are bridged; an unknown wrench is not, and no row may have a part
    of it.
    """
    margin_s, step_s = 0.5 / processing.cutoff_hz, surveyed.sampling.step_s
    late_s = [abs(one.delay_s or 0.0) for one in robot.sensors.values()]
    reach_s = len(processing.taps(1 / step_s)) // 2 * step_s + abs(delay_s) + max(late_s, default=0.0)
    gaps = within(time, surveyed.gaps, margin_s)
    measured = robot.measured_rows & surveyed.data.has_torque
    moving = [~(gaps | within(time, rest, margin_s)) & measured[j] for j, rest in enumerate(surveyed.rest)]
    known = ~gaps & ~within(time, surveyed.unknown, reach_s)
    return np.stack([*moving, *[known] * (robot.regressor.layout.count - len(moving))], axis=1)


def within(time: Array, intervals: Sequence[tuple[float, float]], margin_s: float) -> NDArray[np.bool_]:
    """Which of these increasing times lie in one of the intervals, or less than a margin beside it, shape (B,)."""
    if not intervals:
        return np.zeros(len(time), dtype=bool)
    starts, ends = np.array(intervals).T
    turns = np.zeros(len(time) + 1, dtype=np.int64)
    np.add.at(turns, np.searchsorted(time, starts - margin_s, side="right"), 1)
    np.add.at(turns, np.searchsorted(time, ends + margin_s, side="left"), -1)
    return np.cumsum(turns)[:-1] > 0
