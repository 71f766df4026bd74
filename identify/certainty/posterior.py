"""The posterior of all parameters from data and prior, for those that the data alone do not determine.

Base parameters as the data have them, b with covariance C; everything else from the prior d = d0 + S x, with x standard
normal beforehand (`Problem.metric_of`). Both are Gaussian and linear, so that the posterior is, too:

    minimise  (b - K d)' C^-1 (b - K d) + x'x

What a link must be to exist has no part in it: intervals are those of a symmetric distribution, cut at zero where a
quantity cannot be negative.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.parameters import Layout, unit_of
from heft.identify.bodies.prior_spread import PriorSpread
from heft.identify.bodies.pseudo_inertia import INERTIA_ELEMENTS, skew
from heft.identify.certainty.interval import Interval
from heft.identify.estimation.problem import Problem

__all__ = ["GaussianPrior", "Posterior", "posterior"]

DOMINATED = 0.7  # posterior over prior standard deviation
DIFFERENCE = 1e-6  # of a parameter's prior deviation, for derivatives of quantities


@dataclass(frozen=True)
class GaussianPrior:
    """Parameters are `centre` + `root` x, with x standard normal: shapes (q,) and (q, q).

    The first p of them are the robot's; with a wrist sensor ten more are those of what it carries, in its link's frame,
    which are part of their link's.
    """

    layout: Layout
    centre: Array
    root: Array

    @classmethod
    def of(cls, problem: Problem, spread: PriorSpread) -> GaussianPrior:
        """The problem's prior, with another spread."""
        assert problem.prior is not None
        return cls(problem.layout, problem.prior, problem.metric_of(spread))

    @classmethod
    def with_hand(cls, problem: Problem, spread: PriorSpread) -> GaussianPrior | None:
        """With what the wrist sensor carries apart from its link; None where the prior does not tell them apart."""
        parts = problem.parts(spread)
        if parts is None:
            return None
        assert problem.carried is not None
        assert problem.carried.prior is not None
        plain, p = cls.of(problem, spread), len(problem.layout)
        block, (rest, hand) = problem.layout.link(problem.carried.link), parts
        root = np.zeros((p + 10, p + 10))
        root[:p, :p] = plain.root
        root[block, block], root[block, p:], root[p:, p:] = rest, hand, hand
        return cls(problem.layout, np.concatenate([plain.centre, problem.carried.prior]), root)


