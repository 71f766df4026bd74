"""A defect of a log, and changes of logs that defects are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, filtfilt

from heft.identify import Robot
from heft.identify.diagnosis.log import Log, Table

__all__ = [
    "DEFECTS",
    "Array",
    "Case",
    "Defect",
    "column",
    "computed",
    "defect",
    "late",
    "least_squares",
    "rows",
    "scaled",
    "stamped",
    "without",
]

Case = tuple[Log, Robot]
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Defect:
    """A name, the findings that name it, the mistake, whether a fix cures it, and joints that must be named."""

    name: str
    ids: tuple[str, ...]
    make: Callable[[Log, Robot, int, np.random.Generator], Case]
    curable: bool = False
    joint: int | None = None


DEFECTS: list[Defect] = []


def defect(
    name: str, *ids: str, curable: bool = False, joint: int | None = None
) -> Callable[[Callable[[Log, Robot, int, np.random.Generator], Case]], None]:
    """Enter a function as a defect."""

    def enter(make: Callable[[Log, Robot, int, np.random.Generator], Case]) -> None:
        DEFECTS.append(Defect(name, ids, make, curable, joint))

    return enter


def stamped(log: Log, change: Callable[[Array], Array]) -> Log:
    """The log with other stamps in every table."""
    return replace(log, tables={key: replace(one, t=change(one.t)) for key, one in log.tables.items()})


def rows(log: Log, keep: NDArray[np.bool_]) -> Log:
    """The log with some rows only."""
    return replace(
        log,
        tables={
            k: replace(one, t=one.t[keep[: len(one)]], values=one.values[keep[: len(one)]], host=None)
            for k, one in log.tables.items()
        },
    )


def column(log: Log, key: str, j: int, change: Callable[[Array], Array]) -> Log:
    """The log with one column of a table changed."""
    values = log.tables[key].values.copy()
    values[:, j] = change(values[:, j])
    return log.with_values(**{key: values})


def without(log: Log, *keys: str) -> Log:
    """The log without some tables."""
    return replace(log, tables={key: one for key, one in log.tables.items() if key not in keys})


def scaled(log: Log, **factors: float | Array) -> Log:
    """The log with some tables times a factor."""
    return log.with_values(**{key: log.tables[key].values * factor for key, factor in factors.items()})


def late(table: Table, late_s: float | Array) -> Array:
    """The values of a table as if they were taken so much later [s]."""
    return np.stack([np.interp(table.t - late_s, table.t, column) for column in table.values.T], axis=1)


def computed(log: Log, robot: Robot, gravity: bool = True) -> tuple[Array, Array, Array, Array]:
    """Smooth motion of the log, and the torque of the file's rigid body on it, at the rows of torques."""
    q = log.tables["q"]
    t, step = q.t, q.step_s
    b, a = butter(3, 12 * 2 * step)
    smooth = filtfilt(b, a, q.values, axis=0)
    dq = np.gradient(smooth, t, axis=0)
    ddq = np.gradient(dq, t, axis=0)
    assert robot.prior is not None
    rigid = robot.prior.copy()
    rigid[10 * len(robot.links) :] = 0.0
    arm = robot if gravity else replace(robot, tree=replace(robot.tree, gravity=np.zeros(3)))
    return smooth, dq, ddq, arm.torque(smooth, dq, ddq, rigid)


def least_squares(log: Log, robot: Robot) -> Array:
    """Parameters of the healthy log by least squares, the smallest of those that fit, shape (p,)."""
    q, dq, ddq, _ = computed(log, robot)
    tau = log.tables["tau"]
    at = np.searchsorted(tau.t, log.tables["q"].t).clip(0, len(tau.t) - 1)
    each = max(1, len(q) // 4000)
    rows = robot.regressor.dense(q[::each], dq[::each], ddq[::each])
    right = tau.values[at[::each]]
    return np.asarray(np.linalg.lstsq(rows.reshape(-1, rows.shape[2]), right.reshape(-1), rcond=1e-9)[0])
