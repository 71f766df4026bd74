"""Scores of the rows at the optimum, and their influence on each estimate.

Least squares with a delay d solves sum of scores = 0, with for every instant k (w: weights, r = tau - Y b)

    s_b(k) = sum_j w_j r_jk Y_jk,   s_d(k) = -sum_j w_j r_jk tau'_jk

and an estimate is off by the sum of its influences, psi_d = (s_d - g' s_b) / h, psi_b = A^-1 s_b - g psi_d, where
A = Y'WY, g = A^-1 a, a = -Y'W tau', h = tau'W tau' + r'W tau'' - a' g. With D delays, each of its own rows, g has D
columns and h is a matrix. Rows join in groups, so that memory is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.estimation.estimate import Estimate
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
    """psi of the base parameters and, where they were estimated, of the D delays.

    parameters   shape (G, n_base)
    delays       shape (G, D), zero for given delays
    curvature    of the delays' costs in each group [1/s2], shape (G, D)
    inverse      h^-1: covariance of the delays for residuals of variance 1 / w, shape (D, D); zero for given ones
    sensitivity  g: change of base parameters per second of delay, shape (n_base, D)
    spread       A^-1, shape (n_base, n_base); infinite on the diagonal where data say nothing
    starts       time of each group's first row [s], shape (G,)
    """

    parameters: Array
    delays: Array
    curvature: Array
    inverse: Array
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
    spread = estimate.spread
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
    count, a = len(fit_data.delays_s), np.zeros((len(columns), len(fit_data.delays_s)))
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
            for j, wanted in enumerate(f"{joint}.viscous" for joint in fit_data.robot.rows)
        ]
    )
    for block in fit_data.blocks():
        residual = block.torque - block.predict(parameters)
        weight = estimate.weights * block.keep
        if estimate.sample_weights is not None:
            weight = weight * estimate.sample_weights[block.index]
        pull = np.zeros((len(residual), len(columns) + count))
        first, second = block.rates[:, :, 0], block.rates[:, :, 1]
        group = fit_data.delay_group(block.dataset)
        for j, (at, to) in enumerate(picked):
            pull[:, to] += (weight[:, j] * residual[:, j])[:, None] * block.table[:, at]
            a[to, group] -= (weight[:, j] * first[:, j]) @ block.table[:, at]
        pull[:, len(columns) + group] = -(weight * residual * first).sum(axis=1)
        bend = np.zeros((len(residual), count))
        bend[:, group] = (weight * (first**2 + residual * second)).sum(axis=1)
        bends.append(_grouped(bend, per_group))
        pulls.append(_grouped(pull, per_group))
        starts.append(block.time[::per_group])
        times.append(block.time)
        errors.append(residual)
        kept.append(block.keep)
        speeds.append(np.where(viscous >= 0, block.table[:, viscous], np.nan))
    scores = np.concatenate(pulls)
    curvature = np.concatenate(bends)
    g = finite @ a if estimated else np.zeros_like(a)
    profiled = np.diag(curvature.sum(axis=0)) - a.T @ g
    # No minimum: residuals of nothing but rounding.
    minimum = estimated and bool(np.linalg.eigvalsh(profiled)[0] > 0)
    inverse = np.asarray(np.linalg.inv(profiled) if minimum else np.zeros_like(profiled), dtype=np.float64)
    by_parameters, by_delays = scores[:, : len(columns)], scores[:, len(columns) :]
    psi_d = (by_delays - by_parameters @ g) @ inverse
    return Influence(
        parameters=by_parameters @ finite - psi_d @ g.T,
        delays=psi_d,
        curvature=curvature,
        inverse=inverse,
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