@dataclass(frozen=True)
class Posterior:
    """Most probable coordinates x (q,), their covariance (q, q), and the parameters there (q,)."""

    prior: GaussianPrior
    coordinates: Array
    covariance: Array
    parameters: Array

    def base_covariance(self, matrix: Array, answer: Array) -> Array:
        """Of the base parameters of `answer`, shape (n_base, n_base), `matrix` times parameters being these.

        What they are away from the most probable ones counts as an error of that size.
        """
        p = matrix.shape[1]
        rows = matrix @ self.prior.root[:p]
        off = matrix @ (answer - self.parameters[:p])
        return np.asarray(rows @ self.covariance @ rows.T + np.outer(off, off))

    def intervals(self, degrees: float, answer: Array) -> dict[str, Interval]:
        """Mass, centre of mass and principal moments of every link, every joint term, and the total mass.

        Of the values in `answer`, shape (p,), which an estimator found with bounds and weights of its own: what they
        are away from the most probable ones counts as an error of that size.
        """
        intervals = dict(self._links(degrees, answer))
        layout, root = self.prior.layout, self.prior.root
        off = answer - self.parameters[: len(layout)]
        for joint, terms in layout.joint_terms.items():
            for term, i in terms.items():
                name = f"{joint}.{term}"
                intervals[name] = self._interval(answer[i], off[i], root[i], unit_of(name), degrees, False)
        masses = [layout.link(link).start for link in layout.links]
        intervals["total_mass"] = self._interval(
            float(answer[masses].sum()),
            float(off[masses].sum()),
            root[masses].sum(axis=0),
            "kg",
            degrees,
            True,
        )
        return intervals

    def _links(self, degrees: float, answer: Array) -> Iterator[tuple[str, Interval]]:
        units = ["kg", "m", "m", "m", "kg m2", "kg m2", "kg m2"]
        names = ["mass", "com.x", "com.y", "com.z", *(f"principal_moments.{k}" for k in (1, 2, 3))]
        layout = self.prior.layout
        for link in layout.links:
            block = layout.link(link)
            ten, off = answer[block], answer[block] - self.parameters[block]
            if ten[0] <= 0:  # a link that could not exist: least squares may say so
                ten, off = self.parameters[block], np.zeros(10)
            if ten[0] <= 0:
                ten = self.prior.centre[block]
            slopes = _slopes(ten, np.linalg.norm(self.prior.root[block], axis=1))
            values = _quantities(ten)
            for k, (name, unit) in enumerate(zip(names, units, strict=True)):
                positive = not name.startswith("com")
                value, gradient = float(values[k]), slopes[k] @ self.prior.root[block]
                yield (
                    f"{link}.{name}",
                    self._interval(value, float(slopes[k] @ off), gradient, unit, degrees, positive),
                )

    def _interval(
        self, value: float, off: float, gradient: Array, unit: str, degrees: float, positive: bool
    ) -> Interval:
        """Of a quantity with this gradient by the coordinates, (q,), that is `off` from its most probable value."""
        std = float(np.sqrt(max(float(gradient @ self.covariance @ gradient), 0.0)))
        dominated = std > DOMINATED * float(np.linalg.norm(gradient))
        return Interval.of(value, float(np.hypot(std, off)), degrees, unit, dominated, positive=positive)


def posterior(prior: GaussianPrior, matrix: Array, base: Array, covariance: Array) -> Posterior:
    """Of numbers (m,) = matrix @ parameters with a covariance; infinite ones are left to the prior."""
    known = np.isfinite(np.diag(covariance)) & (np.diag(covariance) > 0)
    K, b = matrix[known], base[known]
    std = np.sqrt(np.diag(covariance)[known])
    correlation = covariance[np.ix_(known, known)] / np.outer(std, std)
    values, vectors = np.linalg.eigh(correlation)
    whiten = (vectors / np.sqrt(np.maximum(values, 1e-12))).T / std
    rows = whiten @ K @ prior.root
    _, seen, V = np.linalg.svd(rows, full_matrices=True)
    stiffness = np.ones(len(prior.centre))
    stiffness[: len(seen)] += seen**2
    spread = (V.T / stiffness) @ V
    x = spread @ (rows.T @ (whiten @ (b - K @ prior.centre)))
    return Posterior(prior, x, spread, prior.centre + prior.root @ x)


def _quantities(tens: Array) -> Array:
    """Mass [kg], centre of mass [m] (3), principal moments [kg m2] (3), increasing, of bodies (..., 10): (..., 7)."""
    mass, first = tens[..., :1], tens[..., 1:4]
    inertia = np.zeros((*tens.shape[:-1], 3, 3))
    for number, (i, j) in enumerate(INERTIA_ELEMENTS, start=4):
        inertia[..., i, j] = inertia[..., j, i] = tens[..., number]
    arm = skew(first)
    moments = np.linalg.eigvalsh(inertia - np.swapaxes(arm, -1, -2) @ arm / mass[..., None])
    return np.concatenate([mass, first / mass, moments], axis=-1)


def _slopes(ten: Array, steps: Array) -> Array:
    """Derivative of the quantities by ten numbers, shape (7, 10), with steps of a share of `steps` (10,)."""
    moves = np.diag(DIFFERENCE * steps)
    return np.asarray((_quantities(ten + moves) - _quantities(ten - moves)).T / (2 * DIFFERENCE * steps))
