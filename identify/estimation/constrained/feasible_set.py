"""The feasible set of a robot's parameters, as rows of a cone program (003, section 3).

For parameters d = d* + T x the set is, link by link (s: the link's size, u: the margin):

    level mass       m >= m_min
    level inertia    D - u m s^2 diag(1, 1, 1, 0, 0, 0) >= 0          6x6, 003 Eq. 18 to 21
    level full       J - u m s^2 diag(1, 1, 1, 0) >= 0                4x4, triangle inequality too
    level shape      J - u m (an even body) realisable inside the box, exactly

and then masses, total mass, centres of mass inside their boxes, and the signs of joint terms (003, Eq. 25 to
28). The link that a wrist sensor is on is made of what the sensor carries and of the rest, and each of them must exist
too, at level full at most (`heft.identify.estimation.carried`).

A margin is relative: by the Schur complement the 4x4 condition is "every radius of gyration is at least
sqrt(u) times the size". `absolute` is the margin of 003 (Eq. 21: smallest eigenvalue in SI units), for
comparison with it. Every matrix is scaled by the link's mass and size before it goes to the solver.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.cone import ConeProgram, svec
from heft.identify.bodies.consistency import Level
from heft.identify.bodies.pseudo_inertia import PSEUDO_BASIS, SPATIAL_BASIS
from heft.identify.bodies.shape import EVEN, add_parts, box_rows
from heft.identify.errors import SolverError
from heft.identify.estimation.carried import Shared
from heft.identify.estimation.problem import Problem

__all__ = ["DEFAULT_MARGIN", "FeasibleSet", "Margin", "bound_rows", "broken_bounds"]

LEAST_MASS = 1e-3  # of the mass that the link should have


@dataclass(frozen=True)
class Margin:
    """Distance that is kept from the border: `relative` to mass and size, or `absolute` in SI units (003)."""

    relative: float = 1e-5  # smallest radius of gyration: 0.3 % of the link's half length
    absolute: float = 0.0


DEFAULT_MARGIN = Margin()


@dataclass(frozen=True)
class FeasibleSet:
    """The set of a problem, ready to be demanded of an affine expression."""

    problem: Problem
    margin: Margin = DEFAULT_MARGIN

    def demand(self, program: ConeProgram, spread: Array, best: Array, unit: float = 1.0) -> None:
        """Demand that d = `best` + `spread` x lies in the set; shapes (p,) and (p, variables).

        What a wrist sensor carries is ten further variables, in `unit` standard deviations.
        """
        problem = self.problem
        for link in problem.layout.links:
            block = problem.layout.link(link)
            self._demand_link(program, link, spread[block], best[block])
        rows, constants = self._linear()
        if rows.size:
            program.non_negative(rows @ spread, rows @ best + constants)
        if problem.shared is not None:
            block = problem.layout.link(problem.shared.link)
            self._demand_shared(program, problem.shared, spread[block], best[block], unit)

    def hand(self, parameters: Array) -> tuple[Array, float]:
        """What the wrist sensor carries if the links are `parameters`: the most likely body that can, shape (10,) in
        its link's frame, and how many standard deviations it is off all that is known; infinite where none can.
        """
        shared = self.problem.shared
        assert shared is not None
        link = parameters[self.problem.layout.link(shared.link)]
        program = ConeProgram(1)
        program.quadratic([[2.0]])
        self._demand_shared(program, shared, np.zeros((10, 1)), link, 1.0)
        try:
            x = program.solve().x[1:]
        except SolverError:
            return shared.hand(link), float("inf")
        return shared.hand(link) + shared.root @ x, float(np.linalg.norm(x))

    def _demand_shared(
        self, program: ConeProgram, shared: Shared, spread: Array, best: Array, unit: float
    ) -> None:
        """Of a link `best` + `spread` x, shapes (10,) and (10, variables)."""
        own = program.extend(10)
        program.quadratic(sp.diags(np.r_[np.zeros(own.start), np.full(10, 2.0)]))
        rows = np.zeros((10, program.variables))
        rows[:, : spread.shape[1]] = shared.gain @ spread
        rows[:, own] = unit * shared.root
        link = np.zeros_like(rows)
        link[:, : spread.shape[1]] = spread
        hand, size = shared.hand(best), self.problem.sizes[shared.link]
        least = LEAST_MASS * self.problem.masses[shared.link]
        for part, constant in ((rows, hand), (link - rows, best - hand)):
            mass = max(float(constant[0]), 10 * least)
            program.non_negative(part[:1] / mass, constant[:1] / mass)
            if self.problem.level != "mass":
                level: Level = "inertia" if self.problem.level == "inertia" else "full"
                self._demand_body(program, level, mass, size, part, constant)

    def _demand_link(self, program: ConeProgram, link: str, spread: Array, best: Array) -> None:
        mass, size, level = self.problem.masses[link], self.problem.sizes[link], self.problem.level
        if level == "mass":
            return
        if level == "shape":
            rows = box_rows(*self.problem.boxes[link]) / mass
            rows[:, 0] -= self.margin.relative * svec(EVEN) / mass
            add_parts(program, rows @ spread, rows @ best)
            return
        self._demand_body(program, level, mass, size, spread, best)

    def _demand_body(
        self, program: ConeProgram, level: Level, mass: float, size: float, spread: Array, best: Array
    ) -> None:
        """Of a body `best` + `spread` x, at level inertia or full."""
        basis = PSEUDO_BASIS if level == "full" else SPATIAL_BASIS
        unit = np.ones(basis.shape[1])
        unit[:3] = 1 / size
        matrices = basis.copy()
        matrices[0, :3, :3] -= self.margin.relative * size**2 * np.eye(3)
        scaled = svec(matrices * np.outer(unit, unit) / mass).T
        absolute = self.margin.absolute * svec(np.diag(unit**2) / mass)
        program.semidefinite(scaled @ spread, scaled @ best - absolute)

    def _linear(self) -> tuple[Array, Array]:
        """Rows A and constants a of the conditions A d + a >= 0, each divided by its scale."""
        rows, constants = bound_rows(self.problem)
        if not self.problem.bounds.signs:
            return rows, constants
        signed = list(self.problem.layout.non_negative)
        signs = np.eye(len(self.problem.layout))[signed] / self.problem.scales[signed, None]
        return np.vstack([rows, signs]), np.append(constants, np.zeros(len(signed)))


def bound_rows(problem: Problem) -> tuple[Array, Array]:
    """Rows A and constants a of the conditions A d + a >= 0 on masses and centres, each divided by its scale.

    Of each link its least mass first, then what the problem's bounds say of it; the total last.
    """
    bounds = problem.bounds
    rows: list[Array] = []
    constants: list[float] = []

    def add(row: Array, constant: float, scale: float) -> None:
        rows.append(row / scale)
        constants.append(constant / scale)

    p = len(problem.layout)
    total = np.zeros(p)
    for link in problem.layout.links:
        ten = np.zeros((10, p))
        ten[:, problem.layout.link(link)] = np.eye(10)
        mass, size = problem.masses[link], problem.sizes[link]
        low, high = bounds.mass.get(link, (0.0, np.inf))
        total += ten[0]
        add(ten[0], -max(low, min(LEAST_MASS * mass, high)), mass)
        if np.isfinite(high):
            add(-ten[0], high, mass)
        if bounds.com_in_box and link in problem.boxes:
            for axis, (least, most) in enumerate(zip(*problem.boxes[link], strict=True), start=1):
                add(ten[axis] - least * ten[0], 0.0, mass * size)
                add(most * ten[0] - ten[axis], 0.0, mass * size)
    if bounds.total_mass is not None:
        whole = sum(problem.masses.values())
        add(total, -bounds.total_mass[0], whole)
        if np.isfinite(bounds.total_mass[1]):
            add(-total, bounds.total_mass[1], whole)
    return np.array(rows), np.array(constants)


def broken_bounds(problem: Problem, parameters: Array) -> tuple[str, ...]:
    """Bounds that parameters break, with their numbers."""
    bounds, masses = problem.bounds, {}
    broken = []
    for link, ten in problem.links_of(parameters).items():
        masses[link] = float(ten[0])
        low, high = bounds.mass.get(link, (0.0, np.inf))
        if not low <= ten[0] <= high:
            broken.append(f"the mass of {link} is {ten[0]:.3g} kg, bounds {low:g} to {high:g}")
        if bounds.com_in_box and link in problem.boxes and ten[0] > 0:
            com, (least, most) = ten[1:4] / ten[0], problem.boxes[link]
            if np.any(com < least) or np.any(com > most):
                broken.append(
                    f"the centre of mass of {link} is at {np.round(com, 3).tolist()} m, outside its box"
                )
    if problem.shared is not None and not np.isfinite(FeasibleSet(problem).hand(parameters)[1]):
        broken.append(f"{problem.shared.link} without what the wrist sensor carries could not exist")
    low, high = bounds.total_mass or (0.0, np.inf)
    if not low <= sum(masses.values()) <= high:
        broken.append(f"the total mass is {sum(masses.values()):.3g} kg, bounds {low:g} to {high:g}")
    return tuple(broken)
