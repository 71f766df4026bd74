"""What the residuals' own scatter says about an estimate, beside what it would be for independent residuals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.certainty.influence import Influence, influence
from heft.identify.estimation.alignment import Alignment
from heft.identify.estimation.estimate import Estimate
from heft.identify.information.long_run import long_run_variance

__all__ = ["Scatter", "scatter_of"]


@dataclass(frozen=True)
class Scatter:
    """Of the base parameters and the D delays, at the least-squares optimum of an estimate's weights.

    effect     influence of the rows on the estimates
    formal     covariance of the base parameters for independent residuals, shape (n_base, n_base); what the filter
               makes of white noise is taken into account
    own        variances as the scores scatter, the delays' last, shape (n_base + D,) (`long_run_variance`)
    variance   of a weighted residual, in the formal covariance
    lag        rows over which residuals resemble each other
    alike      variance of a mean of filtered white noise over that of independent samples (`Processing.alikeness`)
    """

    effect: Influence
    formal: Array
    own: Array
    variance: float
    lag: int
    alike: float

    @property
    def inflation(self) -> float:
        """Variance of a typical estimate over that of independent residuals, at least 1."""
        known = self.effect.known & (np.diag(self.formal) > 0)
        if not known.any():
            return self.alike
        ratio = self.own[: len(known)][known] / np.diag(self.formal)[known]
        return self.alike * max(float(np.median(ratio)), 1.0)


def scatter_of(alignment: Alignment, estimate: Estimate) -> Scatter:
    """One pass through the rows of the fit."""
    data, problem = alignment.data.weighted(estimate.sample_weights), alignment.problem
    effect = influence(data, problem, estimate, alignment.estimated)
    information = estimate.information or problem.information
    alike = max(data.processing.alikeness(1 / each.sampling.step_s) for each in data.surveys)
    rows = float(information.rows.sum())
    lost = max(rows - estimate.rank - 1, 1.0)
    squares = problem.residual_squares(estimate.least_squares, information)
    variance = alike * float(estimate.weights @ squares) / lost
    spread = np.where(np.isfinite(effect.spread), effect.spread, 0.0)
    formal = variance * (spread + effect.sensitivity @ effect.inverse @ effect.sensitivity.T)
    own, lag = long_run_variance(np.column_stack([effect.parameters, effect.delays]))
    return Scatter(effect, formal, own * rows / lost, variance, lag, alike)
