"""Scores of the rows at the optimum, and their influence on each estimate.

Least squares with a delay d solves sum of scores = 0, with for every instant k (w: weights, r = tau - Y b)

    s_b(k) = sum_j w_j r_jk Y_jk,   s_d(k) = -sum_j w_j r_jk tau'_jk

and an estimate is off by the sum of its influences, psi_d = (s_d - g' s_b) / h, psi_b = A^-1 s_b - g psi_d, where
A = Y'WY, g = A^-1 a, a = -Y'W tau', h = tau'W tau' + r'W tau'' - a' g. Rows join in groups, so that memory is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.least_squares import covariance
from heft.identify.estimation.problem import Problem
from heft.identify.information.fit_data import FitData

__all__ = ["Influence", "Residuals", "influence"]

MOST_GROUPS = 20_000


@dataclass(frozen=True)
class Residuals:
    """Of all rows, in order: time [s] (K,), residual = measured - modelled [N m, N] (K, n), kept (K, n).

    velocity   of the joints, filtered [rad/s, m/s], shape (K, n); NaN for joints without viscous friction
    """

    time: Array
    residual: Array
    kept: NDArray[np.bool_]
    velocity: Array


@dataclass(frozen=True)
class Influence:
    """psi of the base parameters and, where it was estimated, of the delay.

    parameters   shape (G, n_base)
    delay        shape (G,), zero for a given delay
    curvature    of the delay's cost in each group [1/s2], shape (G,); `total` of its profile
    sensitivity  g: change of base parameters per second of delay, shape (n_base,)
    spread       A^-1, shape (n_base, n_base); infinite on the diagonal where data say nothing
    starts       time of each group's first row [s], shape (G,)
    """

    parameters: Array
    delay: Array
    curvature: Array
    total: float
    sensitivity: Array
    spread: Array
    starts: Array
    residuals: Residuals

    @property
    def known(self) -> NDArray[np.bool_]:
        """Base parameters that the data determine, shape (n_base,)."""
        return np.isfinite(np.diag(self.spread))


def influence(fit_data: FitData, problem: Problem, estimate: Estimate, estimated: bool) -> Influence:
    """One more pass through the rows, at the least-squares optimum of the estimate's weights.

    `estimated`: the delay was found in these data, and so has a part in every estimate.
    """
    information = estimate.information or problem.information
    _, spread, _ = covariance(problem, estimate.weights, information)
    finite = np.where(np.isfinite(spread), spread, 0.0)
    columns = list(problem.base.independent)
    parameters = estimate.least_squares
    per_group = max(1, -(-int(information.rows.max()) // MOST_GROUPS))
    pulls, bends, starts, times, errors, kept, speeds = [], [], [], [], [], [], []
    layout = fit_data.robot.regressor.layout
    place = {column: i for i, column in enumerate(columns)}
    picked = []
    for j in range(problem.joints):
        part = layout.row(j)
        pairs = [(c, place[k]) for c, k in enumerate(layout.parameters[part], part.start) if k in place]
        picked.append(tuple(np.array(pairs, dtype=np.int64).reshape(-1, 2).T))
    names = [*layout.names, ""]
    viscous = np.array(
        [
            next(
                (
                    c
                    for c in range(*layout.row(j).indices(layout.width))
                    if names[layout.parameters[c]] == wanted
                ),
                -1,
            )
            for j, wanted in enumerate(f"{joint}.viscous" for joint in fit_data.robot.joints)
        ]
    )
    for block in fit_data.blocks():
        residual = block.torque - block.predict(parameters)
        weight = estimate.weights * block.keep
        if estimate.sample_weights is not None:
            weight = weight * estimate.sample_weights[block.index]
        pull = np.zeros((len(residual), len(columns) + 1))
        for j, (at, to) in enumerate(picked):
            pull[:, to] += (weight[:, j] * residual[:, j])[:, None] * block.table[:, at]
        first, second = block.rates[:, :, 0], block.rates[:, :, 1]
        pull[:, -1] = -(weight * residual * first).sum(axis=1)
        bends.append((weight * (first**2 + residual * second)).sum(axis=1))
        pulls.append(_grouped(pull, per_group))
        starts.append(block.time[::per_group])
        times.append(block.time)
        errors.append(residual)
        kept.append(block.keep)
        speeds.append(np.where(viscous >= 0, block.table[:, viscous], np.nan))
    scores = np.concatenate(pulls)
    bend = np.concatenate([_grouped(b[:, None], per_group)[:, 0] for b in bends])
    a = np.zeros(len(columns))
    if information.rates is not None and estimated:
        p = len(information.names)
        for w, factor, rates in zip(estimate.weights, information.factors, information.rates, strict=True):
            a -= w * (factor[:, columns].T @ rates[: p + 1, 0])
    g = finite @ a
    total = float(bend.sum() - a @ g) if estimated else np.inf
    total = total if total > 0 else np.inf  # no minimum: residuals of nothing but rounding
    psi_d = (scores[:, -1] - scores[:, :-1] @ g) / total
    return Influence(
        parameters=scores[:, :-1] @ finite - np.outer(psi_d, g),
        delay=psi_d,
        curvature=bend,
        total=total,
        sensitivity=g,
        spread=spread,
        starts=np.concatenate(starts),
        residuals=Residuals(
            np.concatenate(times), np.concatenate(errors), np.concatenate(kept), np.concatenate(speeds)
        ),
    )


def _grouped(rows: Array, size: int) -> Array:
    """Sums of every `size` rows."""
    return rows if size == 1 else np.add.reduceat(rows, np.arange(0, len(rows), size), axis=0)
