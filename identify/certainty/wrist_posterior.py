"""The posterior with a wrist sensor's wrenches, and a test whether they contradict the joint torques.

The link that the sensor is on is the hand and the rest of it, each with a prior of its own (`GaussianPrior`), and the
wrenches are ten more numbers that are known of the hand. What the hand is without them, by joint torques and the prior,
is h' with covariance C'; if all is right,

    (h' - h)' (C' + C)^-1 (h' - h)

is chi-squared. Where it is far beyond chance, one of the two measures wrongly.
"""

from __future__ import annotations

import numpy as np
from scipy.special import chdtrc

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.prior_spread import PriorSpread
from heft.identify.certainty.known_rows import known_rows
from heft.identify.certainty.posterior import GaussianPrior, Posterior, posterior
from heft.identify.estimation.carried import Carried
from heft.identify.estimation.problem import Problem

__all__ = ["wrist_posterior"]

CONTRADICTED = 1e-4  # chance of a sensor and joints that differ as much if both are right
NAMES = (
    *(("mass", "kg"),),
    *((f"first moment along {axis}", "kg m") for axis in "xyz"),
    *((f"inertia {axes}", "kg m2") for axes in ("xx", "xy", "yy", "xz", "yz", "zz")),
)


def wrist_posterior(
    problem: Problem, spread: PriorSpread, base: Array, covariance: Array
) -> tuple[Posterior, str]:
    """The posterior from base parameters (n_base,) with their covariance, and from the wrenches if they agree.

    The second value is the warning where they do not; empty where they do, or where there is no wrist sensor.
    """
    K, base, covariance = known_rows(problem, base, covariance)
    carried, holding = problem.carried, GaussianPrior.with_hand(problem, spread)
    if carried is None or holding is None:
        return posterior(GaussianPrior.of(problem, spread), K, base, covariance), ""
    n, p = K.shape
    matrix, both = np.zeros((n + 10, p + 10)), np.eye(n + 10)
    matrix[:n, :p], matrix[n:, p:], both[:n, :n] = K, carried.factor, covariance
    before = posterior(holding, matrix[:n], base, covariance)
    contradiction = _contradiction(before, carried)
    if contradiction:
        return before, contradiction
    return posterior(holding, matrix, np.concatenate([base, carried.factor @ carried.ten]), both), ""


def _contradiction(before: Posterior, carried: Carried) -> str:
    """The warning if the hand by wrenches is not the hand by joint torques and prior; empty if it is."""
    p, D = len(before.prior.layout), before.prior.root
    expected, covariance = before.parameters[p:], D[p:] @ before.covariance @ D[p:].T
    known = np.linalg.norm(carried.factor, axis=1) > 0
    R = carried.factor[known]
    off = R @ (carried.ten - expected)
    squares = float(off @ np.linalg.solve(np.eye(len(R)) + R @ covariance @ R.T, off))
    chance = float(chdtrc(len(R), squares))
    if chance > CONTRADICTED:
        return ""
    std = np.sqrt(np.diag(covariance))
    worst = int(np.argmax(np.abs(carried.ten - expected) / std))
    what, unit = NAMES[worst]
    return (
        f"wrist sensor and joint torques contradict each other: {what} of what the sensor carries, in the frame of "
        f"{carried.link}, is {carried.ten[worst]:.4g} {unit} by wrenches, {expected[worst]:.4g} +- "
        f"{2 * std[worst]:.2g} by joint torques and the prior (chance of all ten {chance:.0e}, above "
        f"{CONTRADICTED:g} is expected). Links are as the joints have them, without the sensor: calibrate it, look at "
        "its frame in the robot's file, and at what may have touched the hand"
    )
