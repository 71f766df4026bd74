"""What data say of the drives' gains, and what a gain does to the base parameters.

With gains kappa (`bodies.drive_gain`) and weights w_j least squares answers kappa_j torque_j = Y_j b by

    b(kappa) = sum_j beta_j kappa_j,   beta_j = A^-1 w_j Y_j' torque_j,   A = sum_j A_j = sum_j w_j Y_j' Y_j

Gains that are all alike scale the whole answer, so the same data never tell the common one. Of the others they tell,
about log gains l with residuals e_j, by the triangles alone, with information M and score s:

    e_j = Y_j (d - b) - dl_j Y_j b,   M_jk = (j = k) b' A_j b - b' A_j A^-1 A_k b,   s_j = -w_j b' Y_j' e_j

Logarithms, because then a common factor is one direction wherever the gains are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.problem import Problem

__all__ = ["DriveGains", "drive_gains"]

ROUNDS = 4  # of the linearisation: gains that are 20 % apart take three
FAR = 0.3  # standard deviation of log gains that the linearisation is led by, where data say little


_FIELDS = ("sensitivity", "information", "score", "conditioning")


@dataclass(frozen=True, eq=False)
class DriveGains:
    """Of n joints' drives, for base parameters as found with all gains taken for 1.

    sensitivity   beta: base parameters are beta @ gains, shape (n_base, n)
    information   M: of the data about the log gains, shape (n, n); none about what all have in common
    score         M times the best log gains, shape (n,)
    conditioning  W: the inverse of the base parameters' covariance would be larger by W W' if gains were exact, shape
                  (n_base, n); zero where they were taken for exact
    """

    sensitivity: Array
    information: Array
    score: Array
    conditioning: Array

    def __post_init__(self) -> None:
        for name in _FIELDS:
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def posterior(self, prior: Array) -> tuple[Array, Array]:
        """Log gains (n,) and their covariance (n, n), by these data and a prior covariance about 0."""
        covariance = np.linalg.solve(np.eye(len(prior)) + prior @ self.information, prior)
        covariance = (covariance + covariance.T) / 2
        return covariance @ self.score, covariance

    def of_rows(self, rows: NDArray[np.bool_]) -> Self:
        """Those of some joints (n,) alone: the others' torques are not measured."""
        inner = np.ix_(rows, rows)
        return replace(
            self,
            sensitivity=self.sensitivity[:, rows],
            information=self.information[inner],
            score=self.score[rows],
            conditioning=self.conditioning[:, rows],
        )

    def widening(self, covariance: Array, data: Array) -> tuple[Array, Self]:
        """What gains of a `covariance` (n, n) add to that of the base parameters, `data` (n_base, n_base), and these
        gains with the conditioning that takes it off again.
        """
        known = np.isfinite(np.diag(data)) & (np.diag(data) > 0)
        std = np.sqrt(data[known, known])
        values, vectors = np.linalg.eigh(data[np.ix_(known, known)] / np.outer(std, std))
        whiten = (vectors / np.sqrt(np.maximum(values, 1e-12))).T / std
        seen = whiten @ self.sensitivity[known]
        inner = np.linalg.solve(np.eye(len(covariance)) + covariance @ seen.T @ seen, covariance)
        powers, turns = np.linalg.eigh((inner + inner.T) / 2)
        conditioning = np.zeros_like(self.sensitivity)
        conditioning[known] = whiten.T @ seen @ (turns * np.sqrt(np.maximum(powers, 0.0)))
        added = self.sensitivity @ covariance @ self.sensitivity.T
        return added, replace(self, conditioning=conditioning)

    def conditioned(self, covariance: Array) -> Array:
        """Covariance of the base parameters at given gains, from theirs (n_base, n_base), which must be finite."""
        through = covariance @ self.conditioning
        inner = np.eye(through.shape[1]) + self.conditioning.T @ through
        return np.asarray(covariance - through @ np.linalg.solve(inner, through.T))

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {name: getattr(self, name).tolist() for name in _FIELDS}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Inverse of `to_dict`."""
        return cls(**{name: np.array(value) for name, value in data.items()})


def drive_gains(problem: Problem, estimate: Estimate, spread: Array, widening: float) -> DriveGains:
    """Gains by the data of an estimate.

    spread     A^-1, shape (n_base, n_base), zero where the data say nothing
    widening   variance of what residuals sum up to over that of independent ones: they resemble their neighbours
    """
    information = estimate.information or problem.information
    w, n = estimate.weights, problem.joints
    rows = np.sqrt(w)[:, None, None] * information.factors[:, :, list(problem.base.independent)]
    torque = np.sqrt(w)[:, None] * information.factors[:, :, -1]
    beta = spread @ np.einsum("jrb,jr->bj", rows, torque)
    logs = np.zeros(n)
    for _ in range(ROUNDS):
        predicted = rows @ (beta @ np.exp(logs))
        left = np.exp(logs)[:, None] * torque - predicted
        pulls = np.einsum("jrb,jr->bj", rows, predicted)
        M = np.diag((predicted**2).sum(axis=1)) - pulls.T @ spread @ pulls
        slope = -(predicted * left).sum(axis=1)
        degrees = max(float(information.rows.sum()) - estimate.rank - n, 1.0)
        variance = widening * max(float((left**2).sum()) / degrees, np.finfo(float).tiny)
        score = slope + M @ logs
        logs = np.linalg.solve(M / variance + np.eye(n) / FAR**2, score / variance)
    # Where the estimate is not least squares' own, a common gain scales it all the same.
    measured = information.factors.any(axis=(1, 2))
    beta[:, measured] += (estimate.base - beta.sum(axis=1))[:, None] / max(int(measured.sum()), 1)
    return DriveGains(beta, (M + M.T) / 2 / variance, score / variance, np.zeros_like(beta))


def with_links(gains: DriveGains, problem: Problem, estimate: Estimate) -> DriveGains:
    """The same with what is known of the links: masses that are sure, or a hand that a wrist sensor has weighed, tell
    the gain that all joints have in common.

        v' b(kappa) ~ normal about v' K d0 = 1,   v = Y' Y K d0 / |Y K d0|^2,   variance v' K (S S' + u u') K' v

    is how much of the torque that the links should take in these data, as the prior d0 has them, they do take. S is the
    prior's metric and u its links, each times its mass's relative spread: what is missing in one link's CAD is often
    missing in all. One number, by torques: weighing all base parameters by their covariance would let a few that the
    prior is too sure of (a centre of mass on a cylinder's axis) decide.
    """
    if problem.prior is None:
        return gains
    layout, K = problem.layout, problem.base.matrix
    common = np.zeros(len(layout))
    for link in layout.links:
        block = layout.link(link)
        mass, spread = float(problem.start[block.start]), float(np.linalg.norm(problem.metric[block.start]))
        common[block] = problem.start[block] * (spread / mass if mass > 0 else 1.0)
    last = max(layout.link(link).stop for link in layout.links)
    own = np.array([i for i, k in enumerate(problem.base.independent) if k < last])
    information = estimate.information or problem.information
    rows = information.factors[:, :, [problem.base.independent[i] for i in own]]
    torque = rows @ (K @ problem.start)[own]
    v = np.zeros(len(K))
    v[own] = np.einsum("jrb,jr->b", rows, torque) / max(float((torque**2).sum()), np.finfo(float).tiny)
    variance = float(np.sum((v @ K @ np.column_stack([problem.metric, common])) ** 2))
    if not variance > 0:
        return gains
    parts = v @ gains.sensitivity
    return replace(
        gains,
        information=gains.information + np.outer(parts, parts) / variance,
        score=gains.score + parts * (v @ K @ problem.start - parts.sum()) / variance,
    )
