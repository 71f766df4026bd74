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
from identify.consistency import consistency
from identify.fit import fit

if TYPE_CHECKING:
    from identify.base import base_parameters
    from identify.dataset import Dataset, Processing
    from identify.problem import Bounds
    from identify.result import Result, load
    from identify.robot import Robot

__all__ = [
    "Bounds",
    "Dataset",
    "Processing",
    "Result",
    "Robot",
    "base_parameters",
    "consistency",
    "fit",
    "load",
]

_HOME = {
    "Bounds": "identify.problem",
    "Dataset": "identify.dataset",
    "Processing": "identify.dataset",
    "Result": "identify.result",
    "Robot": "identify.robot",
    "base_parameters": "identify.base",
    "load": "identify.result",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
