"""The fixes of findings as one: those that are certain, and of explanations that rival each other the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from heft.identify.diagnosis.cure import cured, merged
from heft.identify.diagnosis.finding import Finding
from heft.identify.diagnosis.log import Log
from heft.identify.robot import Robot

__all__ = ["chosen", "corrected", "fix_of"]


def chosen(found: Sequence[Finding]) -> list[Finding]:
    """Findings whose fixes go together, worst first: one of each kind, and one of all rivals."""
    out: list[Finding] = []
    for one in sorted(found, key=lambda one: one.rank):
        if one.fix is None or one.severity == "note" or any(one.id == other.id for other in out):
            continue
        if one.rival and any(other.rival for other in out):
            continue
        out.append(one)
    return out


def fix_of(found: Sequence[Finding]) -> dict[str, Any]:
    """One partial map of all that is chosen; empty where nothing can be fixed by a line."""
    whole: dict[str, Any] = {}
    for one in chosen(found):
        assert one.fix is not None
        whole = merged(whole, one.fix)
    return whole


def corrected(log: Log, robot: Robot | None, found: Sequence[Finding]) -> tuple[Log, Robot | None]:
    """Log and robot with all that is chosen fixed."""
    for one in chosen(found):
        assert one.fix is not None
        log = cured(log, one.fix)
        gravity = one.fix.get("robot", {}).get("gravity")
        if robot is not None and gravity is not None:
            robot = replace(robot, tree=replace(robot.tree, gravity=np.array(gravity, dtype=np.float64)))
    return log, robot
