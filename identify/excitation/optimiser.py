"""Sequential quadratic programming in a trust region, for problems that are mostly linear constraints.

    minimise f(x)   subject to   A x <= b,   c(x) <= 0

At each iterate f gets a quadratic model whose Hessian is learned from its gradients (damped BFGS), c is linearised, and
the step solves, with CLARABEL, for the largest bound t of what is left of c:

    minimise  g' d + 1/2 d' B d + w sum t   subject to   A (x + d) <= b,  c + J d <= t,  t >= 0,  |d| <= radius

Linear constraints hold at every iterate. A step is taken where f + w sum max(c, 0) falls by a fair share of what the
model says; else the radius shrinks (Nocedal, Wright: Numerical Optimization, chapter 18).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.cone import ConeProgram
from heft.identify.errors import SolverError

__all__ = ["Evaluation", "Iterate", "Problem", "minimise"]

FIRST_RADIUS, LEAST_RADIUS, MOST_RADIUS = 0.1, 1e-4, 0.5
FAIR = 0.1  # of the decrease that the model promises
TOLERANCE = 1e-6  # of the quadratic programs: a step need not be better than its model
SLACK = 1e-5  # by which a linear constraint may be left in a step: less than the room that is kept beside it
NEAR, RETRIES = (
    0.5,
    4,
)  # linear constraints within a step of this length along their normal; others when they are left
WORTH = 1e-6  # a step that promises less is the last


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """f and its gradient, and those of the constraints c that may matter nearby: (m,), (m, k)."""

    value: float
    gradient: Array
    constraints: Array
    slopes: Array

    @property
    def violation(self) -> float:
        """Sum of what c is above zero."""
        return float(np.maximum(self.constraints, 0.0).sum())


class Problem(Protocol):
    """What is minimised; `matrix` (m, k) and `bound` (m,) are A and b."""

    @property
    def matrix(self) -> Array: ...
    @property
    def bound(self) -> Array: ...
    @property
    def lengths(self) -> Array:
        """Of the rows of `matrix`, (m,)."""

    def evaluate(self, x: Array) -> Evaluation:
        """At x (k,)."""


@dataclass(frozen=True, slots=True, eq=False)
class Iterate:
    """Where the search stands."""

    number: int
    x: Array
    evaluation: Evaluation
    radius: float


def minimise(problem: Problem, start: Array, iterations: int, weight: float = 10.0) -> Iterator[Iterate]:
    """Iterates from `start`, which satisfies A x <= b; each is as good as the one before, or better.

    weight   of a violated c in what has to fall, w
    """
    x, radius = start, FIRST_RADIUS
    here = problem.evaluate(x)
    B = np.eye(len(x))
    first = True
    for number in range(iterations):
        yield Iterate(number, x, here, radius)
        try:
            d, promised = _step(problem, x, here, B, radius, weight)
        except SolverError:
            radius *= 0.25
            if radius < LEAST_RADIUS:
                return
            continue
        if promised < WORTH * min(1.0, radius / FIRST_RADIUS):
            return
        there = problem.evaluate(x + d)
        fell = (here.value - there.value) + weight * (here.violation - there.violation)
        if np.isfinite(there.value):
            B = _learned(B, d, there.gradient - here.gradient, first)
            first = False
        if fell > FAIR * promised:
            x, here = x + d, there
            if fell > 0.7 * promised and np.abs(d).max() > 0.9 * radius:
                radius = min(2.0 * radius, MOST_RADIUS)
        else:
            radius = 0.4 * min(radius, float(np.abs(d).max()))
        if radius < LEAST_RADIUS:
            return
    yield Iterate(iterations, x, here, radius)


def _step(
    problem: Problem, x: Array, here: Evaluation, B: Array, radius: float, weight: float
) -> tuple[Array, float]:
    """The step d, and by how much the model falls along it."""
    A = problem.matrix
    room = problem.bound - A @ x  # not below -SLACK: what one step leaves, the next takes back
    near = room < NEAR * radius * problem.lengths
    reachable = here.constraints + radius * np.abs(here.slopes).sum(axis=1) > 0.0
    here = replace(here, constraints=here.constraints[reachable], slopes=here.slopes[reachable])
    for _ in range(RETRIES):
        d = _model_step(here, B, radius, weight, A[near], room[near])
        reach = A @ d
        beyond = (reach > room + SLACK) & (reach > 0.0)
        if not np.any(beyond & ~near):
            break
        near |= beyond
    d = d * float(np.min(np.maximum(room[beyond] + SLACK, 0.0) / reach[beyond], initial=1.0))
    after = np.maximum(here.constraints + here.slopes @ d, 0.0).sum()
    promised = -(here.gradient @ d + 0.5 * d @ B @ d) + weight * (here.violation - after)
    return d, float(promised)


def _model_step(here: Evaluation, B: Array, radius: float, weight: float, A: Array, room: Array) -> Array:
    """The step of the quadratic program with A d <= room."""
    k, m = len(here.gradient), len(here.constraints)
    program = ConeProgram(k)
    program.quadratic(B)
    program.linear(here.gradient, slice(0, k))
    program.non_negative(-A, room)
    program.non_negative(np.vstack([np.eye(k), -np.eye(k)]), np.full(2 * k, radius))
    if m:
        left = program.extend(m)
        program.linear(np.full(m, weight), left)
        program.non_negative(np.hstack([-here.slopes, np.eye(m)]), -here.constraints)
        program.non_negative(np.hstack([np.zeros((m, k)), np.eye(m)]), np.zeros(m))
    return program.solve(TOLERANCE).x[:k]


def _learned(B: Array, s: Array, y: Array, first: bool) -> Array:
    """B after a step s along which the gradient changed by y: BFGS, damped so that it stays positive definite."""
    if s @ s == 0.0:
        return B
    if first and y @ s > 0.0:
        B = np.eye(len(s)) * (y @ y) / (y @ s)
    Bs = B @ s
    curvature = s @ Bs
    if s @ y < 0.2 * curvature:
        share = 0.8 * curvature / (curvature - s @ y)
        y = share * y + (1.0 - share) * Bs
    return B - np.outer(Bs, Bs) / curvature + np.outer(y, y) / (s @ y)
