"""Where a search begins: a posture that nothing is wrong with, and a random motion about it that keeps every bound."""

from __future__ import annotations

from collections import Counter

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.errors import ProblemError
from heft.identify.excitation.problem import FourierProblem
from heft.identify.excitation.request import DesignRequest
from heft.identify.excitation.sample_constraints import collision_constraints

__all__ = ["first_motion", "free_postures", "posture", "start"]

POSTURES = 400
ROOM = 1.5  # times the clearance: a posture needs some to move in
INNER = 0.8  # of the range: the motion needs room on both sides
DRAWS, FEW = 12, 4  # random motions: of all joints, of some
STILL_POSTURES = 5  # that are compared where joints stand still, besides the middle
#: Where fewer postures are free, so many others are moved out of what is in the way, by so many steps.
FEW_FREE, EASED, EASING, DAMPING = 10, 40, 40, 0.1
SMALLER = 0.75
SHRINKS = 24
USE = 0.9  # of the linear limits


def posture(request: DesignRequest, rng: np.random.Generator, number: int) -> Array:
    """A posture [rad] (n,) with room around it; `number` 0 is the middle of the ranges where that is free.

    `ProblemError` where no posture is found: it names what stands in the way in the best of them.
    """
    free = _free_ones(request, rng)
    return np.asarray(free[0 if number == 0 else int(rng.integers(len(free)))])


def start(request: DesignRequest, rng: np.random.Generator, number: int) -> tuple[FourierProblem, Array]:
    """The problem about a posture, and a motion to begin with in it, (k,).

    Where some joints stand still all the time, at a posture that nobody has given, that one of a few is chosen whose
    motion tells most: from one posture a weight may not be told at all.
    """
    if request.posture is not None or len(request.moving) == len(request.limits.axes):
        problem = request.problem(posture(request, rng, number))
        return problem, first_motion(problem, rng)
    free = _free_ones(request, rng)
    best: tuple[float, FourierProblem, Array] | None = None
    reason: ProblemError | None = None
    for place in [0, *rng.integers(len(free), size=STILL_POSTURES)]:
        problem = request.problem(free[place])
        try:
            x = first_motion(problem, rng)
        except ProblemError as exc:
            reason = exc
            continue
        value = problem.value(x)
        if best is None or value < best[0]:
            best = value, problem, x
    if best is None:
        assert reason is not None
        raise reason
    return best[1:]


def _free_ones(request: DesignRequest, rng: np.random.Generator) -> Array:
    """Free postures (k, n), the middle of the ranges (or the posture that was given) first where it is free."""
    limits = request.bounds
    middle, half = 0.5 * (limits.lower + limits.upper), 0.5 * (limits.upper - limits.lower)
    given = request.posture
    if given is not None:
        problems = _problems(request, given[None])[0]
        if problems:
            raise ProblemError(f"the posture to begin at is not free: {problems[0][1]}; choose another one")
        if len(request.moving) < len(middle) and not request.held:
            return given[None]
        middle = given.copy()
    held = list(request.held)
    middle[held], half[held] = request.stance[held], 0.0
    draws = middle + INNER * half * rng.uniform(-1.0, 1.0, (POSTURES, len(middle)))
    candidates = np.clip(np.vstack([middle[None], draws]), limits.lower, limits.upper)
    found = _problems(request, candidates)
    free = [k for k, problems in enumerate(found) if not problems]
    if len(free) < FEW_FREE and request.config.excitation.collisions:
        wrong = sorted((k for k in range(len(found)) if found[k]), key=lambda k: found[k][0][0])
        eased = _eased(request, candidates[wrong[:EASED]])
        out = [k for k, problems in enumerate(_problems(request, eased)) if not problems]
        if free or out:
            return np.vstack([candidates[free], eased[out]])
    if not free:
        best = min(found, key=lambda problems: problems[0][0])
        often = Counter(problems[0][1].split(":")[0] for problems in found).most_common(1)[0]
        raise ProblemError(
            f"no posture inside the joints' limits is free ({len(candidates)} were tried): {best[0][1]} in the best "
            f"of them; {often[0]} is the worst of it in {often[1]}; {_remedy(best[0][1])}"
        )
    return candidates[free]


def _eased(request: DesignRequest, q: Array) -> Array:
    """Postures q (k, n), moved out of what they are in and into the workspace by damped Gauss-Newton steps."""
    limits, scene = request.bounds, request.surroundings
    moves = np.ones(len(limits.axes))
    moves[list(request.held)] = 0.0
    for _ in range(EASING):
        left = collision_constraints(scene, q, (ROOM - 1.0) * scene.clearance)
        q = q.copy()
        for i in np.unique(left.sample[left.value > 0.0]):
            own = (left.sample == i) & (left.value > 0.0)
            J, c = left.slopes[0, own] * moves, left.value[own]
            q[i] -= J.T @ np.linalg.solve(J @ J.T + DAMPING * np.eye(len(c)), c)
        q = np.clip(q, limits.lower, limits.upper)
    return q


