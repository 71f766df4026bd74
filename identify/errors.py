"""What can go wrong in identification, and how it reads.

    HeftError
    +-- ConfigError
    |   +-- ModelError               a robot model that cannot be used, or that disagrees with itself
    +-- DataError (ValueError)       motion and torque that nothing can be identified from
    +-- ParameterError (ValueError)  names or numbers that are not this robot's parameters
    +-- ProblemError (ValueError)    a question without an answer: an infeasible bound, an inconsistent prior
    +-- SolverError (RuntimeError)   the solver stopped short of the optimum: there is no answer
    +-- ResultError (ValueError)     a file that is not a result
    +-- ExportError (ValueError)     a result that should not, or cannot, be written as a model file

Each message says what, the value, the bound, and what to do. What does not stop an identification is a line
in the result's `warnings`, with its number and a remedy.
"""

from __future__ import annotations

from heft.daq.errors import ConfigError
from heft.drivers.errors import HeftError

__all__ = [
    "DataError",
    "ExportError",
    "HeftError",
    "ModelError",
    "ParameterError",
    "ProblemError",
    "ResultError",
    "SolverError",
]


class ModelError(ConfigError):
    """A robot model that cannot be used, or that disagrees with itself: URDF and MJCF are configuration, as YAML is."""


class DataError(HeftError, ValueError):
    """Motion and torque that nothing can be identified from."""


class ParameterError(HeftError, ValueError):
    """Names or numbers that are not this robot's parameters."""


class ProblemError(HeftError, ValueError):
    """A question without an answer: an infeasible bound, an inconsistent prior, a box that is missing."""


class SolverError(HeftError, RuntimeError):
    """The solver stopped short of the optimum: there is no answer."""


class ResultError(HeftError, ValueError):
    """A file that is not a result."""


class ExportError(HeftError, ValueError):
    """A result that should not, or cannot, be written as a model file."""
