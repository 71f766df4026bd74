"""On-line least squares: square-root information with forgetting (004, after Eq. 9), feasible if asked.

    R'R = sum over samples i of forgetting^(last - i) [Y_i tau_i]' W [Y_i tau_i]

is carried as the triangular R and updated by orthogonal transformations: no covariance that could lose its
sign, no start-up value. Batch least squares with the same weights has the same answer, which is how
`recursive` finds it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from identify.arrays import Array, frozen
from identify.errors import ProblemError
from identify.estimators.answer import Estimate
from identify.estimators.least_squares import closest_to_prior, weights_of
from identify.estimators.manifold import on_manifold
from identify.problem import Problem
from identify.reduction import Information

__all__ = ["RecursiveInformation", "recursive"]

PRIOR_WEIGHT = 1.0  # on-line there is time for one search, not for several with other weights of the prior


@dataclass(frozen=True)
class RecursiveInformation:
    """What has been seen so far: `factor` R, shape (p + 1, p + 1), upper triangular, and how many samples."""

    factor: Array
    samples: int = 0

    @classmethod
    def empty(cls, parameters: int) -> Self:
        """Nothing seen."""
        return cls(frozen(np.zeros((parameters + 1, parameters + 1))))

    def updated(self, regressor: Array, torque: Array, weights: Array, forgetting: float = 1.0) -> Self:
        """After samples with `regressor` (B, n, p), `torque` (B, n) [N m] and `weights` (n,) on their
        squares.

        `forgetting` is the weight that a sample keeps when the next one comes, in (0, 1].
        """
        count, p = len(torque), self.factor.shape[1] - 1
        age = np.arange(count - 1, -1, -1.0)
        root = np.sqrt(forgetting ** age[:, None] * weights)
        rows = np.concatenate([regressor, torque[:, :, None]], axis=2) * root[:, :, None]
        stacked = np.vstack([forgetting ** (count / 2) * self.factor, rows.reshape(-1, p + 1)])
        return replace(self, factor=frozen(np.linalg.qr(stacked, mode="r")), samples=self.samples + count)

    def information(self, names: tuple[str, ...]) -> Information:
        """As one block of data with weights of its own, for a `Problem`."""
        return Information(self.factor[None], np.array([self.samples]), names)


def recursive(problem: Problem, *, forgetting: float = 1.0, feasible: bool = False) -> Estimate:
    """The on-line estimate after the last sample; with `feasible`, on the manifold (see `manifold`).

    With a `forgetting` below 1 a sample's weight is forgetting^age: 0.999 at 1 kHz remembers about a second.
    """
    if not 0 < forgetting <= 1:
        raise ProblemError(
            f"recursive: forgetting {forgetting} must be above 0 and at most 1; 0.999 is usual"
        )
    weights = weights_of(problem)
    information = problem.information
    if forgetting < 1:
        if problem.reweight is None:
            raise ProblemError(
                "forgetting goes through the samples, here is only their reduced form; call fit()"
            )
        last = float(information.rows.max()) - 1
        information = problem.reweight(
            lambda index, residual: np.broadcast_to(forgetting ** (last - index)[:, None], residual.shape),
            problem.start,
        )
        problem = replace(problem, information=information)
    if feasible:
        parameters = on_manifold(problem, weights, PRIOR_WEIGHT).parameters
    else:
        parameters = closest_to_prior(problem, weights)
    return Estimate.of(problem, "recursive", parameters, weights, facts={"forgetting": forgetting})
