"""Which friction a joint needs, decided by held-out prediction with a penalty.

One joint at a time, after the delay is known: what is left of its torque beside the links' (least squares of all
joints) is explained by its drive's columns. Candidates are a further term, a Stribeck velocity, another smoothing
velocity. A candidate's gain is the squared error on held-out blocks of time that it saves; it is accepted where the
gain exceeds two standard errors over the blocks, and what the best of all candidates gains by chance. The best goes
first, until none is left.

A column with t-value t has a gain of about t^2 - 2 noise variances, with a standard error of about 2 t of them: two
standard errors mean t = 4.4.
"""

from __future__ import annotations

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.estimation.friction.choice import FrictionChoice, JointFriction
from heft.identify.estimation.friction.friction_rows import FrictionRows
from heft.identify.estimation.friction.joint_search import JointSearch
from heft.identify.estimation.friction.shapes import RowFilter
from heft.identify.estimation.least_squares import closest_to_prior
from heft.identify.estimation.problem import Problem
from heft.identify.information.fit_data import FitData

__all__ = ["choose_friction"]

NEEDED = {"viscous", "coulomb"}  # terms of a joint with friction that can have another shape


def choose_friction(data: FitData, problem: Problem) -> FrictionChoice:
    """The friction of each joint; the robot's own where it is fixed, or where there is no viscous or Coulomb term."""
    drives = data.robot.drives
    chosen = [
        JointFriction(
            joint,
            terms,
            smoothing_velocity=float(drives.smoothing_velocity[j]),
            stribeck_velocity=float(drives.stribeck_velocity[j]),
        )
        for j, (joint, terms) in enumerate(zip(drives.joints, drives.joint_terms, strict=True))
    ]
    free = [j for j, one in enumerate(chosen) if {*one.terms} >= NEEDED and one.joint not in drives.fixed]
    if not free or data.processing.derivative == "fourier":  # rows of a mean period are no stretch of time
        return FrictionChoice(tuple(chosen), searched=False)
    rows = FrictionRows.of(data, _parameters(problem))
    row_filter = RowFilter.of(rows.time, data.processing)
    for j in free:
        columns = [column.parameter for column in drives.columns(j)]
        chosen[j] = JointSearch(chosen[j], j, columns, rows, row_filter).chosen()
    return FrictionChoice(tuple(chosen))


def _parameters(problem: Problem) -> Array:
    """Least squares of all joints, weighted by what a first round leaves: enough for a look."""
    torque = problem.residual_squares(np.zeros(len(problem.layout)))
    torque = np.maximum(torque, 1e-9 * float(torque.max()))  # of joints that never move
    rows = np.maximum(problem.information.rows, 1)
    first = closest_to_prior(problem, rows / torque)
    left = np.maximum(problem.residual_squares(first), 1e-9 * torque)
    return closest_to_prior(problem, rows / left)
