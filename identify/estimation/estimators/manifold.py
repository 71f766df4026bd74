"""Least squares on the manifold of bodies that can exist: every iterate is consistent (001, Eq. 24).

Links are points (m, c, Q, L) of `bodies.mass_distribution`; joint terms that cannot be negative are positive
numbers t, moved as t (1 + x); bounds on masses and centres are linear in the parameters, A d + a > 0. The target is
that of `sdp`. It is approached from the inside, by Gauss-Newton steps on

    |x(d)|^2 - w (sum over links of log det J + sum over positive terms of log t + sum over bounds of log (A d + a))

whose second derivative in the charts is |X|^2, and |A D x / (A d + a)|^2 of the bounds: the barrier is the trust
region. As w falls to `LEAST_BARRIER`, the optimum is reached to within w times the number of links times four plus
that of terms and bounds, in squared standard deviations of the data. Every iterate is consistent and inside the bounds,
so that a search that is stopped has an answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.mass_distribution import CENTRE, MassDistribution, symmetric
from heft.identify.bodies.pseudo_inertia import from_pseudo_inertia
from heft.identify.errors import ProblemError
from heft.identify.estimation.constrained.feasible_set import DEFAULT_MARGIN, bound_rows, broken_bounds
from heft.identify.estimation.constrained.interior import moved_inside
from heft.identify.estimation.constrained.target import Target
from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.least_squares import weights_of
from heft.identify.estimation.problem import Problem

__all__ = ["MOST_STEPS", "Descent", "ManifoldPoint", "descend", "manifold", "on_manifold"]

THIN = 1e-2  # second moments of the first iterate, at least, of mass size^2
SMALL = 1e-2  # joint terms of the first iterate, at least, of their scale
LEAST_BARRIER = 1e-6
NARROWING = 0.2  # of the barrier's weight from one round to the next
NEAR = 0.5  # length of a step in the charts from which on the next, narrower barrier is taken
SHORTEST = 1e-6  # share of a step: rounding hides all descent
MOST_STEPS = 500


def manifold(problem: Problem, *, most_steps: int = MOST_STEPS) -> Estimate:
    """Consistent parameters by search on the manifold, inside the problem's bounds.

    most_steps   budget of the search; where it is used up the last iterate is the answer, and says so
    """
    if most_steps < 1:
        raise ProblemError(
            f"manifold: most_steps is {most_steps}, must be at least 1; {MOST_STEPS} are usual"
        )
    weights = weights_of(problem)
    found = on_manifold(problem, weights, most_steps)
    broken = tuple(f"manifold: {what}; use sdp" for what in broken_bounds(problem, found.parameters))
    facts = {"iterations": found.steps}
    return Estimate.of(
        problem, "manifold", found.parameters, weights, facts=facts, warnings=(*found.warnings, *broken)
    )


def on_manifold(problem: Problem, weights: Array, most_steps: int = MOST_STEPS) -> Descent:
    """The optimum of the target, or the last iterate within the budget."""
    target = Target.of(problem, weights)
    return descend(ManifoldPoint.near(problem, target), target, most_steps)


@dataclass(frozen=True)
class Descent:
    """Where a search ended: `parameters` (p,), after so many `steps`, and whether that is the optimum (`settled`)."""

    parameters: Array
    steps: int
    settled: bool

    @property
    def warnings(self) -> tuple[str, ...]:
        if self.settled:
            return ()
        said = "manifold: the budget of {} steps was used up before the optimum; its last iterate is consistent: "
        return (said.format(self.steps) + "give it more with method.most_steps, or use sdp",)


@dataclass(frozen=True)
class ManifoldPoint:
    """A robot on the manifold: a body per link and the joint terms, shape (p - 10 links,).

    A link has its body's ten numbers, and the margin's second moment, which is proportional to its mass. `bounds` are
    the rows A (k, p) and constants a (k,) of A d + a > 0.
    """

    problem: Problem
    bodies: tuple[MassDistribution, ...]
    terms: Array
    bounds: tuple[Array, Array]

    @classmethod
    def near(cls, problem: Problem, target: Target) -> ManifoldPoint:
        """At the target's minimum, with links that could not exist changed as little as makes them exist."""
        if problem.level == "shape":
            raise ProblemError("manifold knows no boxes: level full at most; use sdp or masspoint for shape")
        bodies = []
        for link in problem.layout.links:
            block = problem.layout.link(link)
            mass, ten = problem.masses[link], target.best[block]
            if ten[0] < 0.1 * mass:
                ten = np.append(mass, problem.start[block][1:])
            bodies.append(MassDistribution.from_ten(ten, THIN * ten[0] * problem.sizes[link] ** 2))
        best = target.best.copy()
        positive = list(problem.layout.non_negative) if problem.bounds.signs else []
        best[positive] = np.maximum(best[positive], SMALL * problem.scales[positive])
        terms = best[problem.layout.link_indices.stop :]
        return cls(problem, moved_inside(problem, bodies), terms, bound_rows(problem))

    @property
    def _margins(self) -> list[Array]:
        """Ten numbers of the margin of each link, per unit of its mass."""
        share = DEFAULT_MARGIN.relative
        sizes = self.problem.sizes.values()
        return [from_pseudo_inertia(np.diag([share * size**2] * 3 + [0.0])) for size in sizes]

    @property
    def _positive(self) -> Array:
        """1 for joint terms that are positive numbers, 0 for the others, shape (p - 10 links,)."""
        first, p = self.problem.layout.link_indices.stop, len(self.problem.layout)
        signed = self.problem.layout.non_negative if self.problem.bounds.signs else ()
        return np.isin(np.arange(first, p), signed).astype(np.float64)

    @property
    def centre(self) -> Array:
        """Growth of the barrier along the chart, shape (p,)."""
        return np.concatenate([*(CENTRE for _ in self.bodies), self._positive])

    @property
    def curvature(self) -> Array:
        """Square root of the barrier's second derivative along the chart: 1 or 0, shape (p,)."""
        return np.concatenate([np.ones(10 * len(self.bodies)), self._positive])

    @property
    def parameters(self) -> Array:
        """Standard parameters, shape (p,)."""
        links = [b.ten + b.mass * margin for b, margin in zip(self.bodies, self._margins, strict=True)]
        return np.concatenate([*links, self.terms])

    @property
    def slack(self) -> Array:
        """How far the bounds are, A d + a, shape (k,)."""
        rows, constants = self.bounds
        return np.asarray(rows @ self.parameters + constants)

    def derivative(self) -> Array:
        """Parameters per coordinate of the chart, shape (p, p)."""
        D = np.zeros((len(self.problem.layout),) * 2)
        for i, (body, margin) in enumerate(zip(self.bodies, self._margins, strict=True)):
            block = slice(10 * i, 10 * i + 10)
            D[block, block] = body.derivative_by_linear_step()
            D[block, block] += np.outer(margin, D[10 * i, block])
        rest = np.arange(self.problem.layout.link_indices.stop, len(D))
        D[rest, rest] = np.where(self._positive, self.terms, self.problem.scales[rest])
        return D

    def room(self, step: Array, nearer: Array) -> float:
        """The multiple of `step` that reaches the border; `nearer` is the share of each bound's slack that it adds."""
        lowest = [float(np.linalg.eigvalsh(symmetric(x))[0]) for x in self._by_link(step)]
        first = self.problem.layout.link_indices.stop
        lowest += np.where(self._positive > 0, step[first:], 0.0).tolist()
        lowest += nearer.tolist()
        return 1 / max(-min(lowest), 1e-9)

    def barrier(self, step: Array, nearer: Array) -> float:
        """Change of the barrier, -log det (1 + X) summed, at the end of `step`; `nearer` as for `room`."""
        total = -float(np.log1p(nearer).sum())
        for x in self._by_link(step):
            total -= float(np.log1p(np.linalg.eigvalsh(symmetric(x))).sum())
        first = self.problem.layout.link_indices.stop
        return total - float(np.log1p(np.where(self._positive > 0, step[first:], 0.0)).sum())

    def _by_link(self, step: Array) -> list[Array]:
        return [step[10 * i : 10 * i + 10] for i in range(len(self.bodies))]

    def moved(self, step: Array) -> ManifoldPoint:
        """The point that the chart reaches, step of shape (p,)."""
        bodies = tuple(b.linear_step(x) for b, x in zip(self.bodies, self._by_link(step), strict=True))
        first = self.problem.layout.link_indices.stop
        per_unit = np.where(self._positive, self.terms, self.problem.scales[first:])
        return replace(self, bodies=bodies, terms=self.terms + per_unit * step[first:])


