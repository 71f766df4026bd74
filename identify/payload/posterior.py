"""The most probable load that can exist, given factors of data and a prior (001, section III).

    minimise  sum 1/2 |R s(load, delay, gravity) - z|^2 / noise  +  prior(load)  +  1/2 (delay / delay_std)^2

over the manifold of bodies that can exist, by damped Gauss-Newton steps through its chart (001, Eq. 26): every
iterate, not only the last, is fully physically consistent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from identify.arrays import Array
from identify.inertia.manifold import MassDistribution
from identify.payload.channels import Lifted, LiftedJacobian
from identify.payload.chart import SIZE, UNITS, derivative_by_step, moved
from identify.payload.prior import ObjectPrior

__all__ = ["FINE", "ROUGH", "Evidence", "Point", "evidence_jacobian", "maximise", "start_from"]

#: Of the objective (half a squared sigma): a step that gains less is not worth taking.
FINE = 1e-8
ROUGH = 1e-3  # some hundredths of a sigma are left

_LONGEST_STEP = 2.0  # in units of the chart: e^2 in mass and moments, 0.2 m
_PARTS = (slice(0, 1), slice(1, 4), slice(4, 10))  # of the chart: mass, place, moments
_ITERATIONS = 40
_THIN = 0.01  # of the largest moment: a start with a smaller one is thickened, or steps would creep out of its corner
_ELEMENTS = UNITS.reshape(6, 9)
_PRODUCTS = (np.einsum("aij,bjk->abik", UNITS, UNITS) + np.einsum("bij,ajk->abik", UNITS, UNITS)).reshape(
    36, 9
) / 2


@dataclass(frozen=True)
class Evidence:
    """R s = z with noise of variance `noise`, and what s is made of.

    `doubt` (p,) is a standard deviation, common to all its elements, of R'(R s - z): an error that no number of
    samples averages out.
    """

    R: Array
    z: Array
    lifted: Lifted
    noise: float = 1.0
    doubt: Array | None = None


@dataclass(frozen=True)
class Point:
    """A load, the delay [s] and gravity [m/s2]."""

    body: MassDistribution
    delay: float
    gravity: Array

    @cached_property
    def ten(self) -> Array:
        """The load's ten numbers."""
        return self.body.ten

    def lift(self, lifted: Lifted) -> LiftedJacobian:
        """s of some channels here."""
        return lifted.lift(self.ten, self.delay, self.gravity)


def evidence_jacobian(evidence: Evidence, point: Point) -> tuple[Array, Array]:
    """Residual R s - z (k,) in sigmas, and its derivative by (ten, delay, gravity), shape (k, 14)."""
    s = point.lift(evidence.lifted)
    scale = 1.0 / math.sqrt(evidence.noise)
    return (evidence.R @ s.values - evidence.z) * scale, evidence.R @ s.jacobian * scale


def start_from(prior: ObjectPrior, gravity: Array) -> Point:
    """The body that the prior alone expects."""
    mass = float(np.exp(prior.log_mass[0]))
    moments, axes = np.linalg.eigh(mass * prior.gyration(mass))
    axes = axes * np.sign(np.linalg.det(axes))
    return Point(MassDistribution(mass, prior.centre[0], axes, moments), 0.0, gravity)


def maximise(
    evidence: Sequence[Evidence],
    prior: ObjectPrior,
    start: Point,
    *,
    delay_std: float | None = None,
    free_gravity: bool = False,
    decrement: float = FINE,
) -> Point:
    """The most probable point, from `start`; `delay_std` None: no delay is unknown; `decrement`: how exactly."""
    point, damping = replace(start, body=_thickened(start.body)), 1e-3
    value, gradient, hessian = _objective(evidence, prior, point, delay_std, free_gravity)
    for _ in range(_ITERATIONS):
        step = _step(gradient, hessian, damping)
        gain = -float(gradient @ step)
        if 0 <= gain < decrement:
            break
        if gain > 0:  # a step whose parts were cut may lead uphill
            trial = _moved(point, step, delay_std is not None, free_gravity)
            attempt = _objective(evidence, prior, trial, delay_std, free_gravity)
            if attempt[0] < value:
                point, (value, gradient, hessian) = trial, attempt
                damping = max(damping / 10, 1e-12)
                continue
        if damping > 1e8:
            break
        damping = max(damping * 10, 1e-6)
    return point


