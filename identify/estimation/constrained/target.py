"""The objective that the consistent estimators share: what data and prior say together.

    f(d) = |R d - z|^2 / v + e |S^-1 (d - d0)|^2

v is the variance of the weighted residuals (1 for weights 1 / sigma^2) times the problem's inflation, so that the first
term counts residuals in their own standard deviations; S is the root of the prior's covariance (`Problem.metric`), so
that the second counts the way from the prior d0 in its own. For e = 1 f is the negative logarithm of the posterior,
times two. In directions that the data do not determine the prior holds; where they know better, its pull is as weak as
it is vague. With e = 0 the data decide alone (003, Eq. 74), and the prior what is left entirely open.

The minimum d* and the Hessian give coordinates x in which f is a sphere: d = d* + T x, f = f* + |x|^2. A
solver that is handed x sees columns of equal size, whatever the units and the excitation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.least_norm import least_norm
from heft.identify.estimation.constraints.equalities import Equalities
from heft.identify.estimation.least_squares import RANK_TOLERANCE
from heft.identify.estimation.problem import Problem
from heft.identify.information.joint_weights import least_sigma

__all__ = ["Target", "whitened"]

LEAST_PRIOR_WEIGHT = 1e-8  # at which the prior decides only what is left entirely open


@dataclass(frozen=True)
class Target:
    """f(d) = f* + |x|^2 for d = `best` + `spread` x: shapes (p,) and (p, p)."""

    best: Array
    spread: Array

    @classmethod
    def of(cls, problem: Problem, weights: Array, prior_weight: float = 1.0) -> Target:
        """The target of `problem` with `weights` on the joints; `prior_weight` is e, and 0 where there is no prior."""
        R, z = whitened(problem, weights)
        U, values, V = np.linalg.svd(R @ problem.metric)
        e = LEAST_PRIOR_WEIGHT if problem.prior is None else max(prior_weight, LEAST_PRIOR_WEIGHT)
        stiffness = values**2 + e
        step = V.T @ (values / stiffness * (U.T @ (z - R @ problem.start)))
        target = cls(
            best=problem.start + problem.metric @ step,
            spread=np.asarray(problem.metric @ V.T / np.sqrt(stiffness), dtype=np.float64),
        )
        return target.given(problem.equalities, problem.scales) if len(problem.equalities) else target

    def given(self, equalities: Equalities, scales: Array) -> Target:
        """f on the parameters that fulfil `equalities`: data without noise. What they rule out has no spread.

        scales   how large each parameter is, shape (p,)
        """
        point, null = equalities.solutions(self.best, scales)
        measured = equalities.measured
        rows = np.vstack([np.linalg.solve(self.spread, null), measured.rows @ null / measured.std[:, None]])
        off = np.linalg.solve(self.spread, point - self.best)
        off = np.concatenate([off, (measured.rows @ point - measured.values) / measured.std])
        Q, R = np.linalg.qr(rows)
        spread = np.zeros_like(self.spread)
        spread[:, : null.shape[1]] = null @ np.linalg.inv(R)
        return Target(point - spread[:, : null.shape[1]] @ (Q.T @ off), spread)

    def in_units(self, unit: float) -> Target:
        """The same with x in larger units: f = f* + unit^2 |x|^2."""
        return Target(self.best, unit * self.spread)


def whitened(problem: Problem, weights: Array) -> tuple[Array, Array]:
    """R, shape (p, p), and z, (p,), over sqrt(v): residuals in their own standard deviations."""
    R, z, rho2 = problem.stacked(weights)
    seen = R @ problem.seen
    missed = z - seen @ least_norm(seen, z, RANK_TOLERANCE)
    rows = problem.information.rows
    freedom = max(float(rows.sum()) - len(problem.base.names), 1.0)
    least = float(weights @ (rows * least_sigma(problem.information) ** 2)) / float(rows.sum())
    deviation = np.sqrt(problem.inflation * max((rho2 + float(missed @ missed)) / freedom, least))
    return R / deviation, z / deviation
