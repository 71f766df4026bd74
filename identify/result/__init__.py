"""Results: parameters with their judgement, and their file."""

from __future__ import annotations

from identify.result.base_values import BaseValues
from identify.result.document import load
from identify.result.parameters import JointParameters, LinkParameters, Parameters
from identify.result.prediction import Prediction
from identify.result.provenance import DataOrigin, Provenance
from identify.result.relative_error import RelativeError
from identify.result.result import Result

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
