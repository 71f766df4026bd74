"""Results: parameters with intervals, errors and warnings; their file, report and export."""

from __future__ import annotations

from heft.identify.certainty.reason import Reason
from heft.identify.result.base_values import BaseValues
from heft.identify.result.parameter_values import JointParameters, LinkParameters, Parameters
from heft.identify.result.provenance import DataOrigin, Provenance
from heft.identify.result.relative_error import RelativeError
from heft.identify.result.result import Prediction, Result, load
from heft.identify.result.verdict import Verdict

__all__ = [
    "BaseValues",
    "DataOrigin",
    "JointParameters",
    "LinkParameters",
    "Parameters",
    "Prediction",
    "Provenance",
    "Reason",
    "RelativeError",
    "Result",
    "Verdict",
    "load",
]
