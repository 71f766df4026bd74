"""From a robot and its data to a result: what `heft identify` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from identify.blas import one_thread
from identify.errors import DataError, ProblemError

if TYPE_CHECKING:
    from identify.arrays import Array
    from identify.consistency import Level
    from identify.dataset import Dataset, Processing
    from identify.estimators.answer import Estimate
    from identify.hand import Hand
    from identify.intervals.assessment import Assessment
    from identify.prior import PriorLike
    from identify.problem import Bounds, Problem, Weighting
    from identify.reduction import Information
    from identify.result import Result
    from identify.robot import PriorSpread, Robot
    from identify.source import Source

__all__ = ["fit"]


@one_thread()
def fit(
    robot: Robot,
    data: Dataset | Sequence[Dataset],
    method: str = "sdp",
    level: Level = "full",
    cutoff_hz: float | None = None,
    prior: PriorLike = None,
    *,
    prior_spread: PriorSpread | None = None,
    processing: Processing | None = None,
    delay_s: float | None = None,
    bounds: Bounds | None = None,
    weighting: Weighting | Array = "joint",
    validate: Dataset | Sequence[Dataset] | None = None,
    progress: Callable[[float], None] | None = None,
    bootstrap: int = 0,
    workers: int | None = None,
    replicating: Callable[[float], None] | None = None,
    options: dict[str, Any] | None = None,
) -> Result:
    """Identify a robot's parameters.

    data         one dataset or several
    method       one of `identify.estimators.METHODS`
    level        of consistency that the links must have: mass, inertia, full or shape
    cutoff_hz    of the zero-phase low-pass; None: chosen from the data
    prior        known parameters; None: the robot's own (see `identify.prior.prior_of`)
    prior_spread how far the truth may be from the prior; None: the robot's own
    processing   filter and derivatives in full, instead of `cutoff_hz`
    delay_s      how old torques are against positions [s] (docs/units-and-frames.md); None: found in the data
    bounds       on masses, centres and signs; None: the robot's total mass, its boxes, no negative friction
    weighting    `joint`: by each joint's residual; `none`; or weights on the squares, shape (n,)
    validate     data that the result is judged by and that the fit does not see
    progress     called with the share of the data that has been read, 0 to 1
    bootstrap    replicates of a block bootstrap that checks the intervals (`facts["bootstrap_ratio_..."]`); 0: none
    workers      threads that share the replicates; None: one per processor. Results do not depend on it
    replicating  called with the share of the replicates that are done, 0 to 1
    options      keywords of the method's own
    """
    from identify.alignment import align
    from identify.cutoff import choose
    from identify.dataset import Dataset
    from identify.estimators import estimate
    from identify.hand import carried_by, identify_hand
    from identify.intervals.assessment import assess
    from identify.intervals.bootstrap import bootstrap as replicated
    from identify.source import Source

    datasets = [data] if isinstance(data, Dataset) else list(data)
    if not datasets:
        raise DataError("no data; give at least one dataset")
    filtered, tradeoff = choose(robot, datasets, _given(cutoff_hz, processing))
    source = Source.of(robot, datasets, filtered)
    posed = partial(_problem, source, level, prior, bounds, weighting, prior_spread or robot.spread)
    alignment = align(source, posed, delay_s, source.reduced(progress))
    hand = identify_hand(alignment.source)
    problem = replace(alignment.problem, reweight=alignment.source.reweight)
    if hand is not None and not hand.doubt:
        problem = replace(problem, carried=carried_by(robot, hand, problem.prior, problem.spread))
    answer = estimate(problem, method, **(options or {}))
    configuration = {
        "method": method,
        "options": options or {},
        "level": level,
        "weighting": weighting if isinstance(weighting, str) else list(weighting),
        "bounds": problem.bounds.to_dict(),
        "delay_s": delay_s,
        "prior_spread": asdict(problem.spread),
    }
    assessment = assess(replace(alignment, problem=problem), answer)
    if contradiction := assessment.contradiction:
        problem = replace(problem, carried=None)
        answer = estimate(problem, method, **(options or {}))
        assessment = assess(replace(alignment, problem=problem), answer)
        assessment = replace(assessment, warnings=(contradiction, *assessment.warnings))
    if bootstrap:
        configuration["bootstrap"] = bootstrap
        checked = replicated(
            replace(alignment, problem=problem),
            answer,
            assessment.spread,
            bootstrap,
            options=options or {},
            workers=workers,
            progress=replicating,
        )
        assessment = replace(
            assessment,
            facts=assessment.facts | checked.facts,
            warnings=(*assessment.warnings, *checked.warnings),
        )
    result = _result(assessment, hand, alignment.source, problem, answer, configuration)
    result = replace(result, tradeoff=tradeoff)
    return result if validate is None else replace(result, validation=result.relative_error(validate))


def _given(cutoff_hz: float | None, processing: Processing | None) -> Processing | None:
    """The processing that the user asked for; None: to be chosen."""
    from identify.dataset import Processing

    if processing is None:
        return None if cutoff_hz is None else Processing(cutoff_hz=cutoff_hz)
    if cutoff_hz is not None and cutoff_hz != processing.cutoff_hz:
        raise ProblemError(
            f"cutoff_hz {cutoff_hz:g} and a processing with {processing.cutoff_hz:g} Hz; give one of the two"
        )
    return processing


def _problem(
    source: Source,
    level: Level,
    prior: PriorLike,
    bounds: Bounds | None,
    weighting: Weighting | Array,
    spread: PriorSpread,
    information: Information,
) -> Problem:
    from identify.base import base_parameters
    from identify.parameters import Layout
    from identify.prior import prior_of
    from identify.problem import Bounds, Problem

    robot = source.robot
    return Problem(
        information=information,
        base=base_parameters(robot),
        layout=Layout(robot.parameter_names),
        level=level,
        prior=prior_of(robot, prior),
        boxes=robot.boxes,
        bounds=Bounds(total_mass=robot.total_mass) if bounds is None else bounds,
        weighting=weighting,
        spread=spread,
    )


def _result(
    assessment: Assessment,
    hand: Hand | None,
    source: Source,
    problem: Problem,
    answer: Estimate,
    configuration: dict[str, Any],
) -> Result:
    import numpy as np

    from identify.estimators.essential import essential_parameters
    from identify.result import BaseValues, Parameters, Provenance, RelativeError, Result
    from identify.result.judgement import judged

    base = problem.base
    factor, _, _ = problem.stacked(np.ones(problem.joints))
    condition_number = base.condition_number(factor)
    error = RelativeError.of(problem.information, answer.parameters, source.robot.tree.prismatic)
    kept, _ = essential_parameters(problem, answer.weights)
    essential = answer.essential or tuple(base.names[i] for i in kept)
    return Result(
        robot=source.robot,
        method=answer.method,
        level=problem.level,
        parameters=Parameters(problem.layout, answer.parameters),
        base=BaseValues(
            base.names,
            answer.base,
            assessment.spread.covariance,
            base.matrix,
            essential,
            assessment.spread.degrees,
        ),
        rank=answer.rank,
        condition_number=condition_number,
        fit=error,
        weights=answer.weights,
        processing=source.processing,
        provenance=Provenance.of(source, configuration),
        prior=problem.prior,
        delays={
            delay.stream: delay for delay in (assessment.delay, *(() if hand is None else (hand.delay,)))
        },
        intervals=assessment.intervals | ({} if hand is None else hand.intervals),
        feasible=answer.feasible,
        facts=assessment.facts
        | {name: value for name, value in answer.facts.items() if not name.endswith("_s")},  # no clock time
        warnings=(
            *source.notes,
            *(() if hand is None else hand.warnings),
            *(() if problem.carried is None else problem.carried.notes),
            *assessment.warnings,
            *answer.warnings,
            *judged(problem, answer, error, condition_number),
        ),
    )
