"""Results of logs with a defect, identified again with the map that `--fix` writes, against that of the healthy log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from heft.identify import Result, Robot, fit
from heft.identify.diagnosis.aligned import dataset_of
from heft.identify.diagnosis.cure import cured
from heft.identify.diagnosis.finding import Finding
from heft.identify.diagnosis.fixes import fix_of
from heft.identify.diagnosis.log import Log
from heft.identify.errors import HeftError

__all__ = ["Agreement", "cured_agreement", "result_of"]

INSIDE = 0.95  # of the base parameters: as many as intervals of 95 % promise
ERROR = 1.1  # times the healthy result's error on the healthy log
EQUAL = 0.01  # of a velocity's spread


@dataclass(frozen=True)
class Agreement:
    """How a result agrees with the healthy one.

    inside   share of the base parameters that lie in the healthy result's 95 % intervals
    error    of its torques on the healthy log, over the healthy result's own
    """

    inside: float
    error: float

    @property
    def restored(self) -> bool:
        """Whether it is the healthy result."""
        return self.inside >= INSIDE and self.error <= ERROR


NONE = Agreement(0.0, float("inf"))
SAME = Agreement(1.0, 1.0)


def result_of(log: Log, robot: Robot) -> Result:
    """What a log is identified to."""
    return fit(robot, dataset_of(log))


def cured_agreement(
    log: Log, result: Result, broken: Log, robot: Robot, found: Sequence[Finding]
) -> Agreement:
    """Of what a broken log is identified to with all fixes merged, as `--fix` writes them, with the healthy result."""
    fix = fix_of(found)
    if not fix:
        return NONE
    again = cured(broken, fix)
    if "dq" in log.tables and "dq" in again.tables and not _equal(log.tables["dq"].values, again):
        return NONE
    if _same(log, broken) and "robot" not in fix:
        return SAME
    gravity = fix.get("robot", {}).get("gravity")
    if gravity is not None:
        robot = replace(robot, tree=replace(robot.tree, gravity=np.array(gravity, dtype=np.float64)))
    try:
        other = result_of(again, robot)
    except HeftError:
        return NONE
    values = dict(zip(other.base.names, other.base.values, strict=True))
    base = zip(result.base.names, result.base.values, result.base.half_widths, strict=True)
    inside = [abs(values.get(name, np.inf) - value) <= half for name, value, half in base]
    error = other.relative_error(dataset_of(log)).total / result.fit.total
    return Agreement(float(np.mean(inside)), float(error))


def _equal(velocities: np.ndarray, other: Log) -> bool:
    """Whether velocities (T, n) are those of another log, to rounding of their factors."""
    again = other.tables["dq"].values
    if again.shape != velocities.shape:
        return False
    off = np.sqrt(((again - velocities) ** 2).mean(axis=0))
    return bool((off <= EQUAL * velocities.std(axis=0)).all())


def _same(log: Log, other: Log) -> bool:
    """Whether two logs have the same stamps, positions, torques and wrenches."""
    return all(
        np.array_equal(log.tables[key].t, other.tables[key].t, equal_nan=True)
        and np.array_equal(log.tables[key].values, other.tables[key].values, equal_nan=True)
        for key in ("q", "tau", "wrench")
        if key in log.tables
    )
