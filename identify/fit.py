"""From a robot and its data to a result: what `heft identify` does.

The package binds `fit` when it is imported, so whatever takes long to import is imported by the first call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from heft.identify.errors import DataError, ProblemError, SolverError

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

    from heft.daq.recording import Recording
    from heft.identify.bodies.consistency import Level
    from heft.identify.certainty.bootstrap import Bootstrap
    from heft.identify.data import Dataset, KnownLoad, Processing
    from heft.identify.estimation.alignment import Alignment
    from heft.identify.estimation.constraints.own import ConstraintFunction
    from heft.identify.estimation.estimators import Method
    from heft.identify.estimation.friction import Friction
    from heft.identify.estimation.prior import PriorLike
    from heft.identify.estimation.problem import Bounds
    from heft.identify.result import Result
    from heft.identify.result.provenance import RecordingOrigin
    from heft.identify.robot import Robot

__all__ = ["Signals", "fit", "identify_recordings"]


@dataclass(frozen=True)
class Signals:
    """How measured signals are prepared, where not by default.

    processing   filter and derivatives in full, instead of a cut-off alone; None: chosen from the data
    filter       fields of `Processing` other than the cut-off, on top of what was chosen
    delay_s      delay of torques against positions [s] (docs/units-and-frames.md); None: estimated from the data
    common       what several recordings have in common, of `offsets` (of torques) and `delay`; else each has its own
    """

    processing: Processing | None = None
    delay_s: float | None = None
    filter: Mapping[str, Any] = field(default_factory=dict)
    common: tuple[str, ...] = ()


@contextmanager
def one_thread() -> Iterator[None]:
    """While this lasts, numpy and scipy use one thread.

    OpenBLAS starts as many threads as there are processors. For matrices of a hundred columns they only wait for each
    other: measured, a fit takes 5 to 10 times as long on a busy machine, and its last bits depend on the number of
    processors.
    """
    with _linear_algebra_libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _linear_algebra_libraries() -> ThreadpoolController:
    """Those of this process, looked for once: a search takes about 10 ms, setting their threads 0.03 ms."""
    import scipy.linalg  # noqa: F401  brings an OpenBLAS of its own, beside numpy's
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@one_thread()
def fit(
    robot: Robot,
    data: Dataset | Sequence[Dataset],
    method: str | Method = "sdp",
    level: Level = "full",
    cutoff_hz: float | None = None,
    prior: PriorLike = None,
    *,
    bounds: Bounds | None = None,
    constraints: ConstraintFunction | None = None,
    friction: Friction = "auto",
    signals: Signals = Signals(),
    validate: Dataset | Sequence[Dataset] | None = None,
    bootstrap: Bootstrap | None = None,
    progress: Callable[[float], None] | None = None,
    keep: Callable[[Alignment], None] | None = None,
) -> Result:
    """Identify a robot's parameters.

    data        one dataset or several
    method      name of an estimator (`heft.identify.estimation.estimators.ESTIMATORS`), or `Method` with its options
    level       of consistency that the links must have: mass, inertia, full or shape
    cutoff_hz   of the zero-phase low-pass [Hz]; None: chosen from the data
    prior       known parameters; None: the robot's own (see `heft.identify.estimation.prior.prior_of`). How far the
                truth may be from them is the robot's `spread`
    bounds      on masses, centres and signs; None: the robot's total mass, its boxes, no negative friction
    constraints a function of the parameters as cvxpy expressions (`heft.identify.estimation.constraints.expressions`)
                that returns constraints and convex penalties, on top of those of the robot's file
    friction    `auto`: terms and velocities of each joint's friction are chosen from the data, where the robot's file
                does not fix them; `file`: as the robot has them; or the terms of all joints, or of some by name
    signals     filter and derivatives in full, and a known delay of torques
    validate    data that the result is validated on and that the fit does not see
    bootstrap   a block bootstrap that checks the intervals (`facts["bootstrap_ratio_..."]`); None: none
    progress    called with the share of the data that has been read, 0 to 1
    keep        called with the data as they were fitted, aligned and with the problem (`heft.identify.fleet.triangles`)

    A joint whose torque cannot be one, by the file and all other joints, has no part in the answer: the fit is made
    anew without it, and the verdict says so (`heft.identify.certainty.disowned`).
    """
    import numpy as np

    from heft.identify.certainty.assessment import assess
    from heft.identify.certainty.bootstrap import replicate
    from heft.identify.certainty.causes import find_causes
    from heft.identify.certainty.disowned import disowned_torques, said_of_disowned
    from heft.identify.certainty.findings import findings
    from heft.identify.certainty.scatter import scatter_of
    from heft.identify.data import Dataset
    from heft.identify.data.measured_rows import sources_of
    from heft.identify.estimation.alignment import align, begun, settled_sensors
    from heft.identify.estimation.cutoff import choose
    from heft.identify.estimation.estimate import Estimate
    from heft.identify.estimation.estimators import Method, estimate
    from heft.identify.estimation.friction import choose_friction, with_friction
    from heft.identify.estimation.least_squares import closest_to_prior, weights_of
    from heft.identify.estimation.prior import prior_for
    from heft.identify.estimation.prior_widening import prior_widening
    from heft.identify.estimation.problem import Problem
    from heft.identify.information.fit_data import FitData
    from heft.identify.payload.bare_hand.carried import carried_by
    from heft.identify.payload.bare_hand.identified_hand import identify_hand
    from heft.identify.result.assembly import assemble

    method = Method(method) if isinstance(method, str) else method
    datasets = [data] if isinstance(data, Dataset) else list(data)
    if not datasets:
        raise DataError("no data; give at least one dataset")

    given = robot
    sources = sources_of(robot, datasets)
    robot = with_friction(robot if sources is None else robot.measuring(sources), friction)

    # Signals: cut-off, regression rows, delay of the torques.
    asked = _given_processing(cutoff_hz, signals.processing)
    processing, tradeoff = choose(robot, datasets, asked, signals.common)
    processing = replace(processing, **signals.filter)

    def aligned(robot: Robot, progress: Callable[[float], None] | None) -> Alignment:
        fit_data = FitData.of(robot, datasets, processing, signals.common)
        if signals.delay_s is None:
            fit_data = begun(fit_data, tradeoff.delays_s)
        problem_of = partial(
            Problem.of,
            robot,
            level=level,
            prior=prior_for(prior, given, robot),
            bounds=bounds,
            weighting=method.weighting,
            constraints=constraints,
        )
        return align(fit_data, problem_of, signals.delay_s, fit_data.reduced(progress))

    alignment = aligned(robot, progress)
    alignment = settled_sensors(alignment, lambda one: aligned(one, None))
    robot = alignment.data.robot

    # Friction: the terms and velocities that each joint needs; with others than the robot's own, all anew.
    start, chosen = robot.drives, choose_friction(alignment.data, alignment.problem)
    if chosen.changed:
        robot = robot.with_drives(chosen.drives(start))
        alignment = replace(aligned(robot, None), sensors=alignment.sensors)
    problem = alignment.problem.updated(reweight=alignment.data.reweight)

    # What the wrist sensor carries is part of its link, unless the joint torques contradict it.
    hand = identify_hand(alignment.data)
    if hand is not None and not hand.doubt:
        problem = replace(
            problem, carried=carried_by(robot, hand, problem.prior, problem.spread, problem.sizes)
        )
    alignment = replace(alignment, problem=problem)

    # How much the rows tell: residuals that resemble their neighbours count for less, beside the prior.
    weights = weights_of(problem)
    optimum = closest_to_prior(problem, weights)
    least_squares = Estimate.of(problem, "wls", optimum, weights, least_squares=optimum)
    scatter = scatter_of(alignment, least_squares)
    problem = problem.updated(reweight=problem.reweight, inflation=scatter.inflation)

    # How far the file may be off: what is stated, or further where the data say so.
    stated, widening = problem, prior_widening(problem)
    problem = problem.widened(widening.factor)
    alignment = fitted = replace(alignment, problem=problem)

    try:
        answer = estimate(problem, method.name, **method.options)
    except SolverError as exc:
        causes = find_causes(alignment.data, stated)
        raise SolverError("; ".join([str(exc), *(one.text for one in causes[:1])])) from exc
    if answer.sample_weights is not None or not np.array_equal(answer.weights, weights):
        scatter = scatter_of(alignment, answer)
    assessment = assess(alignment, answer, scatter, stated.spread)
    carried = problem.carried
    if contradiction := assessment.contradiction:
        problem = replace(problem, carried=None)
        alignment = replace(alignment, problem=problem)
        answer = estimate(problem, method.name, **method.options)
        assessment = assess(alignment, answer, scatter, stated.spread)
        assessment = replace(assessment, warnings=(contradiction, *assessment.warnings))

    found = findings(
        alignment,
        answer,
        assessment,
        stated.spread,
        contradiction or ("" if hand is None else hand.doubt),
        carried,
    )
    if without := disowned_torques(found, given.joints, given.unmeasured):
        again = fit(
            replace(given, unmeasured=(*given.unmeasured, *without)),
            datasets,
            method,
            level,
            cutoff_hz,
            prior,
            bounds=bounds,
            constraints=constraints,
            friction=friction,
            signals=signals,
            validate=validate,
            bootstrap=bootstrap,
            progress=progress,
            keep=keep,
        )
        said = {**again.provenance.configuration, "unmeasured": list(given.unmeasured)}
        return replace(
            again,
            findings=(*said_of_disowned(found, without), *again.findings),
            provenance=replace(again.provenance, configuration=said),
        )
    if keep is not None:
        keep(fitted)

    configuration = {
        "method": method.name,
        "options": dict(method.options),
        "level": level,
        "weighting": method.weighting if isinstance(method.weighting, str) else list(method.weighting),
        "bounds": problem.bounds.to_dict(),
        "delay_s": signals.delay_s,
        "common": list(signals.common),
        "prior_spread": asdict(stated.spread),
        "drives": start.to_dict(),
        "unmeasured": list(given.unmeasured),
    }
    if problem.declared is not None and len(problem.declared):
        configuration["constraints"] = list(problem.declared.distinct)
    if problem.own is not None:
        configuration["own_constraints"] = list(problem.own.names)
    if bootstrap is not None:
        configuration["bootstrap"] = bootstrap.replicates
        assessment = assessment.checked_by(replicate(bootstrap, alignment, method, assessment.uncertainty))
    assessment = replace(
        assessment,
        facts={**assessment.facts, "prior_widening": widening.factor},
        warnings=(*tradeoff.warnings, *assessment.warnings, *widening.warnings),
    )
    result = assemble(
        alignment.data,
        problem,
        answer,
        assessment,
        configuration=configuration,
        tradeoff=tradeoff,
        friction=chosen,
        wrist=hand,
        findings=found,
    )
    return result if validate is None else replace(result, validation=result.relative_error(validate))


def _given_processing(cutoff_hz: float | None, processing: Processing | None) -> Processing | None:
    """The processing that the user asked for; None: to be chosen."""
    from heft.identify.data import Processing

    if processing is None:
        return None if cutoff_hz is None else Processing(cutoff_hz=cutoff_hz)
    if cutoff_hz is not None and cutoff_hz != processing.cutoff_hz:
        raise ProblemError(
            f"cutoff_hz {cutoff_hz:g} and a processing with {processing.cutoff_hz:g} Hz; give one of the two"
        )
    return processing


@one_thread()
def identify_recordings(
    recordings: Sequence[Recording],
    *,
    robot: Robot | None = None,
    method: str | Method | None = None,
    level: Level | None = None,
    settings: Mapping[str, Any] = MappingProxyType({}),
    constraints: ConstraintFunction | None = None,
    common: Sequence[str] = (),
    loads: Mapping[Recording, KnownLoad] | None = None,
    validate: Sequence[Recording] = (),
    bootstrap: Bootstrap | None = None,
    progress: Callable[[float], None] | None = None,
    keep: Callable[[Alignment], None] | None = None,
) -> Result:
    """Fit the segments marked for identification; validate on those marked for validation, or on other recordings.

    robot      None: the one that travels inside the first recording
    settings   by key (`heft.identify.settings`); they go before `method` and `level`, and these before those of the
               session that made the first recording
    common     what the recordings have in common (`Signals.common`); empty: as the settings say
    loads      known loads that were on the flange, by recording

    Other arguments as of `fit`.
    """
    from heft.identify.data.from_recording import IDENTIFICATION, VALIDATION, datasets_of
    from heft.identify.data.recorded_robot import recorded_settings, robot_of
    from heft.identify.diagnosis.cheap_reasons import cheap_reasons
    from heft.identify.estimation.estimators import Method
    from heft.identify.result.provenance import RecordingOrigin
    from heft.identify.settings import Settings
    from heft.identify.settings.choices import Choices

    for one in [*recordings, *validate]:
        robot = robot_of(one, robot)
    assert robot is not None
    method = Method(method) if isinstance(method, str) else method
    session = Settings.of(recorded_settings(recordings[0]), "session's file")
    session = session.without(*([] if method is None else ["method"]), *([] if level is None else ["level"]))
    chosen = Settings.of(settings).over(session)
    choices = chosen.applied(Choices(robot, method or Method(), level or "full"))
    known, model = loads or {}, choices.robot
    origins = [RecordingOrigin.of(one, IDENTIFICATION, known.get(one)) for one in recordings]
    origins += [RecordingOrigin.of(one, VALIDATION, known.get(one)) for one in validate]
    _check_distinct(origins)

    def datasets(one: Recording, use: str | None) -> list[Dataset]:
        parts = datasets_of(one, model, use)
        return [part.loaded(known[one]) for part in parts] if one in known else parts

    data, unseen, seen = [], [], []
    for one in recordings:
        with one.keeping():
            data += datasets(one, IDENTIFICATION)
            if not validate and any(part.use == VALIDATION for part in one.segments):
                unseen += datasets(one, VALIDATION)
            seen += cheap_reasons(one, model)
    unseen += [part for one in validate for part in datasets(one, None)]
    result = fit(
        model,
        data,
        choices.method,
        choices.level,
        choices.cutoff_hz,
        choices.prior,
        bounds=choices.bounds_of(),
        constraints=constraints,
        friction=choices.friction,
        signals=Signals(
            delay_s=choices.delay_s, filter=choices.filter, common=tuple(common) or choices.common
        ),
        validate=unseen or None,
        bootstrap=bootstrap,
        progress=progress,
        keep=keep,
    )
    configuration = {**result.provenance.configuration, **({"settings": chosen.to_dict()} if chosen else {})}
    told = {one.id for one in result.findings}
    return replace(
        result,
        findings=(*result.findings, *dict.fromkeys(one for one in seen if one.id not in told)),
        provenance=replace(result.provenance, recordings=tuple(origins), configuration=configuration),
    )


def _check_distinct(recordings: Sequence[RecordingOrigin]) -> None:
    """`DataError` where the same data are given twice: they would count as two, or as unseen."""
    from heft.identify.data.from_recording import IDENTIFICATION

    first: dict[str, RecordingOrigin] = {}
    for one in recordings:
        before = first.setdefault(one.digest, one)
        if before is not one:
            why = "it is no news" if one.use == IDENTIFICATION else "nothing of it is unseen"
            raise DataError(f"{one.name} holds the same data as {before.name}: {why}; give it once")
