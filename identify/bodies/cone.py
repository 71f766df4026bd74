"""Quadratic programs over cones, handed to CLARABEL as they stand.

    minimise 1/2 x' H x + g' x   subject to   E x + e in C

with C the zero, non-negative, second-order, positive semidefinite or exponential cone. A modelling layer would compile
the same few matrices anew for every solve, at ten times the solver's own cost.

The point that is nearest to the origin (H = 2 I, g = 0) is first looked for with those demands alone that the origin
does not meet. If it meets all others too, it is the answer: the others only make the set smaller. Such a point is a
combination of the rows of these demands, and there are as many unknowns as rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import clarabel
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

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
    rows, columns, factors = _upper(stack.shape[-1])
    return stack[..., rows, columns] * factors


@cache
def _upper(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """Rows and columns of an upper triangle, column by column, and the factor of each element."""
    columns, rows = np.tril_indices(size)
    return rows, columns, np.where(rows == columns, 1.0, np.sqrt(2.0))


@dataclass(frozen=True, eq=False)
class _Demand:
    """E x + e in a cone, for the first variables x.

    rows, constant   E (m, k) and e (m,)
    cone             CLARABEL's, for a number of rows
    unmet            from values of E x + e (m,) to the rows (m,) that must be demanded: none, or all of an unmet cone,
                     or those of its elements that are not met
    """

    rows: Array
    constant: Array
    cone: Callable[[int], object]
    unmet: Callable[[Array], NDArray[np.bool_]]

    def unmet_at(self, x: Array) -> NDArray[np.bool_]:
        """Which rows a point (n,) does not meet, shape (m,)."""
        return self.unmet(self.rows @ x[: self.rows.shape[1]] + self.constant)

    def only(self, wanted: NDArray[np.bool_]) -> _Demand:
        """Some of its rows."""
        return self if wanted.all() else replace(self, rows=self.rows[wanted], constant=self.constant[wanted])


class ConeProgram:
    """A program that is put together block by block, then solved.

    Rows and Hessians may be narrower than the program: variables that came later have no part in them.
    """

    def __init__(self, variables: int) -> None:
        self.variables = variables
        self._hessian = sp.csc_matrix((variables, variables))
        self._gradient = np.zeros(variables)
        self._demands: list[_Demand] = []

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
        self._add(rows, constant, clarabel.ZeroConeT, _all)

    def non_negative(self, rows: ArrayLike, constant: ArrayLike) -> None:
        """E x + e >= 0, element by element."""
        self._add(rows, constant, clarabel.NonnegativeConeT, lambda values: values < 0)

    def second_order(self, rows: ArrayLike, constant: ArrayLike) -> None:
        """E x + e = (t, u) with |u| <= t."""
        self._add(rows, constant, clarabel.SecondOrderConeT, _all)

    def semidefinite(self, rows: ArrayLike, constant: ArrayLike) -> None:
        """E x + e = svec of a positive semidefinite matrix."""
        self._add(rows, constant, lambda size: clarabel.PSDTriangleConeT(_order(size)), _indefinite)

    def exponential(self, rows: ArrayLike, constant: ArrayLike) -> None:
        """E x + e = (u, v, w) with v exp(u / v) <= w, v > 0."""
        self._add(rows, constant, lambda _: clarabel.ExponentialConeT(), _all)

    def _add(
        self,
        rows: ArrayLike,
        constant: ArrayLike,
        cone: Callable[[int], object],
        unmet: Callable[[Array], NDArray[np.bool_]],
    ) -> None:
        vector = np.atleast_1d(np.asarray(constant, dtype=np.float64))
        if vector.size:
            self._demands.append(_Demand(np.asarray(rows, dtype=np.float64), vector, cone, unmet))

    def solve(self, tolerance: float = 1e-8) -> Solution:
        """The optimum; `InfeasibleError` with a certificate, `SolverError` for every status but `Solved`."""
        near = self._nearest(tolerance) if self._is_distance() else None
        return near or _solved(self._hessian, self._gradient, self._demands, tolerance)

    def _is_distance(self) -> bool:
        """Whether the objective is |x|^2."""
        alone = not self._gradient.any() and self._hessian.nnz == self.variables
        return alone and bool(np.all(self._hessian.diagonal() == 2.0))

    def _nearest(self, tolerance: float) -> Solution | None:
        """The point nearest to the origin, unless demands that the origin meets have a part in it: then None."""
        origin = np.zeros(self.variables)
        unmet = [one.unmet_at(origin) for one in self._demands]
        few = [one.only(rows) for one, rows in zip(self._demands, unmet, strict=True) if rows.any()]
        if not few:
            return Solution(origin, 0.0, 0, 0.0)
        count = sum(len(one.constant) for one in few)
        if count >= self.variables:
            return None
        basis, triangle = np.linalg.qr(_stacked(few, self.variables).T)  # x = basis y, rows x = triangle' y
        ends = np.cumsum([len(one.constant) for one in few])
        parts = np.split(triangle.T, ends[:-1])
        turned = [replace(one, rows=part) for one, part in zip(few, parts, strict=True)]
        try:
            found = _solved(2 * sp.identity(count, format="csc"), np.zeros(count), turned, tolerance)
        except InfeasibleError:
            raise
        except SolverError:
            return None
        x = basis @ found.x
        if any((one.unmet_at(x) & ~known).any() for one, known in zip(self._demands, unmet, strict=True)):
            return None
        return replace(found, x=x)


def _solved(
    hessian: sp.csc_matrix, gradient: Array, demands: Sequence[_Demand], tolerance: float
) -> Solution:
    """The optimum of a program as it stands."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    solver = clarabel.DefaultSolver(
        sp.triu(hessian, format="csc"),
        gradient,
        sp.csc_matrix(-_stacked(demands, len(gradient))),
        np.concatenate([one.constant for one in demands]),
        [one.cone(len(one.constant)) for one in demands],
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


def _stacked(demands: Sequence[_Demand], variables: int) -> Array:
    """Rows of all demands, zero for variables that have no part in them, shape (M, variables)."""
    stacked, start = np.zeros((sum(len(one.constant) for one in demands), variables)), 0
    for one in demands:
        stop = start + len(one.constant)
        stacked[start:stop, : one.rows.shape[1]] = one.rows
        start = stop
    return stacked


def _order(size: int) -> int:
    """k of matrices with k (k + 1) / 2 = `size` numbers."""
    return int((2 * size) ** 0.5)


def _indefinite(values: Array) -> NDArray[np.bool_]:
    """All rows, or none where `values` are svec of a positive semidefinite matrix."""
    columns, rows = np.tril_indices(_order(len(values)))
    matrix = np.zeros((rows[-1] + 1,) * 2)
    matrix[columns, rows] = values / np.where(rows == columns, 1.0, np.sqrt(2.0))  # its lower triangle
    return np.full(len(values), np.linalg.eigvalsh(matrix)[0] < 0)


def _all(values: Array) -> NDArray[np.bool_]:
    return np.ones(len(values), dtype=bool)
