"""The search for the best motion: starts of their own are explored under a blunt criterion, and the best of them
polished under ever sharper ones, to motions that are proved on a finer grid."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.excitation.criterion import CRITERIA
from heft.identify.excitation.optimiser import minimise
from heft.identify.excitation.problem import FINER, FourierProblem
from heft.identify.excitation.request import DesignRequest
from heft.identify.excitation.sample_constraints import SampleConstraints
from heft.identify.excitation.starting import start

__all__ = ["Candidate", "Progress", "explore", "fine_problem", "polish", "repeated"]


@dataclass(frozen=True, slots=True)
class Phase:
    """Some iterations under one criterion.

    criterion   None: the one that was asked for
    p           exponent of its rounding
    iterations  at most
    weight      of violations
    gain        what PATIENCE iterations together have to gain, in the criterion's logarithm, for the phase to go on
    """

    criterion: str | None
    p: float
    iterations: int
    weight: float
    gain: float


EXPLORING = (Phase("d", 1.0, 40, 10.0, 5e-3), Phase(None, 4.0, 100, 10.0, 3e-3))
POLISHING = (
    Phase(None, 12.0, 100, 30.0, 1e-3),
    Phase(None, 40.0, 150, 30.0, 3e-4),
    Phase(None, 150.0, 300, 30.0, 1e-4),
)
EXPLORING_D = (Phase(None, 1.0, 60, 10.0, 2e-3),)
POLISHING_D = (Phase(None, 1.0, 160, 30.0, 3e-4),)
EXPLORING_PAYLOAD = (Phase(None, 1.0, 25, 30.0, 1e-2),)  # in seconds: the hand waits
PATIENCE = 15
TELL_S = 1.0
VIOLATION = 10.0  # weight of what is violated, when explored motions are compared
TIGHTENINGS = 4
LEAST_TIGHTENING = 0.002
MUCH, DENSER = 0.1, 4  # what is left between samples, beyond which these are looked at more closely
SMALLER, MOST_SHRINKS = 0.97, 64


@dataclass(frozen=True, eq=False)
class Candidate:
    """A motion: coefficients z of all joints (n, 2 L - 1), the criterion's value, and whether every bound is kept.

    extra      by how much it violates what it has to keep, on the search's own grid
    finished   nothing more is done with it
    left       what it violates most, where it is finished and not proved
    """

    start: int
    coefficients: Array
    value: float
    proved: bool
    iterations: int
    finished: bool = False
    extra: float = 0.0
    left: str = ""

    @property
    def merit(self) -> float:
        """What motions that are not proved are compared by; the smaller the better."""
        return self.value + VIOLATION * self.extra


Progress = Callable[[Candidate], None]


def _phases(request: DesignRequest) -> tuple[Sequence[Phase], Sequence[Phase]]:
    """Those that explore, and those that polish."""
    if request.criterion != "d":
        return EXPLORING, POLISHING
    return (EXPLORING_PAYLOAD, ()) if request.target == "payload" else (EXPLORING_D, POLISHING_D)


def explore(request: DesignRequest, number: int, until: float) -> Candidate:
    """Where start `number` leads under a blunt criterion; ends early when `time.monotonic()` is `until`."""
    rng = np.random.default_rng([request.seed, number])
    problem, x = start(request, rng, number)
    x, total = _through(_phases(request)[0], request, problem, x, until, None)
    value, extra = _judged(request, problem, x)
    return Candidate(number, problem.coefficients(x), value, False, total, False, extra)


def repeated(request: DesignRequest) -> list[Candidate]:
    """The motions of earlier sessions, as far as they are among those that are searched; starts after all others."""
    basis, n = request.basis, len(request.limits.axes)
    found: list[Candidate] = []
    for series in request.earlier:
        if (len(series.q0), series.harmonics, series.period_s) != (n, basis.harmonics, basis.period_s):
            continue
        motion = Candidate(request.starts + len(found), basis.coefficients(series), np.inf, False, 0)
        value, extra = _judged(request, *_about(request, motion))
        found.append(replace(motion, value=value, extra=extra))
    return found


def polish(request: DesignRequest, explored: Candidate, tell: Progress, until: float) -> Candidate:
    """The best motion from an explored one, proved; what is there is proved where it ends early."""
    problem, x = _about(request, explored)
    total = explored.iterations

    def note(x: Array, iterations: int) -> None:
        value, extra = _judged(request, problem, x)
        tell(Candidate(explored.start, problem.coefficients(x), value, False, iterations, False, extra))

    if time.monotonic() < until:
        x, count = _through(_phases(request)[1], request, problem, x, until, note)
        total += count
    return _proved(request, problem, x, explored.start, total, until)


def _about(request: DesignRequest, candidate: Candidate) -> tuple[FourierProblem, Array]:
    """The problem about a motion's own centre, and x of the motion in it."""
    z = candidate.coefficients
    problem = request.problem(z[:, 0])
    x = z[list(problem.moving)] / problem.half[:, None]
    x[:, 0] = 0.0
    return problem, x.ravel()


