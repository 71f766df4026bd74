"""The most probable load that can exist, given factors of data and a prior (001, section III).

    minimise  sum 1/2 |R s(load, delay, gravity) - z|^2 / noise  +  prior(load)  +  1/2 (delay / delay_std)^2

over the manifold of bodies that can exist, by damped Gauss-Newton steps through its log chart (001, Eq. 26): every
iterate, not only the last, is fully physically consistent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.mass_distribution import LOG_STEP_SIZE, UNITS, MassDistribution
from heft.identify.payload.estimation.object_prior import ObjectPrior
from heft.identify.payload.estimation.unknowns import LinearInformation, Point, Unknowns

__all__ = ["SEARCH", "SearchRules", "information_jacobian", "maximise", "start_from"]


@dataclass(frozen=True)
class SearchRules:
    """Of the search for the most probable load.

    fine          of the objective (half a squared sigma): a step that gains less is not worth taking
    rough         the same where somebody waits: some hundredths of a sigma are left
    longest_step  in units of the chart: e^2 in mass and moments, 0.2 m
    iterations    at most
    thin          of the largest moment: the chart multiplies moments, so from one near zero no step leads far
    passes        at most, each with what the one before said of noise and of unexcited directions
    """

    fine: float = 1e-8
    rough: float = 1e-3
    longest_step: float = 2.0
    iterations: int = 40
    thin: float = 0.01
    passes: int = 8


SEARCH = SearchRules()

_DELAY_UNIT_S = 1e-3  # of the chart
_PRODUCTS = (np.einsum("aij,bjk->abik", UNITS, UNITS) + np.einsum("bij,ajk->abik", UNITS, UNITS)).reshape(
    36, 9
) / 2


def information_jacobian(information: LinearInformation, point: Point) -> tuple[Array, Array]:
    """Scaled residual (k,) and its derivative by (ten, delay, gravity), shape (k, 14)."""
    s = point.lift(information.lifted)
    scale = 1.0 / math.sqrt(information.noise)
    return (information.R @ s.values - information.z) * scale, information.R @ s.jacobian * scale


def start_from(prior: ObjectPrior, gravity: Array) -> Point:
    """The body that the prior alone expects."""
    mass = float(np.exp(prior.log_mass[0]))
    moments, axes = np.linalg.eigh(mass * prior.gyration(mass))
    axes = axes * np.sign(np.linalg.det(axes))
    return Point(MassDistribution(mass, prior.centre[0], axes, moments), 0.0, gravity)


def maximise(
    information: Sequence[LinearInformation],
    prior: ObjectPrior,
    start: Point,
    unknowns: Unknowns,
    *,
    decrement: float = SEARCH.fine,
) -> Point:
    """The most probable point, from `start`; `decrement` of the objective that is not worth another step."""
    least = SEARCH.thin * float(start.body.moments.max())
    point, damping = replace(start, body=start.body.thickened(least)), 1e-3
    value, gradient, hessian = _objective(information, prior, point, unknowns)
    for _ in range(SEARCH.iterations):
        step = _step(gradient, hessian, damping)
        gain = -float(gradient @ step)
        if 0 <= gain < decrement:
            break
        if gain > 0:  # a step whose parts were cut may lead uphill
            trial = _moved(point, step, unknowns)
            attempt = _objective(information, prior, trial, unknowns)
            if attempt[0] < value:
                point, (value, gradient, hessian) = trial, attempt
                damping = max(damping / 10, 1e-12)
                continue
        if damping > 1e8:
            break
        damping = max(damping * 10, 1e-6)
    return point


def _step(gradient: Array, hessian: Array, damping: float) -> Array:
    """A damped Gauss-Newton step, none of its parts longer than `SEARCH.longest_step`."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(hessian), 1e-30))
    damped = hessian * np.outer(scale, scale) + damping * np.eye(len(scale))
    step = -scale * np.linalg.solve(damped, scale * gradient)
    # Mass, place, moments, each for itself: moments that the data do not tell must not hold up the others.
    for part in (slice(0, 1), slice(1, 4), slice(4, 10)):
        step[part] *= min(1.0, SEARCH.longest_step / max(float(np.abs(step[part]).max()), 1e-300))
    return step


def _moved(point: Point, step: Array, unknowns: Unknowns) -> Point:
    delay = point.delay + (step[10] * _DELAY_UNIT_S if unknowns.delay_std is not None else 0.0)
    gravity = point.gravity
    if unknowns.free_gravity:
        turned = gravity + point.across_gravity @ step[-2:]
        gravity = turned * (float(np.linalg.norm(gravity)) / float(np.linalg.norm(turned)))
    return Point(point.body.log_step(step[:10]), delay, gravity)


def _objective(
    information: Sequence[LinearInformation], prior: ObjectPrior, point: Point, unknowns: Unknowns
) -> tuple[float, Array, Array]:
    """Value, gradient and Gauss-Newton Hessian over (chart (10), delay [ms], gravity's direction (2))."""
    chart = unknowns.columns(point, point.body.derivative_by_log_step(), _DELAY_UNIT_S)
    value, gradient, hessian = _prior_terms(prior, point.body, chart.shape[1])
    for one in information:
        residual, jacobian = information_jacobian(one, point)
        rows = jacobian @ chart
        value += 0.5 * float(residual @ residual)
        gradient += rows.T @ residual
        hessian += rows.T @ rows
    if unknowns.delay_std is not None:
        value += 0.5 * (point.delay / unknowns.delay_std) ** 2
        gradient[10] += point.delay * _DELAY_UNIT_S / unknowns.delay_std**2
        hessian[10, 10] += (_DELAY_UNIT_S / unknowns.delay_std) ** 2
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
    slopes = UNITS.reshape(6, 9) @ flat  # tr(M E_a)
    gradient[0] = away / spread + nu / 2 * power * (3 - trace)
    gradient[1:4] = off * (LOG_STEP_SIZE / reach)
    gradient[4:10] = nu / 2 * slopes
    gradient[4:7] -= nu / 2
    hessian[0, 0] = 1 / spread**2 + nu / 2 * power**2 * trace
    hessian[(1, 2, 3), (1, 2, 3)] = (LOG_STEP_SIZE / reach) ** 2
    hessian[0, 4:10] = hessian[4:10, 0] = -nu / 2 * power * slopes
    hessian[4:10, 4:10] = nu / 2 * (_PRODUCTS @ flat).reshape(6, 6)
    return value, gradient, hessian
