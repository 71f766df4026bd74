"""The delay of torques against positions, by the joint equations.

With torques that are d old, the right-hand side of the regression is tau(t + d), and the squared residual left by
least squares is a function of d. To second order tau(t + d) = tau + d tau' + d^2/2 tau'', so on the triangles of
`heft.identify.information.reduction` it is a polynomial:

    cost(d) = |B (1, d, d^2/2)'|^2,   B (3, 3): what is left of tau, tau', tau'' beside the regressor

Noise is shifted with its signal: its contributions to tau'^2 and tau tau'' cancel, which a first-order expansion would
miss. Where the minimum is outside the expansion's range, rows are computed anew around it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.estimation.least_squares import joint_weights
from heft.identify.estimation.problem import Problem
from heft.identify.information.fit_data import FitData
from heft.identify.information.reduction import Information
from heft.identify.information.triangle import triangle

__all__ = ["REACH", "Alignment", "align", "profile", "settled"]

REACH = 0.03  # delay times cut-off within which the expansion is good: a phase of 11 degrees at the cut-off
LONGEST_S = 0.25  # beyond this it is no delay but a mistake in the stamps
UNSURE = 0.1  # standard deviation times cut-off above which the data cannot tell
ROUNDS = 12
SETTLED_S = 1e-7


@dataclass(frozen=True)
class Alignment:
    """Data with torques aligned, the delay that was corrected [s], and whether it was estimated from the data."""

    data: FitData
    problem: Problem
    delay_s: float
    estimated: bool
    warnings: tuple[str, ...] = ()


def align(
    data: FitData,
    problem_of: Callable[[Information], Problem],
    given_s: float | None,
    information: Information,
) -> Alignment:
    """Estimate the torques' delay and correct it; or correct a known one, `given_s` [s]."""
    if given_s is not None:
        if abs(given_s - data.delay_s) > REACH / data.processing.cutoff_hz:
            data = data.delayed(given_s)
            information = data.reduced()
        information = information.aligned(given_s - data.delay_s)
        return Alignment(data.aligned(given_s), problem_of(information), given_s, False)
    reach = REACH / data.processing.cutoff_hz
    problem, at = problem_of(information), 0.0  # `at`: where the problem's torques are
    for _ in range(ROUNDS):
        weights = joint_weights(problem)[0]
        step, curvature = profile(problem, weights, reach)
        if not curvature > 0 or 1 / np.sqrt(curvature) > UNSURE / data.processing.cutoff_hz:
            return _unaligned(data, problem_of, information, curvature)
        at += step
        if abs(at) > LONGEST_S:
            return _unaligned(data, problem_of, information, curvature, at)
        if abs(at - data.delay_s) > reach:
            data = data.delayed(at)
            information = data.reduced()
        problem = replace(problem, information=information.aligned(at - data.delay_s))
        if abs(step) <= SETTLED_S:
            break
    return Alignment(data.aligned(at), problem, at, True)


def settled(problem: Problem, reach_s: float) -> tuple[Problem, float]:
    """The problem with the remaining delay of its torques corrected, and that delay [s], within +-`reach_s`."""
    information, at = problem.information, 0.0
    for _ in range(ROUNDS):
        step, curvature = profile(problem, joint_weights(problem)[0], reach_s)
        at = float(np.clip(at + step, -reach_s, reach_s)) if curvature > 0 else 0.0
        problem = replace(problem, information=information.aligned(at))
        if curvature <= 0 or abs(step) <= SETTLED_S:
            break
    return problem, at


def profile(problem: Problem, weights: Array, reach_s: float) -> tuple[float, float]:
    """The minimum of cost(d) within +-`reach_s` [s], and half its second derivative there [1/s2].

    For weights 1 / variance the curvature is 1 / variance of d.
    """
    information = problem.information
    if information.rates is None:
        return 0.0, 0.0
    columns = list(problem.base.independent)
    rows = [
        np.sqrt(w)
        * np.hstack([np.vstack([factor[:, [*columns, -1]], np.zeros((2, len(columns) + 1))]), rates])
        for w, factor, rates in zip(weights, information.factors, information.rates, strict=True)
    ]
    left = triangle(np.concatenate(rows))[-3:, -3:]
    G = left.T @ left
    cost = np.array([G[2, 2] / 4, G[1, 2], G[1, 1] + G[0, 2], 2 * G[0, 1], G[0, 0]])
    slope, bend = np.polyder(cost), np.polyder(cost, 2)
    turns = np.roots(slope)
    places = [
        float(x.real) for x in turns if abs(x.imag) < 1e-9 * max(1.0, abs(x)) and abs(x.real) <= reach_s
    ]
    best = min([*places, -reach_s, reach_s], key=lambda d: float(np.polyval(cost, d)))
    return best, 0.5 * float(np.polyval(bend, best))


def _unaligned(
    data: FitData,
    problem_of: Callable[[Information], Problem],
    information: Information,
    curvature: float,
    at: float | None = None,
) -> Alignment:
    """The data as stamped, with a warning: the delay could not be estimated."""
    if at is not None:
        why = (
            f"torque fits best {at * 1e3:.0f} ms off, more than {LONGEST_S * 1e3:.0f} ms: correct the stamps"
        )
    else:
        spread = np.inf if curvature <= 0 else 1e3 / np.sqrt(curvature)
        why = f"the motion tells the delay of torques only to {spread:.2g} ms; move faster"
    if data.delay_s != 0.0:
        data = data.delayed(0.0)
        information = data.reduced()
    warning = f"no delay was taken out of the torques: {why}, or give it (`delay_s`)"
    return Alignment(data, problem_of(information), 0.0, False, (warning,))
