"""Estimators: one file each, one signature, `method(problem) -> Estimate`. See `METHODS`."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Any

from identify.errors import ProblemError

if TYPE_CHECKING:
    from identify.estimators.answer import Estimate
    from identify.problem import Problem

__all__ = ["METHODS", "estimate"]

METHODS = {
    "ols": "least squares, every residual alike",
    "wls": "least squares, joints by their own residuals",
    "irls": "least squares, outliers without a say",
    "ridge": "least squares with small parameters where the data say nothing (004)",
    "closest": "least squares, and closest to the prior (002)",
    "essential": "closest to the prior, changing essential parameters alone (002)",
    "check": "least squares, and whether it is feasible (003)",
    "correct": "least squares, then the closest feasible vector (003)",
    "sdp": "least squares inside the feasible set (003)",
    "masspoint": "mass points in the links' boxes (000)",
    "manifold": "least squares on the manifold of possible bodies (001)",
    "recursive": "on-line least squares with forgetting (004)",
}
"""What each method does; `identify.estimators.NAME.NAME` does it, and its keywords are its options."""


def estimate(problem: Problem, method: str, **options: Any) -> Estimate:
    """Estimate by the method of that name."""
    if method not in METHODS:
        raise ProblemError(f"no method {method!r}; there are {', '.join(METHODS)}")
    function = getattr(import_module(f"identify.estimators.{method}"), method)
    known = list(inspect.signature(function).parameters)[1:]
    for name in options:
        if name not in known:
            raise ProblemError(f"{method} has no option {name!r}; it has {', '.join(known) or 'none'}")
    answer: Estimate = function(problem, **options)
    return answer
