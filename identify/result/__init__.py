"""Results: parameters with intervals, errors and warnings; their file, report and export."""

from __future__ import annotations

from heft.identify.result.base_values import BaseValues
from heft.identify.result.parameter_values import JointParameters, LinkParameters, Parameters
from heft.identify.result.provenance import DataOrigin, Provenance
from heft.identify.result.relative_error import RelativeError
from heft.identify.result.result import Prediction, Result, load

__all__ = [
    "BaseValues",
    "DataOrigin",
    "JointParameters",
    "LinkParameters",
    "Parameters",
    "Prediction",
    "Provenance",
    "RelativeError",
    "Result",
    "load",
]
