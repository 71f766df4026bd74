"""The posterior of all parameters from data and prior, for those that the data alone do not determine.

Base parameters as the data have them, b with covariance C; everything else from the prior (`Chart`: coordinates x,
standard normal beforehand). The optimum of

    (b - K d(x))' C^-1 (b - K d(x)) + x'x

and its curvature are the posterior (Laplace): every point of it is a robot that could exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.parameters import JOINT_TERMS
from heft.identify.bodies.pseudo_inertia import inertia_about_com
from heft.identify.bodies.robot_chart import Chart
from heft.identify.certainty.interval import Interval
from heft.identify.errors import SolverError

__all__ = ["Posterior", "posterior"]

DOMINATED = 0.7  # posterior over prior standard deviation
MOST_STEPS = 100
NEAR = 1e-9
DIFFERENCE = 1e-5  # of coordinates, for derivatives of quantities


@dataclass(frozen=True)
class Posterior:
    """Most probable coordinates x (p,), their covariance (p, p), and the parameters there (p,); p: `chart.count`.

    informed   number of directions that the data decide
    strain     squared distance from the prior per such direction: about 1 if the prior's spread is right
    """

    chart: Chart
    coordinates: Array
    covariance: Array
    parameters: Array
    informed: float
    strain: float

    def base_covariance(self, matrix: Array, answer: Array) -> Array:
        """Of the base parameters of `answer`, shape (n_base, n_base), `matrix` times parameters being these.

        What they are away from the most probable ones counts as an error of that size.
        """
        p = matrix.shape[1]
        rows = matrix @ self.chart.at(self.coordinates)[1][:p]
        off = matrix @ (answer - self.parameters[:p])
        return np.asarray(rows @ self.covariance @ rows.T + np.outer(off, off))

    def intervals(self, degrees: float, answer: Array) -> dict[str, Interval]:
        """Mass, centre of mass and principal moments of every link, every joint term, and the total mass.

        Of the values in `answer`, shape (p,), which an estimator found with bounds and weights of its own: what they
        are away from the most probable ones counts as an error of that size.
        """
        intervals = dict(self._links(degrees, answer))
        layout = self.chart.layout
        _, derivative = self.chart.at(self.coordinates)
        for joint, terms in layout.joint_terms.items():
            for term, i in terms.items():
                unit = JOINT_TERMS[term].unit if term in JOINT_TERMS else ""
                name = f"{joint}.{term}"
                intervals[name] = self._interval(
                    answer[i], self.parameters[i], derivative[i], unit, degrees, False
                )
        masses = [layout.link(link).start for link in layout.links]
        total, probable = float(answer[masses].sum()), float(self.parameters[masses].sum())
        gradient = derivative[masses].sum(axis=0)
        intervals["total_mass"] = self._interval(total, probable, gradient, "kg", degrees, True)
        return intervals

    def _links(self, degrees: float, answer: Array) -> Iterator[tuple[str, Interval]]:
        units = ["kg", "m", "m", "m", "kg m2", "kg m2", "kg m2"]
        names = ["mass", "com.x", "com.y", "com.z", *(f"principal_moments.{k}" for k in (1, 2, 3))]
        x = self.coordinates
        for link in self.chart.links:
            block = self.chart.layout.link(link)
            probable = _quantities(self.chart.body(link, x))
            values = _quantities(answer[block]) if answer[block.start] > 0 else probable
            gradients = np.zeros((len(values), len(x)))
            for k in self.chart.coordinates(link):
                step = np.zeros(len(x))
                step[k] = DIFFERENCE
                above, below = (_quantities(self.chart.body(link, x + s)) for s in (step, -step))
                gradients[:, k] = (above - below) / (2 * DIFFERENCE)
            for name, value, mode, gradient, unit in zip(
                names, values, probable, gradients, units, strict=True
            ):
                positive = not name.startswith("com")
                yield (
                    f"{link}.{name}",
                    self._interval(float(value), float(mode), gradient, unit, degrees, positive),
                )

    def _interval(
        self, value: float, probable: float, gradient: Array, unit: str, degrees: float, positive: bool
    ) -> Interval:
        std = float(np.sqrt(max(float(gradient @ self.covariance @ gradient), 0.0)))
        dominated = std > DOMINATED * float(np.linalg.norm(gradient))
        if positive and value <= 0:  # a link that could not exist: least squares may say so
            value = probable
        return Interval.of(
            value, float(np.hypot(std, value - probable)), degrees, unit, dominated, positive=positive
        )


def posterior(chart: Chart, matrix: Array, base: Array, covariance: Array) -> Posterior:
    """Of numbers (m,) = matrix @ parameters with a covariance; infinite ones are left to the prior."""
    known = np.isfinite(np.diag(covariance)) & (np.diag(covariance) > 0)
    K, b = matrix[known], base[known]
    std = np.sqrt(np.diag(covariance)[known])
    correlation = covariance[np.ix_(known, known)] / np.outer(std, std)
    values, vectors = np.linalg.eigh(correlation)
    whiten = (vectors / np.sqrt(np.maximum(values, 1e-12))).T / std

    x = np.zeros(chart.count)
    d, D = chart.at(x)
    residual = whiten @ (b - K @ d)
    cost = float(residual @ residual + x @ x)
    for _ in range(MOST_STEPS):
        rows = np.vstack([whiten @ K @ D, np.eye(len(x))])
        step, *_ = np.linalg.lstsq(rows, np.concatenate([residual, -x]), rcond=None)
        share = 1.0
        while True:
            tried = x + share * step
            with np.errstate(over="ignore", invalid="ignore"):
                d, D = chart.at(np.clip(tried, -60.0, 60.0))
                left = whiten @ (b - K @ d)
                after = float(left @ left + tried @ tried)
            if after <= cost * (1 + 1e-12) or share < 1e-6:
                break
            share /= 2
        x, residual = tried, left
        gain, cost = cost - after, after
        if np.linalg.norm(share * step) < NEAR or gain <= 1e-10 * cost:
            break
    else:
        raise SolverError(f"no optimum of data and prior within {MOST_STEPS} steps; widen the prior's spread")
    rows = whiten @ K @ D
    curvature = rows.T @ rows + np.eye(len(x))
    spread = np.linalg.inv(curvature)
    informed = float(len(x) - np.trace(spread))
    return Posterior(chart, x, spread, d, informed, float(x @ x) / max(informed, 1.0))


def _quantities(ten: Array) -> Array:
    """Mass [kg], centre of mass [m] (3), principal moments [kg m2] (3), increasing."""
    moments = np.linalg.eigvalsh(inertia_about_com(ten))
    return np.concatenate([ten[:1], ten[1:4] / ten[0], moments])
