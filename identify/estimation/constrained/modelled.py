"""The problem of `sdp` once more, stated in cvxpy: for constraints of one's own, and as a second opinion.

The set is that of `feasible_set`, written down a second time from its definition; the objective is the same |x|^2 in
the coordinates of the `Target`. What is stated here is compiled by cvxpy and solved by CLARABEL to the same tolerance.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.cone import InfeasibleError, Solution
from heft.identify.bodies.consistency import Level
from heft.identify.bodies.pseudo_inertia import PSEUDO_BASIS, SPATIAL_BASIS, pseudo_inertia
from heft.identify.bodies.shape import EVEN, box_frame, tetrahedra
from heft.identify.errors import SolverError
from heft.identify.estimation.carried import Shared
from heft.identify.estimation.constrained.feasible_set import LEAST_MASS, FeasibleSet
from heft.identify.estimation.constrained.target import Target

__all__ = ["ModelledProgram"]


@dataclass(frozen=True, eq=False)
class ModelledProgram:
    """A cvxpy problem in the variable x of d = d* + T x; solved like a `ConeProgram`."""

    problem: cp.Problem
    x: cp.Variable

    @classmethod
    def of(
        cls,
        feasible: FeasibleSet,
        target: Target,
        unit: float,
        divergence: float = 0.0,
        compact: tuple[Array, float] | None = None,
    ) -> ModelledProgram:
        """The least |x|^2 in the feasible set, and with what the user demands.

        unit         standard deviations that x counts in (`Target.in_units`)
        divergence   weight of the log-det divergence from the prior, in squared standard deviations
        compact      instead: the least gradient @ d, shape (p,), with |x| and penalties within a reach in units
        """
        problem, own = feasible.problem, feasible.problem.own
        x = cp.Variable(target.spread.shape[1])
        d = target.best + target.spread @ x
        statement = _Statement(feasible, d)
        constraints = [*statement.links(), *statement.bounds()]
        distance, others = cp.sum_squares(x), 0.0
        if problem.shared is not None:
            others, parts = statement.shared(problem.shared, target.best, unit)
            constraints += parts
        if divergence:
            others = others + divergence / unit**2 * statement.divergence()
        if own is not None and not own.linear:
            constraints += [cp.vec(variable, order="F") == rows @ d for variable, rows in own.leaves]
            constraints += own.constraints.values()
            distance = distance + sum(own.penalties.values()) / unit**2
        if compact is not None:
            gradient, reach = compact
            constraints.append(distance <= reach**2)
            distance = gradient @ target.spread @ x / unit
        return cls(cp.Problem(cp.Minimize(distance + others), constraints), x)

    def solve(self, tolerance: float = 1e-8) -> Solution:
        """The optimum; `InfeasibleError` with a certificate, `SolverError` for every status but `optimal`."""
        settings = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), tolerance)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # said by the status
                self.problem.solve(solver=cp.CLARABEL, max_threads=1, **settings)
        except cp.error.SolverError as exc:
            raise SolverError(f"cvxpy: {exc}; give a prior and boxes of the right size") from exc
        status, stats = self.problem.status, self.problem.solver_stats
        if status == cp.INFEASIBLE:
            raise InfeasibleError("no parameters satisfy all constraints together (the solver has a proof)")
        if status != cp.OPTIMAL:
            raise SolverError(
                f"cvxpy: status {status} after {stats.num_iters} iterations, must be optimal; give a prior and boxes "
                "of the right size, or loosen constraints that nearly exclude each other"
            )
        return Solution(
            np.array(self.x.value), float(self.problem.value), int(stats.num_iters), float(stats.solve_time)
        )


@dataclass(frozen=True, eq=False)
class _Statement:
    """The feasible set of an affine expression d, shape (p,), in cvxpy's terms."""

    feasible: FeasibleSet
    d: Any

    def ten(self, link: str) -> Any:
        return self.d[self.feasible.problem.layout.link(link)]

    def links(self) -> Iterator[Any]:
        """Each link can exist at the problem's level (003, Eq. 18 to 21)."""
        problem = self.feasible.problem
        for link in problem.layout.links:
            mass, size = problem.masses[link], problem.sizes[link]
            if problem.level == "shape":
                yield from self._inside(link, mass)
            elif problem.level != "mass":
                yield self._exists(problem.level, self.ten(link), mass, size)

    def _exists(self, level: Level, ten: Any, mass: float, size: float) -> Any:
        """J - u m s^2 diag(1, 1, 1, 0) >= 0, or the same of the 6x6 matrix, in units of mass and size."""
        margin, basis = self.feasible.margin, PSEUDO_BASIS if level == "full" else SPATIAL_BASIS
        order = basis.shape[1]
        unit = np.diag([1 / size] * 3 + [1.0] * (order - 3)) / np.sqrt(mass)
        core = np.diag([1.0] * 3 + [0.0] * (order - 3))
        kept = _matrix(unit @ basis @ unit, ten) - margin.relative * size**2 * ten[0] * (unit @ core @ unit)
        return kept - margin.absolute * unit @ unit >> 0

    def _inside(self, link: str, mass: float) -> Iterator[Any]:
        """All but `margin` of the mass, which is spread evenly, is in tetrahedra of the box (`bodies.shape`)."""
        N = box_frame(*self.feasible.problem.boxes[link])
        parts = [cp.Variable((4, 4), PSD=True) for _ in tetrahedra()]
        yield from (part >= 0 for part in parts)
        J = (
            _matrix(N @ PSEUDO_BASIS @ N.T, self.ten(link))
            - self.feasible.margin.relative * self.ten(link)[0] * EVEN
        )
        yield J / mass == sum(V @ part @ V.T for V, part in zip(tetrahedra(), parts, strict=True))

    def bounds(self) -> Iterator[Any]:
        """Masses, total mass, centres of mass and signs (003, Eq. 25 to 28)."""
        problem, bounds = self.feasible.problem, self.feasible.problem.bounds
        for link in problem.layout.links:
            ten, mass, size = self.ten(link), problem.masses[link], problem.sizes[link]
            low, high = bounds.mass.get(link, (0.0, np.inf))
            yield ten[0] / mass >= max(low, min(LEAST_MASS * mass, high)) / mass
            if np.isfinite(high):
                yield ten[0] / mass <= high / mass
            if bounds.com_in_box and link in problem.boxes:
                least, most = problem.boxes[link]
                yield (ten[1:4] - np.asarray(least) * ten[0]) / (mass * size) >= 0
                yield (np.asarray(most) * ten[0] - ten[1:4]) / (mass * size) >= 0
        if bounds.total_mass is not None:
            whole = sum(problem.masses.values())
            total = sum(self.ten(link)[0] for link in problem.layout.links)
            yield total / whole >= bounds.total_mass[0] / whole
            if np.isfinite(bounds.total_mass[1]):
                yield total / whole <= bounds.total_mass[1] / whole
        positive = list(problem.layout.non_negative)
        if bounds.signs and positive:
            yield cp.multiply(1 / problem.scales[positive], self.d[positive]) >= 0

    def shared(self, shared: Shared, best: Array, unit: float) -> tuple[Any, list[Any]]:
        """What a wrist sensor carries, and the rest of its link, can both exist; and the hand's own cost."""
        problem = self.feasible.problem
        link, centre, y = self.ten(shared.link), best[problem.layout.link(shared.link)], cp.Variable(10)
        hand = shared.mean + shared.gain @ (link - shared.centre) + unit * shared.root @ y
        least, size = LEAST_MASS * problem.masses[shared.link], problem.sizes[shared.link]
        level: Level = "inertia" if problem.level == "inertia" else "full"
        constraints = []
        for part, about in ((hand, shared.hand(centre)), (link - hand, centre - shared.hand(centre))):
            mass = max(float(about[0]), 10 * least)
            constraints.append(part[0] / mass >= 0)
            if problem.level != "mass":
                constraints.append(self._exists(level, part, mass, size))
        return cp.sum_squares(y), constraints

    def divergence(self) -> Any:
        """Sum over links of tr(J0^-1 J) - log det J, in the links' own units."""
        problem, total = self.feasible.problem, 0.0
        assert problem.prior is not None
        for link in problem.layout.links:
            unit = np.diag([1 / problem.sizes[link]] * 3 + [1.0]) / np.sqrt(problem.masses[link])
            J0 = unit @ pseudo_inertia(problem.prior[problem.layout.link(link)]) @ unit
            J = _matrix(unit @ PSEUDO_BASIS @ unit, self.ten(link))
            total = total + cp.trace(np.linalg.inv(J0) @ J) - cp.log_det(J)
        return total


def _matrix(basis: Array, ten: Any) -> Any:
    """sum_i ten_i basis_i, of a basis of symmetric matrices (10, k, k)."""
    order = basis.shape[1]
    return cp.reshape(basis.reshape(10, order**2).T @ ten, (order, order), order="F")
