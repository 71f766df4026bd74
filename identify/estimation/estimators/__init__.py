"""Estimators: one module each, one function of the module's name, `NAME(problem, **options) -> Estimate`.

A new estimator is its module, one line in `ESTIMATORS` and a test.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from heft.identify.errors import ProblemError

if TYPE_CHECKING:
    from heft.identify.bodies.arrays import Array
    from heft.identify.estimation.estimate import Estimate
    from heft.identify.estimation.problem import Problem, Weighting

__all__ = ["ESTIMATORS", "Estimator", "Method", "estimate"]


@dataclass(frozen=True)
class Estimator:
    """What an estimator does.

    summary       one line
    feasible      its parameters are consistent at the problem's level, whatever the data
    wrist_limit   it also keeps what a wrist sensor carries a possible part of its link
    constraints   it also heeds constraints of one's own (docs/constraints.md)
    """

    summary: str
    feasible: bool = False
    wrist_limit: bool = False
    constraints: bool = False


ESTIMATORS = {
    "ols": Estimator("least squares, every residual alike"),
    "wls": Estimator("least squares, joints by their own residuals"),
    "irls": Estimator("least squares, outliers without a say"),
    "ridge": Estimator("least squares with small parameters where the data say nothing (004)"),
    "closest": Estimator("least squares, and closest to the prior (002)"),
    "essential": Estimator("closest to the prior, changing essential parameters alone (002)"),
    "check": Estimator("least squares, and whether it is feasible (003)"),
    "correct": Estimator("least squares, then the closest feasible vector (003)", feasible=True),
    "sdp": Estimator(
        "least squares inside the feasible set (003)", feasible=True, wrist_limit=True, constraints=True
    ),
    "masspoint": Estimator("mass points in the links' boxes (000)", feasible=True),
    "manifold": Estimator("least squares on the manifold of possible bodies (001)", feasible=True),
    "recursive": Estimator("on-line least squares with forgetting (004)"),
}
"""By name; `heft.identify.estimation.estimators.NAME.NAME` does it, and its keywords are its options."""


@dataclass(frozen=True)
class Method:
    """An estimator by name, with the settings that it takes.

    options     keywords of the estimator's function
    weighting   of the squared residuals: `joint` by each joint's own residual, `none`, or numbers, shape (n,)
    """

    name: str = "sdp"
    options: Mapping[str, Any] = field(default_factory=dict)
    weighting: Weighting | Array = "joint"


def estimate(problem: Problem, method: str, **options: Any) -> Estimate:
    """Estimate by the method of that name."""
    if method not in ESTIMATORS:
        raise ProblemError(f"no method {method!r}; there are {', '.join(ESTIMATORS)}")
    function = getattr(import_module(f"heft.identify.estimation.estimators.{method}"), method)
    known = list(inspect.signature(function).parameters)[1:]
    for name in options:
        if name not in known:
            raise ProblemError(f"{method} has no option {name!r}; it has {', '.join(known) or 'none'}")
    heedless = bool(problem.demands) and not ESTIMATORS[method].constraints
    if heedless and problem.own is not None:
        able = ", ".join(name for name, one in ESTIMATORS.items() if one.constraints)
        raise ProblemError(f"{method} takes no constraints of one's own; use {able}, or leave them out")
    answer: Estimate = function(replace(problem, declared=None) if heedless else problem, **options)
    if heedless:
        said = f"{method} does not heed the constraints of the robot's file: {'; '.join(problem.demands)}; use sdp"
        answer = replace(answer, warnings=(*answer.warnings, said))
    return answer