def descend(point: ManifoldPoint, target: Target, most_steps: int = MOST_STEPS) -> Descent:
    """To the optimum, or as far as the budget goes; every point on the way is consistent."""
    whiten = np.linalg.inv(target.spread)
    residual = whiten @ (point.parameters - target.best)
    count = 4 * len(point.bodies) + len(point.bounds[0])
    weight = max(float(residual @ residual) / (count + 1), LEAST_BARRIER)
    for taken in range(1, most_steps + 1):
        # |r + J x|^2 + w (|x|^2 / 2 - centre' x), as least squares: normal equations would square the condition.
        derivative = point.derivative()
        jacobian, nearer = whiten @ derivative, point.bounds[0] @ derivative / point.slack[:, None]
        pull = np.sqrt(weight / 2)
        rows = np.vstack([jacobian, np.diag(pull * point.curvature), pull * nearer])
        wanted = np.concatenate([-residual, pull * point.centre, np.full(len(nearer), pull)])
        step, *_ = np.linalg.lstsq(rows, wanted, rcond=None)
        closer = nearer @ step
        share = min(1.0, 0.9 * point.room(step, closer))
        change = jacobian @ step
        while share > SHORTEST:
            gain = share * float((2 * residual + share * change) @ change)
            if gain + weight * point.barrier(share * step, share * closer) <= 0:
                break
            share /= 2
        point = point.moved(share * step)
        residual = whiten @ (point.parameters - target.best)
        if share * float(np.linalg.norm(step)) < NEAR or share <= SHORTEST:
            if weight <= LEAST_BARRIER:
                return Descent(point.parameters, taken, settled=True)
            weight = max(NARROWING * weight, LEAST_BARRIER)
    return Descent(point.parameters, most_steps, settled=False)