def _through(
    phases: Sequence[Phase],
    request: DesignRequest,
    problem: FourierProblem,
    x: Array,
    until: float,
    note: Callable[[Array, int], None] | None,
) -> tuple[Array, int]:
    """x after all phases, or as far as `until` lets them come, and the number of iterations."""
    total, noted = 0, time.monotonic()
    for phase in phases:
        # a warm-up weighs rows as the criterion does that it is for
        criterion = replace(
            CRITERIA[phase.criterion or request.criterion], weighted=CRITERIA[request.criterion].weighted
        )
        asked = replace(problem, criterion=criterion, p=phase.p)
        before = [np.inf] * PATIENCE
        for iterate in minimise(asked, x, phase.iterations, phase.weight):
            x = iterate.x
            total += 1
            before.append(iterate.evaluation.value + phase.weight * iterate.evaluation.violation)
            if time.monotonic() >= until or before[-1 - PATIENCE] - before[-1] < phase.gain:
                break
            if note is not None and time.monotonic() - noted > TELL_S:
                noted = time.monotonic()
                note(x, total)
        if time.monotonic() >= until:
            break
    return x, total


def _judged(request: DesignRequest, problem: FourierProblem, x: Array) -> tuple[float, float]:
    """The criterion that was asked for at its sharpest, however far the search came, and the violation."""
    explored, polished = _phases(request)
    found = replace(problem, criterion=CRITERIA[request.criterion], p=(polished or explored)[-1].p).evaluate(
        x
    )
    return found.value, found.violation


def fine_problem(problem: FourierProblem) -> FourierProblem:
    """The same problem without room for what is between samples, to be looked at on a grid that is finer."""
    return replace(problem, extra_m=0.0, torque_room=1.0, stop_room=0.0, use_room=1.0)


def _largest_size(problem: FourierProblem, x: Array) -> float:
    """The largest multiple of a motion about its centre that keeps the linear limits on the fine grid."""
    t = problem.basis.grid(FINER * problem.points)
    limits, centre, moving = problem.limits, problem.centre, list(problem.moving)
    moved = problem.coefficients(x)
    moved[:, 0] -= centre
    tiny = 1e-300
    sizes = []
    for B, below, above in zip(
        problem.basis.at(t),
        (centre - limits.lower, limits.velocity, limits.acceleration),
        (limits.upper - centre, limits.velocity, limits.acceleration),
        strict=True,
    ):
        values = (B @ moved.T)[:, moving]  # others may stand at an end of their range
        sizes += [
            above[moving] / np.maximum(values.max(axis=0), tiny),
            below[moving] / np.maximum(-values.min(axis=0), tiny),
        ]
    return float(np.min(sizes))


def _worst(problem: FourierProblem, x: Array) -> tuple[float, str]:
    """The largest constraint on the fine grid, kept where it is not above zero, and what it is about."""
    z = problem.coefficients(x)
    q, dq, ddq = (B @ z.T for B in problem.basis.at(problem.basis.grid(FINER * problem.points)))
    fine = fine_problem(problem)
    parts = [fine.constraints_of(q, dq, ddq), fine.uses(q)]
    found = SampleConstraints.joined(parts, q.shape[1])
    if not len(found.value):
        return -np.inf, ""
    k = int(found.value.argmax())
    return float(found.value[k]), found.about[k]


def _worst_at_samples(problem: FourierProblem, x: Array) -> float:
    """The largest constraint on the fine grid alone."""
    return _worst(problem, x)[0]


def _kept_size(problem: FourierProblem, x: Array) -> float | None:
    """A multiple of a motion, at most 1, that keeps what it has to at the samples of the fine grid: SMALLER^k with the
    least k that doubling and halving finds; None where the smallest that is tried does not."""
    left, kept = -1, 0
    while _worst_at_samples(problem, SMALLER**kept * x) > 0.0:
        left, kept = kept, max(1, 2 * kept)
        if kept > MOST_SHRINKS:
            return None
    while kept - left > 1:
        middle = (left + kept) // 2
        if _worst_at_samples(problem, SMALLER**middle * x) > 0.0:
            left = middle
        else:
            kept = middle
    return float(SMALLER**kept)


def _proved(
    request: DesignRequest, problem: FourierProblem, x: Array, number: int, total: int, until: float
) -> Candidate:
    """Until the fine grid agrees: with more room for what is between samples, or, where a motion passes through
    something there, with more samples; and at last by a smaller motion."""
    worst, asked = _worst_at_samples(problem, x), problem
    for _ in range(TIGHTENINGS):
        if worst <= 0.0 or time.monotonic() >= until:
            break
        if worst > MUCH:
            asked = replace(asked, density=DENSER)
        else:
            excess = max(worst, LEAST_TIGHTENING)
            asked = replace(
                asked,
                extra_m=asked.extra_m + 0.12 * excess,
                torque_room=asked.torque_room - 1.2 * excess,
                stop_room=asked.stop_room + 1.2 * excess,
            )
        for iterate in minimise(asked, x, 12, 100.0):
            x = iterate.x
            total += 1
        worst = _worst_at_samples(problem, x)
    x = x * min(1.0, (1.0 - 1e-9) * _largest_size(problem, x))
    size = _kept_size(problem, x)
    if size is None:
        left = _worst(problem, x)[1]
        return Candidate(number, problem.coefficients(x), np.inf, False, total, True, left=left)
    x = size * x
    value, _ = _judged(request, problem, x)
    return Candidate(number, problem.coefficients(x), value, True, total, True)
