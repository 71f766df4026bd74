"""Torques without gravity's share: drivers that publish effort with the weight of the arm taken off."""

from __future__ import annotations

import numpy as np

from heft.identify.certainty.causes.agreement import Agreement, Explained, Known
from heft.identify.certainty.causes.gravity_direction import gravity_pulls
from heft.identify.certainty.causes.motion_sample import MotionSample
from heft.identify.certainty.reason import CAUSE, Reason
from heft.identify.robot import Robot

__all__ = ["compensated_gravity"]

LIKELY = 10.0  # nats
REST = (0.0, 0.1, -0.1)  # of the weight that a controller's model, which is not the file, leaves


def compensated_gravity(robot: Robot, known: Known, sample: MotionSample, now: Explained) -> list[Reason]:
    """Whether the data fit much better without gravity."""
    if not np.any(robot.gravity) or not known.rigid.any():
        return []
    weight = np.tensordot(robot.gravity, gravity_pulls(robot, sample), axes=1)
    weightless = robot.regressor.dense(sample.q, sample.dq, sample.ddq) - weight
    costs = [
        Agreement.of_rows(known, weightless + share * weight, sample.tau, sample.kept).explained().cost
        for share in REST
    ]
    better = now.cost - min(costs)
    if better < LIKELY:
        return []
    text = (
        "the torques fit much better without the arm's weight: effort with gravity taken off by the controller; record "
        "motor torques or currents, or identify inertia and friction alone (`gravity: [0, 0, 0]`)"
    )
    fix = {"robot": {"gravity": [0.0, 0.0, 0.0]}}
    return [Reason("gravity-compensated", "unfit", text, weight=CAUSE + better, fix=fix)]
