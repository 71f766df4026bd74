"""Rows of a fit as friction sees them: velocity, and what links and other terms leave of the torque."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.data import Dataset, RowBlock
from heft.identify.information.fit_data import FitData
from heft.identify.robot import Robot
from heft.identify.robot.regressor.drives import REFERENCE_K

__all__ = ["FrictionRows"]

BLOCKS = 16  # of time
MOST_ROWS = 16_384  # that are looked at: a few minutes


@dataclass(frozen=True, eq=False)
class FrictionRows:
    """K rows of n joints in BLOCKS stretches of time.

    time       [s], shape (K,)
    block      number of the stretch of time that each row is in, in order, shape (K,)
    keep       False where a joint stood still, shape (K, n)
    velocity   [rad/s, m/s], shape (K, n); NaN for joints without viscous friction
    rest       torque less the links' [N m, N], shape (K, n)
    load       torque of the prior's links [N m, N], shape (K, n), or None
    warmth     temperature over that of reference [K], shape (K, n), or None where nothing measured it
    drives     drive columns of each joint, n of shape (K, d)
    recording  one column for each recording but the first that has torque offsets of its own, ones in its rows: (K, r)
    """

    time: Array
    block: NDArray[np.int64]
    keep: NDArray[np.bool_]
    velocity: Array
    rest: Array
    load: Array | None
    warmth: Array | None
    drives: tuple[Array, ...]
    recording: Array

    @classmethod
    def of(cls, data: FitData, parameters: Array) -> Self:
        """Of a fit with these parameters (p,): all rows, or the first of each block where there are very many."""
        robot = data.robot
        is_link = np.arange(len(parameters)) < 10 * len(robot.links)
        links = np.where(is_link, parameters, 0.0)
        prior = None if robot.prior is None else np.where(is_link, robot.prior, 0.0)
        parts = [_drive_part(robot, j) for j in range(len(robot.joints))]
        viscous = np.array([_column(robot, j, "viscous") for j in range(len(robot.joints))])
        count = data.row_count()
        blocks = [part for block in data.plain_blocks() if len((part := _first_rows(block, count)).index)]
        load = None if prior is None else np.concatenate([block.predict(prior) for block in blocks])
        own = np.concatenate([np.full(len(block.index), data.recordings[block.dataset]) for block in blocks])
        return cls(
            time=np.concatenate([block.time for block in blocks]),
            block=np.concatenate([block.index * BLOCKS // count for block in blocks]),
            keep=np.concatenate([block.keep for block in blocks]),
            velocity=np.where(
                viscous >= 0, np.concatenate([block.table[:, viscous] for block in blocks]), np.nan
            ),
            rest=np.concatenate([block.torque - block.predict(links) for block in blocks]),
            load=load,
            warmth=_warmth(data.datasets, blocks),
            drives=tuple(np.concatenate([block.table[:, part] for block in blocks]) for part in parts),
            recording=(own[:, None] == np.arange(1, data.recording_count if data.own_offsets else 1)).astype(
                float
            ),
        )


def _first_rows(block: RowBlock, count: int) -> RowBlock:
    """Those of a block's rows that are among the first of their stretch of time, of `count` rows in all."""
    first = -(-(block.index * BLOCKS // count) * count // BLOCKS)
    seen = block.index - first < MOST_ROWS // BLOCKS
    if seen.all():
        return block
    return replace(
        block,
        index=block.index[seen],
        time=block.time[seen],
        table=block.table[seen],
        keep=block.keep[seen],
        rates=block.rates[seen],
    )


def _warmth(datasets: Sequence[Dataset], blocks: Sequence[RowBlock]) -> Array | None:
    """T - T_0 at the rows of blocks [K], shape (K, n); None where a dataset has no temperature."""
    known = [datasets[block.dataset].temperature for block in blocks]
    parts = [one.at(block.time) for one, block in zip(known, blocks, strict=True) if one is not None]
    return np.concatenate(parts, axis=1).T - REFERENCE_K if len(parts) == len(blocks) else None


def _drive_part(robot: Robot, joint: int) -> slice:
    """The drive columns of a joint's row."""
    part = robot.regressor.layout.row(joint)
    first = part.start + 10 * len(robot.regressor.layout.bodies[joint])
    return slice(first, first + len(robot.drives.columns(joint)))


def _column(robot: Robot, joint: int, term: str) -> int:
    """The column of a joint's term in its row, -1 where it has none."""
    names = [column.parameter for column in robot.drives.columns(joint)]
    wanted = f"{robot.joints[joint]}.{term}"
    return _drive_part(robot, joint).start + names.index(wanted) if wanted in names else -1
