"""A load from all that was measured of a whole motion: the bare robot's result and data of the loaded one in, the load
out. What tells it are joint torques, or wrenches: those that carry the robot, and those of sensors that carry the load.

What is unknown beside the load (`disturbances`) is part of its intervals, the drives' gains above all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from heft.identify.bodies.arrays import frozen
from heft.identify.bodies.drive_gain import gain_covariance, gain_spreads
from heft.identify.bodies.least_norm import least_norm
from heft.identify.data import Dataset
from heft.identify.payload.estimation.batch import FittedRows, fit_rows
from heft.identify.payload.estimation.estimate import PayloadEstimate
from heft.identify.payload.estimation.joint_torque import body_near
from heft.identify.payload.estimation.object_prior import ObjectPrior
from heft.identify.payload.kinematics.robot_frames import load_link
from heft.identify.payload.weighing.disturbances import Disturbances
from heft.identify.payload.weighing.loaded_rows import LoadedRows

if TYPE_CHECKING:
    from heft.identify.result import Result

__all__ = ["weigh"]

ROUNDS, SETTLED = 8, 1e-5  # of the linearisation about gains and load: gains that are 30 % off take five


def weigh(
    result: Result,
    data: Dataset | Sequence[Dataset],
    gain_spread: ArrayLike | None = None,
    *,
    prior: ObjectPrior | None = None,
) -> PayloadEstimate:
    """What a robot carries, in the flange's frame, or in the last link's where the robot has no flange.

    result       of the bare arm, identified from the same drives
    data         of the arm with the load, moving; several are taken together
    gain_spread  relative standard deviation of the drives' torque scales, for all joints or for each (n,)
                 (`bodies.drive_gain`); None: as the robot's file has it
    prior        what is known of the object, in the last link's frame
    """
    robot, joints, measured = result.robot, len(result.robot.joints), result.robot.measured_rows
    of_joints = robot.gain_spreads if gain_spread is None else gain_spreads(gain_spread, joints)
    driven, n = bool(measured[:joints].any()), int(measured.sum())
    spreads = np.zeros(n)
    if driven:
        spreads[: int(measured[:joints].sum())] = of_joints[measured[:joints]]
    gains = result.gains.of_rows(measured) if driven and result.gains is not None else None
    result = replace(result, gains=gains)
    link, flange = load_link(robot)
    rows = LoadedRows.of(result, [data] if isinstance(data, Dataset) else list(data))
    disturbances = Disturbances.of(result, rows, gain_covariance(spreads))
    ten, x = np.zeros(10), np.zeros(n)
    for _ in range(ROUNDS):
        channels = disturbances.channels(result, rows, x, ten)
        start = body_near(channels.factor.least_norm())
        unused = np.zeros(3)  # gravity is within the rows
        fitted = fit_rows([channels], link, [unused], prior or ObjectPrior(), start=start)
        before, ten, x = ten, fitted.estimate.ten, fitted.disturbances[n : 2 * n]
        if abs(ten[0] - before[0]) <= SETTLED * ten[0]:
            break
    estimate = _with_gains(fitted, n)
    if not spreads.any() and driven:
        estimate = replace(estimate, warnings=(*estimate.warnings, _EXACT))
    if flange is None:
        return estimate
    rotation, position = flange[:3, :3], flange[:3, 3]
    return estimate.in_frame("flange", rotation.T, -rotation.T @ position)


_EXACT = (
    "the drives' gains are taken for exact: a torque constant that is 5 % off is a mass that is 5 % off, which "
    "this interval "
    "does not show; state a spread (--gain-spread 0.1, or `prior_spread.gain` in the robot's file), or "
    "calibrate the gains"
)


def _with_gains(fitted: FittedRows, n: int) -> PayloadEstimate:
    """The estimate with the part of its covariance that it has from the gains: what they explain of it."""
    together = fitted.with_load[:, n : 2 * n]
    own = fitted.covariance[n : 2 * n, n : 2 * n]
    part = together @ least_norm(own, together.T, 1e-12)
    return replace(fitted.estimate, gain_covariance=frozen((part + part.T) / 2))
