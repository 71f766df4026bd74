"""Identification: recordings in, parameters out.

robot  = identify.Robot.load("configs/robots/wam7.yaml")
data   = identify.Dataset.from_recording("session.mcap", robot)
result = identify.fit(robot, data)
result.parameters["link3"].mass, result.relative_error(other).total, result.save("result.json")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Functions that share their name with the module they live in must be bound here, before anyone imports the module.
from heft.identify.bodies.consistency import consistency
from heft.identify.fit import Signals, fit

if TYPE_CHECKING:
    from heft.identify.certainty.bootstrap import Bootstrap
    from heft.identify.data import Dataset, Processing
    from heft.identify.estimation.estimators import Method
    from heft.identify.estimation.feasibility import check_base, correct_base
    from heft.identify.estimation.problem import Bounds
    from heft.identify.result import Result, load
    from heft.identify.robot import Robot
    from heft.identify.robot.base import base_parameters

__all__ = [
    "Bootstrap",
    "Bounds",
    "Dataset",
    "Method",
    "Processing",
    "Result",
    "Robot",
    "Signals",
    "base_parameters",
    "check_base",
    "consistency",
    "correct_base",
    "fit",
    "load",
]

_HOME = {
    "Bootstrap": "heft.identify.certainty.bootstrap",
    "Bounds": "heft.identify.estimation.problem",
    "Dataset": "heft.identify.data",
    "Method": "heft.identify.estimation.estimators",
    "Processing": "heft.identify.data",
    "Result": "heft.identify.result",
    "Robot": "heft.identify.robot",
    "base_parameters": "heft.identify.robot.base",
    "check_base": "heft.identify.estimation.feasibility",
    "correct_base": "heft.identify.estimation.feasibility",
    "load": "heft.identify.result",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
