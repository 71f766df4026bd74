"""Information and scores of each part of the data by itself: what resampling needs, without the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from identify.arrays import Array
from identify.estimators.answer import Estimate
from identify.problem import Problem
from identify.source import Source

__all__ = ["Windows"]


@dataclass(frozen=True)
class Windows:
    """M windows of the rows, in columns of size 1: A_w (M, k, k) and s_w (M, k), k = n_base + 1 with the delay last.

    scale   of the columns: estimates are found[i] / scale[i]
    """

    squares: Array
    scores: Array
    scale: Array

    @classmethod
    def of(cls, source: Source, problem: Problem, answer: Estimate, delayed: bool, count: int) -> Windows:
        """One pass through the rows at the answer's least-squares optimum; `delayed`: the delay was estimated too."""
        place = {column: i for i, column in enumerate(problem.base.independent)}
        layout, size = source.robot.regressor.layout, len(place) + 1
        rows = sum(len(block.index) for block in source.blocks())
        squares, scores = np.zeros((count, size, size)), np.zeros((count, size))
        for block in source.blocks():
            residual = block.torque - block.predict(answer.least_squares)
            weight = answer.weights * block.keep
            if answer.sample_weights is not None:
                weight = weight * answer.sample_weights[block.index]
            window = block.index * count // max(rows, 1)
            for j in range(problem.joints):
                part = layout.row(j)
                named = enumerate(layout.parameters[part].tolist(), part.start)
                pairs = [(column, place[k]) for column, k in named if k in place]
                at, to = np.array([*pairs, (0, size - 1)], dtype=np.int64).T
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
        found = np.linalg.lstsq(information, counts @ self.scores, rcond=1e-12)[0]
        return np.asarray(found / self.scale, dtype=np.float64)