def _thickened(body: MassDistribution) -> MassDistribution:
    """The chart multiplies moments, so from one that is nearly zero no step leads far; from too large a one it does."""
    least = _THIN * float(body.moments.max())
    return MassDistribution(body.mass, body.com, body.axes, np.maximum(body.moments, least))


def _step(gradient: Array, hessian: Array, damping: float) -> Array:
    scale = 1.0 / np.sqrt(np.maximum(np.diag(hessian), 1e-30))
    damped = hessian * np.outer(scale, scale) + damping * np.eye(len(scale))
    step = -scale * np.linalg.solve(damped, scale * gradient)
    for part in _PARTS:  # each for itself: moments that the data do not tell must not hold up mass and place
        step[part] *= min(1.0, _LONGEST_STEP / max(float(np.abs(step[part]).max()), 1e-300))
    return step


def _moved(point: Point, step: Array, delayed: bool, free_gravity: bool) -> Point:
    delay = point.delay + (step[10] * 1e-3 if delayed else 0.0)
    gravity = point.gravity
    if free_gravity:
        size = float(np.linalg.norm(gravity))
        turned = gravity + size * _tangent(gravity) @ step[-2:]
        gravity = turned * (size / float(np.linalg.norm(turned)))
    return Point(moved(point.body, step[:10]), delay, gravity)


def _tangent(gravity: Array) -> Array:
    """Two unit vectors across gravity, shape (3, 2)."""
    return np.linalg.svd(gravity[None, :])[2][1:].T


def _objective(
    evidence: Sequence[Evidence],
    prior: ObjectPrior,
    point: Point,
    delay_std: float | None,
    free_gravity: bool,
) -> tuple[float, Array, Array]:
    """Value, gradient and Gauss-Newton Hessian over (chart (10), delay [ms], gravity's direction (2))."""
    delayed = delay_std is not None
    chart = np.zeros((14, 10 + int(delayed) + 2 * int(free_gravity)))
    chart[:10, :10] = derivative_by_step(point.body)
    if delayed:
        chart[10, 10] = 1e-3
    if free_gravity:
        chart[11:, -2:] = float(np.linalg.norm(point.gravity)) * _tangent(point.gravity)
    value, gradient, hessian = _prior_terms(prior, point.body, chart.shape[1])
    for one in evidence:
        residual, jacobian = evidence_jacobian(one, point)
        rows = jacobian @ chart
        value += 0.5 * float(residual @ residual)
        gradient += rows.T @ residual
        hessian += rows.T @ rows
    if delay_std is not None:
        value += 0.5 * (point.delay / delay_std) ** 2
        gradient[10] += point.delay * 1e-3 / delay_std**2
        hessian[10, 10] += (1e-3 / delay_std) ** 2
    return value, gradient, hessian


def _prior_terms(prior: ObjectPrior, body: MassDistribution, width: int) -> tuple[float, Array, Array]:
    gradient, hessian = np.zeros(width), np.zeros((width, width))
    mean, spread = prior.log_mass
    away = (math.log(body.mass) - mean) / spread
    centre, reach = prior.centre
    off = (body.com - centre) / reach
    nu, power = prior.weight, 1.0 + prior.mass_exponent
    root = body.axes * np.sqrt(body.moments)
    M = root.T @ np.linalg.solve(prior.gyration(body.mass), root) / body.mass
    flat = M.ravel()
    trace = float(flat[0] + flat[4] + flat[8])
    value = 0.5 * float(away**2 + off @ off) + nu / 2 * (trace - math.log(float(np.linalg.det(M))) - 3)
    slopes = _ELEMENTS @ flat  # tr(M E_a)
    gradient[0] = away / spread + nu / 2 * power * (3 - trace)
    gradient[1:4] = off * (SIZE / reach)
    gradient[4:10] = nu / 2 * slopes
    gradient[4:7] -= nu / 2
    hessian[0, 0] = 1 / spread**2 + nu / 2 * power**2 * trace
    hessian[(1, 2, 3), (1, 2, 3)] = (SIZE / reach) ** 2
    hessian[0, 4:10] = hessian[4:10, 0] = -nu / 2 * power * slopes
    hessian[4:10, 4:10] = nu / 2 * (_PRODUCTS @ flat).reshape(6, 6)
    return value, gradient, hessian
