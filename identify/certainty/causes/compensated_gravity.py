"""Torques without gravity's share: drivers that publish effort with the weight of the arm taken off."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import block_diag

from heft.identify.bodies.arrays import Array
from heft.identify.certainty.causes.agreement import Agreement, Explained, Known
from heft.identify.certainty.causes.gravity_direction import gravity_pulls
from heft.identify.certainty.causes.motion_sample import MotionSample
from heft.identify.certainty.reason import CAUSE, Reason
from heft.identify.robot import Robot

__all__ = ["compensated_gravity"]

LIKELY = 10.0  # nats


def compensated_gravity(robot: Robot, known: Known, sample: MotionSample, now: Explained) -> list[Reason]:
    """Whether the data fit much better without gravity: without the arm's own, or what a controller takes it for."""
    if not np.any(robot.gravity) or not known.rigid.any():
        return []
    whole = robot.regressor.dense(sample.q, sample.dq, sample.ddq)
    weight = np.tensordot(robot.gravity, gravity_pulls(robot, sample), axes=1)
    costs = [
        Agreement.of_rows(who, rows, sample.tau, sample.kept).explained().cost
        for who, rows in ((known, whole - weight), _of_controller(robot, known, whole, weight))
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


def _of_controller(robot: Robot, known: Known, whole: Array, weight: Array) -> tuple[Known, Array]:
    """tau = Y d - Y_g e: e are the links as a controller knows them, as far from the file as the truth may be.

    Its model and the truth differ, so that some of the weight is left, or too much is taken.
    """
    links = slice(0, 10 * len(robot.links))
    both = replace(
        known,
        centre=np.concatenate([known.centre, known.centre[links]]),
        spread=block_diag(known.spread, known.spread[links, links]),
    )
    return both, np.concatenate([whole, -weight[:, :, links]], axis=2)
