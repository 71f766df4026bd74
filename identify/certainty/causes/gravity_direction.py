"""Gravity that points elsewhere than the robot's file says: an arm on a wall, or a base frame that was turned.

The regressor is linear in gravity, tau = (Y_m + sum_k g_k Y_k) d, so that for given parameters the direction is a least
squares problem of three unknowns.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.least_norm import least_norm
from heft.identify.certainty.causes.agreement import Agreement, Explained, Known
from heft.identify.certainty.causes.motion_sample import MotionSample
from heft.identify.certainty.reason import CAUSE, Reason
from heft.identify.robot import Robot

__all__ = ["gravity_direction", "gravity_pulls"]

LIKELY = 8.0  # nats
LEAST_TURN_DEG = 10.0
ROUNDS = 3


def gravity_direction(robot: Robot, known: Known, sample: MotionSample, now: Explained) -> list[Reason]:
    """The direction of gravity that explains the data best, if it is much better than the file's."""
    strength = float(np.linalg.norm(robot.gravity))
    if strength == 0.0:
        return []
    whole = robot.regressor.dense(sample.q, sample.dq, sample.ddq)
    pulls = gravity_pulls(robot, sample)
    weightless = whole - np.tensordot(robot.gravity, pulls, axes=1)

    def explained(gravity: Array) -> Explained:
        Y = weightless + np.tensordot(gravity, pulls, axes=1)
        return Agreement.of_rows(known, Y, sample.tau, sample.kept).explained()

    starts = [sign * strength * axis for axis in np.eye(3) for sign in (1.0, -1.0)]
    tried = [(explained(gravity), gravity) for gravity in starts]
    found, gravity = plumb = min(tried, key=lambda pair: pair[0].cost)
    for _ in range(ROUNDS):
        turned = _refined(weightless, pulls, sample, found, strength)
        again = explained(turned)
        if again.cost >= found.cost:
            break
        found, gravity = again, turned
    if plumb[0].cost - found.cost < LIKELY:  # bases are mounted along an axis unless the data say otherwise
        found, gravity = plumb
    better = now.cost - found.cost
    cosine = float(gravity @ robot.gravity) / strength**2
    angle = float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))
    if better < LIKELY or angle < LEAST_TURN_DEG:
        return []
    said, looks = (", ".join(f"{value:.2g}" for value in one) for one in (robot.gravity, gravity))
    text = (
        f"the data fit much better with gravity along ({looks}) m/s2 than along the file's ({said}), {angle:.0f} "
        "degrees away: the arm is mounted otherwise, or its base frame was turned; correct `gravity`"
    )
    fix = {"robot": {"gravity": [round(float(value), 4) for value in gravity]}}
    return [Reason("gravity-direction", "unfit", text, weight=CAUSE + better, fix=fix)]


def gravity_pulls(robot: Robot, sample: MotionSample) -> Array:
    """Link columns per unit of gravity along each axis of the base, shape (3, K, n, p)."""
    still, pulls = np.zeros_like(sample.q), []
    for axis in np.eye(3):
        pulled = replace(robot.regressor, tree=replace(robot.tree, gravity=axis))
        pull = pulled.dense(sample.q, still, still)
        pull[:, :, 10 * len(robot.links) :] = 0.0
        pulls.append(pull)
    return np.stack(pulls)


def _refined(
    weightless: Array, pulls: Array, sample: MotionSample, found: Explained, strength: float
) -> Array:
    """Gravity of the given strength [m/s2] that fits the parameters of an explanation, shape (3,)."""
    rms = np.sqrt((np.where(sample.kept, sample.tau, 0.0) ** 2).mean(axis=0))
    weight = np.where(sample.kept & (rms > 0), 1 / np.maximum(rms * (found.left + 0.03), 1e-12), 0.0)
    columns = np.stack([(pull @ found.parameters) * weight for pull in pulls], axis=2).reshape(-1, 3)
    rest = ((sample.tau - weightless @ found.parameters) * weight).reshape(-1)
    gravity = least_norm(columns, rest, 1e-6)
    size = float(np.linalg.norm(gravity))
    return np.asarray(gravity * (strength / size)) if size > 0 else np.array([0.0, 0.0, -strength])
