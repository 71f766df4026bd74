"""One search for the best motion: from a start of its own, through ever sharper criteria, to a motion that is proved
on a finer grid."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.excitation.criterion import CRITERIA
from heft.identify.excitation.optimiser import minimise
from heft.identify.excitation.problem import FINER, FourierProblem
from heft.identify.excitation.request import DesignRequest
from heft.identify.excitation.starting import posture, start

__all__ = ["Candidate", "fine_problem", "prove", "search"]

#: Criterion (None: the one that was asked for), exponent of its rounding, iterations at most, weight of violations, and
#: what PATIENCE iterations together have to gain, in the criterion's logarithm, for the phase to go on.
PHASES = ((None, 4.0, 100, 10.0, 3e-3), (None, 12.0, 100, 30.0, 1e-3), (None, 40.0, 150, 30.0, 3e-4))
WARM_UP = ("d", 1.0, 40, 10.0, 5e-3)
D_PHASES = ((None, 1.0, 60, 10.0, 2e-3), (None, 1.0, 80, 30.0, 5e-4))
PAYLOAD_PHASES = ((None, 1.0, 25, 30.0, 1e-2),)  # in seconds: the hand waits
PATIENCE = 15
TIGHTENINGS = 4
LEAST_TIGHTENING = 0.002
SMALLER, SHRINKS = 0.97, 60

Phase = tuple[str | None, float, int, float, float]
Progress = Callable[["Candidate"], None]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A motion: coefficients z of all joints (n, 2 L - 1), the criterion's value, and whether every bound is kept."""

    start: int
    coefficients: Array
    value: float
    proved: bool
    iterations: int
    finished: bool = False


def search(request: DesignRequest, number: int, tell: Progress, until: float) -> Candidate:
    """The best motion from start `number`; ends early when `time.monotonic()` is `until`."""
    rng = np.random.default_rng([request.seed, number])
    problem = request.problem(posture(request, rng, number))
    x = start(problem, rng)
    total = 0
    last_told = time.monotonic()
    phases: tuple[Phase, ...] = D_PHASES if request.criterion == "d" else (WARM_UP, *PHASES)
    if request.target == "payload" and request.criterion == "d":
        phases = PAYLOAD_PHASES
    for name, p, iterations, weight, least in phases:
        # the warm-up weighs rows as the criterion does that it is for
        criterion = replace(
            CRITERIA[name or request.criterion], weighted=CRITERIA[request.criterion].weighted
        )
        problem = replace(problem, criterion=criterion, p=p)
        before = [np.inf] * PATIENCE
        for iterate in minimise(problem, x, iterations, weight):
            x = iterate.x
            total += 1
            before.append(iterate.evaluation.value + weight * iterate.evaluation.violation)
            if time.monotonic() >= until or before[-1 - PATIENCE] - before[-1] < least:
                break
            if time.monotonic() - last_told > 1.0 and name is None and iterate.evaluation.violation < 0.01:
                last_told = time.monotonic()
                tell(Candidate(number, problem.coefficients(x), iterate.evaluation.value, False, total))
        if time.monotonic() >= until:
            break
    return _proved(request, problem, x, number, total, until)


def prove(request: DesignRequest, candidate: Candidate) -> Candidate:
    """A candidate of a search that was ended early, made smaller about its centre until every bound is kept."""
    z = candidate.coefficients
    problem = request.problem(z[:, 0])
    x = z[list(problem.moving)] / problem.half[:, None]
    x[:, 0] = 0.0
    return _proved(request, problem, x.ravel(), candidate.start, candidate.iterations, time.monotonic())


def fine_problem(problem: FourierProblem) -> FourierProblem:
    """The same problem without room for what is between samples, to be looked at on a grid that is finer."""
    return replace(problem, extra_m=0.0, torque_room=1.0, stop_room=0.0)


def worst_violation(problem: FourierProblem, x: Array) -> tuple[float, float]:
    """On the fine grid: the largest share of a linear limit, less 1, and the largest constraint at a sample."""
    fine = fine_problem(problem)
    z = problem.coefficients(x)
    t = problem.basis.grid(FINER * problem.points)
    q, dq, ddq = (B @ z.T for B in problem.basis.at(t))
    limits = problem.limits
    half, middle = 0.5 * (limits.upper - limits.lower), 0.5 * (limits.upper + limits.lower)
    linear = max(
        float((np.abs(q - middle) / half).max()),
        float((np.abs(dq) / limits.velocity).max()),
        float((np.abs(ddq) / limits.acceleration).max()),
    )
    values = fine.constraints_of(q, dq, ddq).value
    return linear - 1.0, float(values.max(initial=-np.inf))


def _proved(
    request: DesignRequest, problem: FourierProblem, x: Array, number: int, total: int, until: float
) -> Candidate:
    """Until the fine grid agrees: with more room for what is between samples, and at last by a smaller motion."""
    linear, at_samples = worst_violation(problem, x)
    for _ in range(TIGHTENINGS):
        if max(linear, at_samples) <= 0.0 or time.monotonic() >= until:
            break
        excess = max(at_samples, LEAST_TIGHTENING)
        problem = replace(
            problem,
            extra_m=problem.extra_m + 0.12 * excess,
            torque_room=problem.torque_room - 1.2 * excess,
            stop_room=problem.stop_room + 1.2 * excess,
        )
        for iterate in minimise(problem, x, 12, 100.0):
            x = iterate.x
            total += 1
        linear, at_samples = worst_violation(problem, x)
    for _ in range(SHRINKS):
        if max(linear, at_samples) <= 0.0:
            break
        x = x / (1.0 + linear) if at_samples <= 0.0 else SMALLER * x
        linear, at_samples = worst_violation(problem, x)
    else:
        return Candidate(number, problem.coefficients(x), np.inf, False, total, True)
    sharpest = D_PHASES[-1] if request.criterion == "d" else PHASES[-1]
    asked = replace(
        problem, criterion=CRITERIA[request.criterion], p=sharpest[1]
    )  # however far the search came
    return Candidate(number, problem.coefficients(x), asked.evaluate(x).value, True, total, True)
