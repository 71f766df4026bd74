"""A fit of many sessions from their kept triangles: the sum of their information, each with its own torque offsets.

The rows of recording g give the triangle R_g. With the column of the offset first, its orthogonal factorisation is

    [ sqrt(N_g)  sqrt(N_g) m_g ]      m_g: mean of the recording's rows, N_g: their number
    [ 0          C_g           ]      C_g: triangle of the rows with their mean taken off

so that each recording's mean can be replaced by that of all rows, as `heft.identify.information.own_offsets` does
row by row (Frisch and Waugh 1933). The answer is that of `fit` on the recordings together, with the same filter and
friction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.consistency import Level
from heft.identify.bodies.parameters import Layout, unit_of
from heft.identify.certainty.interval import Interval
from heft.identify.errors import DataError
from heft.identify.estimation.alignment.torque_delay import REACH, ROUNDS, SETTLED_S, profile
from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.estimators import Method, estimate
from heft.identify.estimation.prior import PriorLike
from heft.identify.estimation.prior_widening import prior_widening
from heft.identify.estimation.problem import Bounds, Problem
from heft.identify.fit import one_thread
from heft.identify.fleet.friction import friction_of
from heft.identify.fleet.triangles import KeptTriangles, distinct_sources
from heft.identify.information.reduction import Information
from heft.identify.information.triangle import triangle
from heft.identify.result.relative_error import RelativeError
from heft.identify.robot import Robot

__all__ = ["SessionTerms", "TogetherEstimate", "fit_kept"]

SCHEMA, VERSION = "heft.Estimate", 1
#: Up to so many sessions have their delays estimated together; more keep those of their own fits, which differ by no
#: more than their intervals, and save a factorisation with two columns for every session.
JOINT_DELAYS = 12
#: From so many sessions on, their own scatter tells the covariance (at least as many as a variance needs).
SCATTERED = 10


@dataclass(frozen=True)
class SessionTerms:
    """What one session has of its own: torque offset by joint [N m, N], delay of its torques [s]."""

    source: str
    offsets: dict[str, float]
    delay_s: float


@dataclass(frozen=True)
class TogetherEstimate:
    """Parameters of several sessions together.

    estimate     the answer, as an estimator gives it
    base         names of the base parameters
    covariance   of the base parameters, shape (n_base, n_base): residuals count for as much less as they resemble their
                 neighbours, and with ten sessions or more for what sessions scatter
    intervals    95 % intervals of the joint terms that are base parameters of their own, by name; and of each joint's
                 friction at one speed (`friction_of`)
    sessions     what each has of its own
    error        of torque, on all the data
    """

    estimate: Estimate
    layout: Layout
    base: tuple[str, ...]
    covariance: Array
    intervals: dict[str, Interval]
    sessions: tuple[SessionTerms, ...]
    error: RelativeError
    rows: int

    @property
    def parameters(self) -> dict[str, float]:
        """All parameters by name."""
        return dict(zip(self.layout.names, self.estimate.parameters.tolist(), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "method": self.estimate.method,
            "rows": self.rows,
            "rank": self.estimate.rank,
            "relative_error": self.error.total,
            "parameters": self.parameters,
            "base": {
                "names": list(self.base),
                "values": self.estimate.base.tolist(),
                "std": [
                    one if np.isfinite(one) else None for one in np.sqrt(np.diag(self.covariance)).tolist()
                ],
            },
            "intervals": {name: one.to_dict() for name, one in self.intervals.items()},
            "sessions": [
                {"source": one.source, "offsets": one.offsets, "delay_s": one.delay_s}
                for one in self.sessions
            ],
            "warnings": list(self.estimate.warnings),
        }


@one_thread()
def fit_kept(
    kept: Sequence[KeptTriangles],
    method: str | Method = "sdp",
    level: Level = "full",
    prior: PriorLike = None,
    *,
    bounds: Bounds | None = None,
    common: Sequence[str] = (),
    delay_s: float | None = None,
    inflation: float | None = None,
) -> TogetherEstimate:
    """Identify from kept triangles; arguments as of `heft.identify.fit.fit`, and of its `Signals`.

    inflation   variance of what rows tell over that of independent ones; None: the median of what the sessions' own
                fits found, one of which may have been a bad one
    """
    _check_alike(kept)
    method = Method(method) if isinstance(method, str) else method
    robot, processing = _measured_robot(kept), kept[0].processing
    own = len(kept) > 1 and "offsets" not in common
    delays = np.array([one.delay_s if delay_s is None else delay_s for one in kept])
    parts = [
        one.information.aligned(float(delay) - one.delay_s) for one, delay in zip(kept, delays, strict=True)
    ]
    if own:
        parts = _with_own_offsets(parts, [_offset(robot.parameter_names, joint) for joint in robot.joints])

    def problem_of(information: Information) -> Problem:
        return Problem.of(
            robot, information, level=level, prior=prior, bounds=bounds, weighting=method.weighting
        )

    problem = problem_of(_summed(parts))
    if delay_s is None and 1 < len(kept) <= JOINT_DELAYS and "delay" not in common:
        parts, problem, steps = _aligned(problem, parts, REACH / processing.cutoff_hz)
        delays = delays + steps
    if inflation is None:
        inflation = float(np.median([one.inflation for one in kept]))
    problem = problem.updated(reweight=None, inflation=inflation)
    problem = problem.widened(prior_widening(problem).factor)
    answer = estimate(problem, method.name, **method.options)
    covariance = _covariance(problem, answer, parts, inflation)
    return TogetherEstimate(
        answer,
        problem.layout,
        problem.base.names,
        covariance,
        _intervals(problem, answer, covariance)
        | friction_of(robot, answer.parameters, problem.base.names, covariance),
        _terms(kept, answer.parameters, delays, own),
        RelativeError.of(problem.information, answer.parameters, robot.tree.prismatic),
        int(sum(one.information.rows.sum() for one in kept)),
    )


def _check_alike(kept: Sequence[KeptTriangles]) -> None:
    """`DataError` where triangles cannot be added."""
    if not kept:
        raise DataError("no triangles; give at least one session's")
    distinct_sources(kept)
    first = kept[0]
    for one in kept[1:]:
        if one.robot.parameter_names != first.robot.parameter_names or not _same_drives(one, first):
            raise DataError(
                f"{one.source} and {first.source} were reduced with other robots or forms of friction; identify both "
                "with --set friction=file"
            )
        if one.processing != first.processing:
            raise DataError(
                f"{one.source} was reduced with a cut-off of {one.processing.cutoff_hz:g} Hz, {first.source} with "
                f"{first.processing.cutoff_hz:g} Hz; identify both with one, as --set cutoff_hz="
                f"{min(one.processing.cutoff_hz, first.processing.cutoff_hz):g}"
            )


def _measured_robot(kept: Sequence[KeptTriangles]) -> Robot:
    """The sessions' robot; a joint's torque is measured where any of them believed it."""
    robot = kept[0].robot
    nowhere = tuple(joint for joint in robot.unmeasured if all(joint in one.robot.unmeasured for one in kept))
    return robot if nowhere == robot.unmeasured else replace(robot, unmeasured=nowhere)


def _same_drives(one: KeptTriangles, other: KeptTriangles) -> bool:
    a, b = one.robot.drives, other.robot.drives
    return bool(
        np.array_equal(a.smoothing_velocity, b.smoothing_velocity)
        and np.array_equal(a.stribeck_velocity, b.stribeck_velocity)
        and np.array_equal(a.coupling, b.coupling)
    )


def _offset(names: Sequence[str], joint: str) -> int | None:
    """Place of a joint's offset among the parameters; None where it has none."""
    return names.index(f"{joint}.offset") if f"{joint}.offset" in names else None


