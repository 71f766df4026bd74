"""The jackknife: variance of the estimates from leaving out one window of the data at a time.

With M windows of the rows, A = sum of A_w and scores s_w at the optimum, leaving window w out moves least squares by

    theta_(-w) - theta = -(A - A_w)^-1 s_w,      variance = (M - 1)/M sum over w of the squares of these

exactly, leverage included, and without a model of the residuals. With few windows the variance itself is uncertain, so
it is used only where the residuals are known not to be noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.least_norm import least_norm
from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.problem import Problem
from heft.identify.information.fit_data import FitData

__all__ = ["WINDOWS", "Windows", "jackknife"]

WINDOWS = 10


@dataclass(frozen=True)
class Windows:
    """Normal equations of M windows of the rows, columns scaled to length 1; k = n_base + D, the delays last.

    squares   A_w, shape (M, k, k)
    scores    s_w, shape (M, k)
    scale     lengths of the columns before scaling, shape (k,)
    """

    squares: Array
    scores: Array
    scale: Array

    @classmethod
    def of(cls, data: FitData, problem: Problem, estimate: Estimate, delayed: bool, count: int) -> Windows:
        """One pass through the rows at the estimate's least-squares optimum; `delayed`: delays were estimated too."""
        place = {column: i for i, column in enumerate(problem.base.independent)}
        layout, size = data.robot.regressor.layout, len(place) + len(data.delays_s)
        rows = data.row_count()
        squares, scores = np.zeros((count, size, size)), np.zeros((count, size))
        for block in data.blocks():
            residual = block.torque - block.predict(estimate.least_squares)
            weight = estimate.weights * block.keep
            if estimate.sample_weights is not None:
                weight = weight * estimate.sample_weights[block.index]
            window = block.index * count // max(rows, 1)
            last = len(place) + data.delay_group(block.dataset)
            for j in range(problem.joints):
                part = layout.row(j)
                named = enumerate(layout.parameters[part].tolist(), part.start)
                pairs = [(column, place[k]) for column, k in named if k in place]
                at, to = np.array([*pairs, (0, last)], dtype=np.int64).T
                design = block.table[:, at]
                design[:, -1] = -block.rates[:, j, 0] if delayed else 0.0
                for w in range(int(window[0]), int(window[-1]) + 1):
                    here = window == w
                    weighted = design[here] * weight[here, j, None]
                    squares[w][np.ix_(to, to)] += weighted.T @ design[here]
                    scores[w][to] += weighted.T @ residual[here, j]
        whole = np.diag(squares.sum(axis=0))
        scale = np.sqrt(np.where(whole > 0, whole, 1.0))
        return cls(squares / np.outer(scale, scale), scores / scale, scale)

    def moved(self, counts: Array) -> Array:
        """By how much least squares moves when window w counts `counts[w]` times instead of once, shape (k,)."""
        information = np.tensordot(counts, self.squares, axes=1)
        step = least_norm(information, counts @ self.scores, 1e-12)
        return np.asarray(step / self.scale, dtype=np.float64)


def jackknife(windows: Windows) -> Array:
    """Variances of the base parameters and of the delays, shape (n_base + D,)."""
    count = len(windows.scores)
    moved = np.array([windows.moved(1.0 - np.eye(count)[w]) for w in range(count)])
    return (count - 1) / count * (moved**2).sum(axis=0)
