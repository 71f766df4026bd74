"""How far estimates move when a part of the data is left out: variance without a model of the residuals.

With M windows of the rows, A = sum of A_w and scores s_w at the optimum, leaving window w out moves least squares by

    theta_(-w) - theta = -(A - A_w)^-1 s_w,      variance = (M - 1)/M sum over w of the squares of these

exactly, leverage and all. Few windows make it rough, so it is asked only where residuals are known not to be noise.
"""

from __future__ import annotations

import numpy as np

from identify.arrays import Array
from identify.estimators.answer import Estimate
from identify.problem import Problem
from identify.source import Source

__all__ = ["WINDOWS", "jackknife"]

WINDOWS = 10


def jackknife(source: Source, problem: Problem, answer: Estimate, delayed: bool) -> Array:
    """Variances of the base parameters and of the delay, shape (n_base + 1,); `delayed`: it was estimated too."""
    columns = list(problem.base.independent)
    place = {column: i for i, column in enumerate(columns)}
    layout, size = source.robot.regressor.layout, len(columns) + 1
    rows = sum(len(block.index) for block in source.blocks())
    squares, scores = np.zeros((WINDOWS, size, size)), np.zeros((WINDOWS, size))
    for block in source.blocks():
        residual = block.torque - block.predict(answer.least_squares)
        weight = answer.weights * block.keep
        if answer.sample_weights is not None:
            weight = weight * answer.sample_weights[block.index]
        window = block.index * WINDOWS // max(rows, 1)
        for j in range(problem.joints):
            part = layout.row(j)
            found = [
                (c, place[k])
                for c, k in enumerate(layout.parameters[part].tolist(), part.start)
                if k in place
            ]
            at, to = np.array([*found, (0, size - 1)], dtype=np.int64).T
            design = block.table[:, at]
            design[:, -1] = -block.rates[:, j, 0] if delayed else 0.0
            for w in range(int(window[0]), int(window[-1]) + 1):
                here = window == w
                weighted = design[here] * weight[here, j, None]
                squares[w][np.ix_(to, to)] += weighted.T @ design[here]
                scores[w][to] += weighted.T @ residual[here, j]
    whole = squares.sum(axis=0)
    scale = np.sqrt(np.where(np.diag(whole) > 0, np.diag(whole), 1.0))
    moved = []
    for w in range(WINDOWS):
        rest = (whole - squares[w]) / np.outer(scale, scale)
        moved.append(-np.linalg.lstsq(rest, scores[w] / scale, rcond=1e-12)[0] / scale)
    return (WINDOWS - 1) / WINDOWS * (np.array(moved) ** 2).sum(axis=0)