def _mean_row(R: Array, offset: int) -> tuple[float, Array]:
    """Rows' number and their mean (k,): the product of the offset's column, one in every row, with the others."""
    ones = R[:, offset]
    count = float(ones @ ones)
    return count, (ones @ R / count if count else np.zeros(R.shape[1]))


def _without_mean(R: Array, offset: int) -> Array:
    """Rows of what is left when their mean is taken off: one fewer, their column `offset` zero.

    A reflection takes the offset's column into the first row; the other rows are what is left.
    """
    normal = R[:, offset].copy()
    normal[0] += np.copysign(np.linalg.norm(normal), normal[0])
    left = R - np.outer(normal, (2.0 / (normal @ normal)) * (normal @ R))
    left[:, offset] = 0.0
    return np.asarray(left[1:])


def _with_own_offsets(parts: Sequence[Information], offsets: Sequence[int | None]) -> list[Information]:
    """The same with each session's means replaced by those of all rows."""
    extended = [part.extended for part in parts]
    for j, offset in enumerate(offsets):
        if offset is None:
            continue
        used = np.flatnonzero(np.any([one[j].any(axis=0) for one in extended], axis=0))
        if offset not in used:
            continue
        at = int(np.searchsorted(used, offset))
        square = np.ix_(used, used)
        means = [_mean_row(one[j][square], at) for one in extended]
        total = sum(count for count, _ in means)
        mean = sum((count * row for count, row in means), start=np.zeros(len(used))) / max(total, 1e-300)
        for one, (count, _) in zip(extended, means, strict=True):
            if count:
                left = _without_mean(one[j][square], at)
                one[j][square] = triangle(np.vstack([np.sqrt(count) * mean, left]))
    return [Information.of(one, part.rows, part.names) for one, part in zip(extended, parts, strict=True)]


