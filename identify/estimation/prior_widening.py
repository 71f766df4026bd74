"""How far the data say that a robot is from its file, over what the file's spread says.

With residuals in their own standard deviations and the links d = d0 + s S x, x standard normal, so are the data:

    z - R d0 ~ N(0, I + s^2 A A' + B B'),   A = R S of the links, B = R S of what is vague anyway (friction, offsets)

The factor s that makes them most probable (type II maximum likelihood) is the widening, at least 1: links that agree
with their file where torques show them say nothing of those that torques do not show.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from heft.identify.estimation.constrained.target import whitened
from heft.identify.estimation.least_squares import weights_of
from heft.identify.estimation.problem import Problem

__all__ = ["PriorWidening", "prior_widening"]

MOST = 10.0  # times: a file that is further off is no file of this robot
TOLD = 1.92  # nats: 95 % sure that the spread is too narrow


@dataclass(frozen=True)
class PriorWidening:
    """`factor` s, and by how much more probable it makes the data than 1 does [nats]."""

    factor: float = 1.0
    nats: float = 0.0

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line for the result where the file is surely further off than stated."""
        if self.nats < TOLD:
            return ()
        return (
            f"the data are {self.factor:.1f} times further from the robot's file than its `prior_spread` says: it was "
            "widened as much, for values and intervals; correct the file, or its `prior_spread`",
        )


def prior_widening(problem: Problem) -> PriorWidening:
    """Of a problem with a prior; 1 without. By its torques alone: what a wrist sensor says is no file."""
    if problem.prior is None:
        return PriorWidening()
    R, z = whitened(problem, weights_of(problem))
    stated = np.setdiff1d(np.arange(len(problem.layout)), problem.vague)
    seen, off = R @ problem.metric_of(problem.spread), z - R @ problem.known
    vague = seen[:, problem.vague]
    both = np.column_stack([seen[:, stated], off])
    U, values, _ = np.linalg.svd(vague, full_matrices=False)
    both -= U @ ((1 - 1 / np.sqrt(1 + values**2))[:, None] * (U.T @ both))  # (I + B B')^(-1/2)
    U, values, _ = np.linalg.svd(both[:, :-1], full_matrices=False)
    squares, found = values**2, (U.T @ both[:, -1]) ** 2

    def cost(log: float) -> float:
        """Minus the logarithm of the data's probability, up to a constant."""
        variance = 1 + np.exp(2 * log) * squares
        return float((np.log(variance) + found / variance).sum()) / 2

    best = minimize_scalar(cost, bounds=(0.0, np.log(MOST)), method="bounded", options={"xatol": 1e-4})
    nats = cost(0.0) - float(best.fun)
    return PriorWidening(float(np.exp(best.x)), nats) if nats > 0 else PriorWidening()
