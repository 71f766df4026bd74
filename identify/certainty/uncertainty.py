"""Covariance of base parameters and delay, with all that is known to widen it.

Start: least squares with independent residuals (002, Eq. 11), the delay one more unknown, and what the filter makes of
white noise taken into account (`Processing.alikeness`). Every standard deviation is
then widened to what the residuals' own scatter says (`scatter`; where they are not noise, `jackknife` too), never
narrowed; correlations stay. What noise of the positions biases comes on top. What the estimator moved away from least
squares counts as an error of that size, unless data and prior together say better (`posterior`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.certainty.jackknife import WINDOWS
from heft.identify.certainty.scatter import Scatter
from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.problem import Problem

__all__ = ["Uncertainty", "uncertainty_of"]


@dataclass(frozen=True)
class Uncertainty:
    """Errors to be expected of an estimate.

    covariance   of the base parameters, shape (n_base, n_base); infinite where data say nothing
    data         the same without what constraints and priors moved: of least squares
    widening     standard deviations over those of independent residuals, shape (n_base,)
    delays_s     standard deviations of the delays [s], shape (D,)
    degrees      degrees of freedom of these estimates of variance
    lag          rows over which residuals resemble each other
    moved        what constraints and priors moved the base parameters by, shape (n_base,)
    bias         what noise of the positions moved them by, shape (n_base,)
    """

    covariance: Array
    data: Array
    widening: Array
    delays_s: Array
    degrees: float
    lag: int
    moved: Array
    bias: Array

    def with_prior(self, together: Array | None) -> Self:
        """With the covariance that data and prior have together, for an estimate that is not least squares' own."""
        if together is None or not self.moved.any():
            return self
        unknown = ~np.isfinite(np.diag(self.covariance))
        covariance = together.copy()
        covariance[unknown, :] = covariance[:, unknown] = 0.0
        covariance[unknown, unknown] = np.inf
        return replace(self, covariance=covariance)


def uncertainty_of(
    problem: Problem, estimate: Estimate, scatter: Scatter, bias: Array, windows: Array | None = None
) -> Uncertainty:
    """The uncertainty of an estimate.

    bias      of the base parameters by noise of the positions, shape (n_base,)
    windows   variances by the jackknife, where residuals are not noise, shape (n_base + D,); None where they are
    """
    effect, formal, lag = scatter.effect, scatter.formal, scatter.lag
    known = effect.known
    own = scatter.own if windows is None else np.maximum(scatter.own, windows)
    size = np.diag(formal)
    ratio = np.divide(own[: len(size)], size, out=np.ones_like(size), where=size > 0)
    widening = np.sqrt(np.maximum(ratio, 1.0))
    moved = problem.base.matrix @ (estimate.parameters - estimate.least_squares)
    moved, bias = np.where(known, moved, 0.0), np.where(known, bias, 0.0)
    data = formal * np.outer(widening, widening) + np.outer(bias, bias)
    data[~known, ~known] = np.inf
    covariance = data + np.outer(moved, moved)
    delays = np.sqrt(np.maximum(scatter.variance * np.diag(effect.inverse), own[len(size) :]))
    groups = len(effect.delays)
    degrees = 1.5 * groups / (lag + 1) if windows is None else WINDOWS - 1.0
    return Uncertainty(covariance, data, widening, delays, degrees, lag, moved, bias)