def _remedy(problem: str) -> str:
    """What to do about what is wrong with the best posture."""
    if problem.startswith("torque"):
        return "raise the torque limit, or correct the masses of the robot's file"
    if problem.startswith("workspace"):
        return "widen the workspace, or the joints' limits"
    if problem.startswith("centre of pressure"):
        return "give a --posture that stands better, or a smaller excitation.balance_margin"
    plane = "say where the mounting plane is (scene.mounting.height)"
    return f"take the obstacle away, {plane}, keep less `scene.clearance`, or widen the joints' limits"


def free_postures(request: DesignRequest, rng: np.random.Generator, count: int) -> Array:
    """At most `count` random postures that nothing is wrong with, (k, n) [rad]; joints that do not move stand."""
    limits = request.bounds
    middle, half = 0.5 * (limits.lower + limits.upper), 0.5 * (limits.upper - limits.lower)
    draws = middle + 0.95 * half * rng.uniform(-1.0, 1.0, (POSTURES, len(middle)))
    still = [k for k in range(len(middle)) if k not in request.moving]
    draws[:, still] = (middle if request.posture is None and not request.held else request.stance)[still]
    found = _problems(request, draws)
    return draws[[k for k, problems in enumerate(found) if not problems][:count]]


def _problems(request: DesignRequest, q: Array) -> list[list[tuple[float, str]]]:
    """Per posture, worst first: by how much (in units of the bound) and what is wrong."""
    found: list[list[tuple[float, str]]] = [[] for _ in q]
    scene, bound = request.surroundings, request.torque_bound
    looked = request.config.excitation.collisions
    distances = (
        scene.distances(q, ROOM * scene.wanted) if looked else np.full((len(q), len(scene.wanted)), np.inf)
    )
    lacking = ROOM * scene.wanted - distances
    for i, k in np.argwhere(lacking > 0.0):
        one, other = scene.pairs[k]
        found[i].append(
            (
                float(lacking[i, k]) / 0.1,
                f"{one} and {other}: {distances[i, k]:.3f} m apart, {scene.wanted[k]:.3g} m are kept and "
                f"{ROOM * scene.wanted[k]:.3g} m needed to move about it",
            )
        )
    if looked and scene.workspace is not None:
        points, _ = scene.flange(q)
        low, high = (np.array(corner) for corner in scene.workspace)
        for i, axis in np.argwhere((points < low) | (points > high)):
            found[i].append(
                (
                    float(max(points[i, axis] - high[axis], low[axis] - points[i, axis])) / 0.1,
                    f"workspace: the flange at {'xyz'[axis]} = {points[i, axis]:.3f} m, the workspace is "
                    f"{low[axis]:g} to {high[axis]:g} m",
                )
            )
    still = np.zeros_like(q)
    if request.balance is not None:
        room, margin = request.balance.room(q, still, still), request.balance.margin_m
        for i in np.flatnonzero(room < margin):
            found[i].append(
                (
                    float(margin - room[i]) / 0.1,
                    f"centre of pressure: {room[i]:.3f} m inside the soles, {margin:g} m are kept",
                )
            )
    if bound is not None and request.whole.prior is not None:
        torque = request.whole.torque(q, still, still, request.whole.prior)
        for i, k in np.argwhere(np.abs(torque) > 0.9 * bound):
            limit = list(request.config.joints.values())[k].torque
            found[i].append(
                (
                    float(abs(torque[i, k]) / bound[k] - 0.9),
                    f"torque of {request.limits.axes[k]}: {torque[i, k]:.3g} N m to stand still, its limit is "
                    f"{limit:g} N m, {bound[k]:.3g} N m with a margin for what the file does not know",
                )
            )
    return [sorted(problems, reverse=True) for problems in found]


def first_motion(problem: FourierProblem, rng: np.random.Generator) -> Array:
    """The best of some random motions, each as large as its bounds allow, shape (k,)."""
    m = problem.basis.size
    best: tuple[float, Array] | None = None
    for _ in range(DRAWS if len(problem.moving) == len(problem.centre) else FEW):
        z = rng.standard_normal((len(problem.moving), m))
        z[:, 0] = 0.0
        x = z.ravel()
        x = x * np.repeat(USE / np.maximum(problem.share_of_limits(x), 1e-12), m)
        for _ in range(SHRINKS):
            if np.all(problem.violations(x).value <= 0.0):
                break
            x = SMALLER * x
        else:
            continue
        value = problem.value(x)
        if np.isfinite(value) and (best is None or value < best[0]):
            best = value, x
    if best is None:
        still = problem.violations(0.0 * x)
        left = [about for about, value in zip(still.about, still.value, strict=True) if value > 0.0]
        about = Counter(left or still.about).most_common(1)
        raise ProblemError(
            f"no motion about a free posture keeps every bound: {about[0][0] if about else 'the limits'} is left by "
            "the smallest of them; widen it"
        )
    return best[1]