def _summed(parts: Sequence[Information]) -> Information:
    """Of all sessions together: each joint's triangles factorised at once."""
    extended = [part.extended for part in parts]
    size = extended[0].shape[1]
    together = np.zeros((len(extended[0]), size, size))
    for j in range(len(together)):
        used = np.flatnonzero(np.any([one[j].any(axis=0) for one in extended], axis=0))
        if len(used):
            rows = np.concatenate([one[j][np.ix_(one[j].any(axis=1), used)] for one in extended])
            together[j][np.ix_(used, used)] = triangle(rows)
    rows_used = sum((part.rows for part in parts), start=0 * parts[0].rows)
    return Information.of(together, rows_used, parts[0].names)


def _aligned(
    problem: Problem, parts: Sequence[Information], reach_s: float
) -> tuple[list[Information], Problem, Array]:
    """Sessions' delays about those of their own fits, estimated together, as `align` does with the rows."""
    at = np.zeros(len(parts))
    moved = list(parts)
    for _ in range(ROUNDS):
        step, curvature = profile(problem, problem.joint_weights[0], reach_s, tuple(moved))
        if not np.all(curvature > 0) or np.abs(at + step).max() > reach_s:
            return list(parts), replace(problem, information=_summed(parts)), np.zeros(len(parts))
        if np.abs(step).max() <= SETTLED_S:
            break
        at = at + step
        moved = [part.aligned(float(one)) for part, one in zip(parts, at, strict=True)]
        problem = replace(problem, information=_summed(moved))
    return moved, problem, at


def _covariance(problem: Problem, answer: Estimate, parts: Sequence[Information], inflation: float) -> Array:
    """Of the base parameters: for residuals that resemble their neighbours, and as sessions scatter if they are many.

    With A the information and s_g a session's scores, what sessions scatter is A^-1 (sum s_g s_g') A^-1, sessions being
    independent of each other (White 1984, on clusters).
    """
    formal = answer.covariance * inflation
    if len(parts) < SCATTERED:
        return formal
    columns = list(problem.base.independent)
    weights = np.sqrt(answer.weights)
    scores = []
    for part in parts:
        score = np.zeros(len(columns))
        for w, factor in zip(weights, part.factors, strict=True):
            left = factor @ np.append(answer.least_squares, -1.0)
            score -= w**2 * (factor[:, columns].T @ left)
        scores.append(score)
    pulled = np.array(scores)
    spread = np.where(np.isfinite(answer.spread), answer.spread, 0.0)
    scattered = spread @ (pulled.T @ pulled) @ spread * len(parts) / (len(parts) - 1)
    wider = np.sqrt(
        np.maximum(
            np.divide(
                np.diag(scattered), np.diag(formal), out=np.ones(len(formal)), where=np.diag(formal) > 0
            ),
            1.0,
        )
    )
    wider = np.where(np.isfinite(wider), wider, 1.0)
    return np.asarray(formal * np.outer(wider, wider))


def _intervals(problem: Problem, answer: Estimate, covariance: Array) -> dict[str, Interval]:
    """Of the joint terms that the data determine by themselves."""
    found = {}
    places = {name: i for i, name in enumerate(problem.base.names)}
    for terms in problem.layout.joint_terms.values():
        for place in terms.values():
            name = problem.layout.names[place]
            if name in places:
                std = float(np.sqrt(covariance[places[name], places[name]]))
                found[name] = Interval.of(float(answer.parameters[place]), std, unit=unit_of(name))
    return found


def _terms(
    kept: Sequence[KeptTriangles], parameters: Array, delays: Array, own: bool
) -> tuple[SessionTerms, ...]:
    """Offsets of each session: what the mean of its residuals differs by from the parameters'."""
    terms = []
    for one, delay in zip(kept, delays, strict=True):
        information = one.information.aligned(float(delay) - one.delay_s)
        offsets = {}
        for j, joint in enumerate(one.robot.joints):
            place = _offset(one.robot.parameter_names, joint)
            if place is None:
                continue
            offsets[joint] = float(parameters[place])
            if own:
                count, mean = _mean_row(information.factors[j], place)
                offsets[joint] += float(mean[-1] - mean[:-1] @ parameters) if count else 0.0
        terms.append(SessionTerms(one.source, offsets, float(delay)))
    return tuple(terms)
