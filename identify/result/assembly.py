"""A result from what a fit found: estimate, assessment, delays, and where the data came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from heft.identify.certainty.assessment import Assessment
from heft.identify.certainty.interval import Interval
from heft.identify.certainty.reason import Reason
from heft.identify.estimation.alignment.delay import Delay
from heft.identify.estimation.cutoff.tradeoff import Tradeoff
from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.estimators.essential import essential_parameters
from heft.identify.estimation.friction import FrictionChoice
from heft.identify.estimation.problem import Problem
from heft.identify.information.fit_data import FitData
from heft.identify.result.base_values import BaseValues
from heft.identify.result.estimate_warnings import estimate_warnings
from heft.identify.result.parameter_values import Parameters
from heft.identify.result.provenance import Provenance
from heft.identify.result.relative_error import RelativeError
from heft.identify.result.result import Result
from heft.identify.robot.identifiability import identifiability

__all__ = ["WristFindings", "assemble"]


class WristFindings(Protocol):
    """What the wrist sensor adds to a result: its delay, intervals of what it carries by name, and notes."""

    @property
    def delay(self) -> Delay: ...
    @property
    def intervals(self) -> Mapping[str, Interval]: ...
    @property
    def notes(self) -> tuple[str, ...]: ...


def assemble(
    data: FitData,
    problem: Problem,
    estimate: Estimate,
    assessment: Assessment,
    *,
    configuration: Mapping[str, Any],
    tradeoff: Tradeoff | None = None,
    friction: FrictionChoice | None = None,
    wrist: WristFindings | None = None,
    findings: tuple[Reason, ...] = (),
) -> Result:
    """The result of an estimate and its assessment.

    configuration   of the fit, as plain JSON values, for the result's provenance
    tradeoff        what other cut-offs would have cost
    friction        that was chosen for each joint
    wrist           what the wrist sensor adds; None for a robot without one
    findings        reasons against the answer that were found with the data
    """
    base, uncertainty = problem.base, assessment.uncertainty
    factor, _, _ = problem.stacked(np.ones(problem.joints))
    condition_number = base.condition_number(factor)
    error = RelativeError.of(
        problem.information, estimate.parameters, data.robot.force_rows, len(data.robot.joints)
    )
    essential = estimate.essential
    if not essential:
        optimum = (estimate.least_squares, estimate.spread) if estimate.information is None else None
        kept, _ = essential_parameters(problem, estimate.weights, optimum=optimum)
        essential = tuple(base.names[i] for i in kept)
    delays = (assessment.delay, *(() if wrist is None else (wrist.delay,)), *assessment.sensors)
    return Result(
        robot=data.robot,
        method=estimate.method,
        level=problem.level,
        parameters=Parameters(problem.layout, estimate.parameters),
        base=BaseValues(
            base.names, estimate.base, uncertainty.covariance, base.matrix, essential, uncertainty.degrees
        ),
        rank=estimate.rank,
        condition_number=condition_number,
        fit=error,
        weights=estimate.weights,
        processing=data.processing,
        tradeoff=tradeoff,
        friction=friction,
        provenance=Provenance.of(data, configuration),
        prior=problem.prior,
        delays={delay.stream: delay for delay in delays},
        recordings=assessment.recordings,
        deflections=tuple(one.deflection for one in data.datasets if one.deflection is not None),
        intervals=assessment.intervals | ({} if wrist is None else dict(wrist.intervals)),
        gains=assessment.gains,
        feasible=estimate.feasible,
        findings=findings,
        sources=() if data.robot.sources is None else identifiability(data.robot, data.robot.sources),
        facts=assessment.facts
        | {name: value for name, value in estimate.facts.items() if not name.endswith("_s")},  # no clock time
        warnings=(
            *data.notes,
            *(() if wrist is None else wrist.notes),
            *(() if problem.carried is None else problem.carried.notes),
            *(() if friction is None else friction.warnings),
            *assessment.warnings,
            *estimate.warnings,
            *estimate_warnings(problem, estimate, error, condition_number),
        ),
    )
