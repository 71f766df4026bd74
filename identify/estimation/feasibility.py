"""Is a base vector of a robot feasible, and which feasible one is closest? (003, Eq. 51 and 55)"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from heft.identify.bodies.consistency import Level
from heft.identify.estimation.constrained.feasible_set import DEFAULT_MARGIN, Margin
from heft.identify.estimation.estimators import check, correct
from heft.identify.estimation.estimators.check import Feasibility
from heft.identify.estimation.prior import PriorLike
from heft.identify.estimation.problem import Bounds, Problem
from heft.identify.information.reduction import Information
from heft.identify.robot import Robot

__all__ = ["Feasibility", "check_base", "correct_base"]


def check_base(
    robot: Robot,
    base: ArrayLike,
    level: Level = "full",
    *,
    prior: PriorLike = None,
    bounds: Bounds | None = None,
    margin: float | Margin = DEFAULT_MARGIN,
) -> Feasibility:
    """Whether a robot with these base parameters could exist.

    base     values of `base_parameters(robot).names`, shape (n_base,)
    level    of consistency: mass, inertia (003's 6x6), full or shape
    prior    parameters that those found are to be near; None: the robot's own
    bounds   on masses, centres and signs; None: the robot's total mass, its boxes, no negative friction
    margin   from the border of the set, relative to mass and size, or a `Margin` with 003's absolute one
    """
    return check.check_base(_problem(robot, level, prior, bounds), base, _margin(margin))


def correct_base(
    robot: Robot,
    base: ArrayLike,
    level: Level = "full",
    *,
    prior: PriorLike = None,
    bounds: Bounds | None = None,
    margin: float | Margin = DEFAULT_MARGIN,
) -> Feasibility:
    """The feasible base vector closest to `base`, and how far away it is; arguments as of `check_base`.

    The distance depends on which parameters were chosen as independent (003, section 4.6); whether it is zero does not.
    """
    problem = _problem(robot, level, prior, bounds)
    parameters, distance = correct.correct_base(problem, base, _margin(margin))
    near = distance <= correct.SAME * float(np.linalg.norm(np.asarray(base, dtype=np.float64)))
    return Feasibility(level, near, distance, parameters, problem.base.matrix @ parameters)


def _problem(robot: Robot, level: Level, prior: PriorLike, bounds: Bounds | None) -> Problem:
    """Without data."""
    n, p = len(robot.joints), len(robot.parameter_names)
    nothing = Information(np.zeros((n, p + 1, p + 1)), np.ones(n, dtype=np.int64), robot.parameter_names)
    return Problem.of(robot, nothing, level=level, prior=prior, bounds=bounds)


def _margin(margin: float | Margin) -> Margin:
    return margin if isinstance(margin, Margin) else Margin(margin)
