"""Weights of joints whose own bounds the data contradict: they count for less, and other joints do not pay for it.

Friction and drive inertia of a joint are not negative. Where data and prior together say that one is, by more than its
standard deviation, the joint's torque has an error that noise does not explain (flexibility, a filter of its own), and
the bound would hand it on to every parameter that the joint shares with others. As is usual for measurements that
contradict what is known (Birge 1932), the variance of the joint's residuals is enlarged by

    max(1, mean over the negative terms that act in it of (d*_i / s_i)^2)

with d* the most probable parameters without bounds and s their standard deviations (`Target`). Nothing changes where
bounds and data agree.
"""

from __future__ import annotations

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.estimation.constrained.target import Target
from heft.identify.estimation.problem import Problem

__all__ = ["credible_weights"]


def credible_weights(problem: Problem, target: Target, weights: Array) -> Array:
    """Weights on the squared residuals of the joints, at most `weights`, shape (n,); `target` is that of `weights`."""
    if not (problem.weighted_by_noise and problem.bounds.signs):
        return weights
    terms = np.array(problem.layout.non_negative, dtype=np.int64)
    best, variance = target.best[terms], (target.spread[terms] ** 2).sum(axis=1)
    terms, squares = terms[best < 0], best[best < 0] ** 2 / np.maximum(variance[best < 0], 1e-300)
    acting = problem.information.factors[:, :, terms].any(axis=1)  # of joints (n,) and terms
    mean = (acting * squares).sum(axis=1) / np.maximum(acting.sum(axis=1), 1)
    return np.asarray(weights / np.maximum(mean, 1.0))
