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

__all__ = ["Agreement", "cured_result", "result_of"]

INSIDE = 0.95  # of the base parameters: as many as intervals of 95 % promise
ERROR = 1.1  # times the healthy result's error on the healthy log


@dataclass(frozen=True)
class Agreement:
    """How a result agrees with the healthy one.

    inside   share of the base parameters that lie in the healthy result's 95 % intervals
    error    of its torques on the healthy log, over the healthy result's own
    """

    inside: float
    error: float

    @classmethod
    def of(cls, healthy: Result, other: Result, log: Log) -> Agreement:
        """Of another result with the healthy one, which `log` was identified to."""
        values = dict(zip(other.base.names, other.base.values, strict=True))
        off = [
            abs(values.get(name, np.inf) - value) / half
            for name, value, half in zip(
                healthy.base.names, healthy.base.values, healthy.base.half_widths, strict=True
            )
        ]
        error = other.relative_error(dataset_of(log)).total / healthy.fit.total
        return cls(float(np.mean(np.array(off) <= 1.0)), float(error))

    @property
    def restored(self) -> bool:
        """Whether it is the healthy result."""
        return self.inside >= INSIDE and self.error <= ERROR


def result_of(log: Log, robot: Robot) -> Result:
    """What a log is identified to."""
    return fit(robot, dataset_of(log))


def cured_result(broken: Log, robot: Robot, found: Sequence[Finding]) -> Result | None:
    """The result with all fixes merged, as `heft check --fix` writes and `heft identify --map` reads them; or None."""
    fix = fix_of(found)
    if not fix:
        return None
    gravity = fix.get("robot", {}).get("gravity")
    if gravity is not None:
        robot = replace(robot, tree=replace(robot.tree, gravity=np.array(gravity, dtype=np.float64)))
    try:
        return result_of(cured(broken, fix), robot)
    except HeftError:
        return None
