"""Quadratic programs over cones, handed to CLARABEL as they stand.

    minimise 1/2 x' H x + g' x   subject to   E x + e in C

with C the zero, non-negative, second-order, positive semidefinite or exponential cone. A modelling layer would compile
the same few matrices anew for every solve, at ten times the solver's own cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import clarabel
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from heft.identify.bodies.arrays import Array
from heft.identify.errors import SolverError

__all__ = ["ConeProgram", "InfeasibleError", "Solution", "svec"]


class InfeasibleError(SolverError):
    """No point satisfies the constraints: the solver has a certificate."""


@dataclass(frozen=True)
class Solution:
    """The optimum: `x`, the objective's `value`, the solver's `iterations` and its time `seconds`."""

    x: Array
    value: float
    iterations: int
    seconds: float


def svec(matrices: ArrayLike) -> Array:
    """Upper triangles, column by column, off-diagonal times sqrt(2): (..., k, k) to (..., k(k+1)/2)."""
    stack = np.asarray(matrices, dtype=np.float64)
    columns, rows = np.tril_indices(stack.shape[-1])
    return stack[..., rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0))


class ConeProgram:
    """A program that is put together block by block, then solved.

    Rows and Hessians may be narrower than the program: variables that came later have no part in them.
    """

    def __init__(self, variables: int) -> None:
        self.variables = variables
        self._hessian = sp.csc_matrix((variables, variables))
        self._gradient = np.zeros(variables)
        self._rows: list[sp.csc_matrix] = []
        self._constants: list[Array] = []
        self._cones: list[object] = []

    def extend(self, count: int) -> slice:
        """`count` further variables."""
        start, self.variables = self.variables, self.variables + count
        self._gradient = np.append(self._gradient, np.zeros(count))
        self._hessian.resize((self.variables, self.variables))
        return slice(start, self.variables)

    def quadratic(self, hessian: ArrayLike) -> None:
        """Add 1/2 x' H x."""
        block = sp.csc_matrix(hessian)
        block.resize(self._hessian.shape)
        self._hessian = self._hessian + block

    def linear(self, gradient: Sequence[float] | Array, where: slice) -> None:
        """Add g' x[where]."""
        self._gradient[where] += gradient

    def zero(self, rows: ArrayLike, constant: ArrayLike) -> None:
        """E x + e = 0."""
        self._add(rows, constant, clarabel.ZeroConeT)

    def non_negative(self, rows: ArrayLike, constant: ArrayLike) -> None:
        """E x + e >= 0, element by element."""
        self._add(rows, constant, clarabel.NonnegativeConeT)

    def second_order(self, rows: ArrayLike, constant: ArrayLike) -> None:
        """E x + e = (t, u) with |u| <= t."""
        self._add(rows, constant, clarabel.SecondOrderConeT)

    def semidefinite(self, rows: ArrayLike, constant: ArrayLike) -> None:
        """E x + e = svec of a positive semidefinite matrix."""
        self._add(rows, constant, lambda size: clarabel.PSDTriangleConeT(int((2 * size) ** 0.5)))

    def exponential(self, rows: ArrayLike, constant: ArrayLike) -> None:
        """E x + e = (u, v, w) with v exp(u / v) <= w, v > 0."""
        self._add(rows, constant, lambda _: clarabel.ExponentialConeT())

    def _add(self, rows: ArrayLike, constant: ArrayLike, cone: Callable[[int], object]) -> None:
        vector = np.atleast_1d(np.asarray(constant, dtype=np.float64))
        if vector.size:
            self._rows.append(sp.csc_matrix(rows))
            self._constants.append(vector)
            self._cones.append(cone(vector.size))

    def solve(self, tolerance: float = 1e-8) -> Solution:
        """The optimum; `InfeasibleError` with a certificate, `SolverError` for every status but `Solved`."""
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_threads = 1
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        for block in self._rows:
            block.resize((block.shape[0], self.variables))
        solver = clarabel.DefaultSolver(
            sp.triu(self._hessian, format="csc"),
            self._gradient,
            -sp.vstack(self._rows, format="csc"),
            np.concatenate(self._constants),
            self._cones,
            settings,
        )
        answer = solver.solve()
        status = str(answer.status)
        if status == "PrimalInfeasible":
            raise InfeasibleError("no parameters satisfy all constraints together (the solver has a proof)")
        if status != "Solved":
            raise SolverError(
                f"solver status {status} after {answer.iterations} iterations, must be Solved; "
                "give a prior and boxes of the right size, or loosen bounds that nearly exclude each other"
            )
        return Solution(
            np.array(answer.x), float(answer.obj_val), int(answer.iterations), float(answer.solve_time)
        )
