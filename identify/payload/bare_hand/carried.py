"""The hand as a body of the estimation problem: where it belongs, and what the robot's file says about it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.special import chdtrc

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.parameters import Layout
from heft.identify.bodies.prior_spread import body_metric
from heft.identify.bodies.pseudo_inertia import transform, transform_matrix
from heft.identify.errors import ModelError
from heft.identify.estimation.carried import Carried
from heft.identify.payload.bare_hand.identified_hand import IdentifiedHand
from heft.identify.payload.kinematics.robot_frames import frame_on_link
from heft.identify.robot import PriorSpread, Robot

__all__ = ["carried_by"]

CONTRADICTED = 1e-4  # chance of a hand that is as far from the file if its spread is right


def carried_by(
    robot: Robot, hand: IdentifiedHand, prior: Array | None, spread: PriorSpread, sizes: Mapping[str, float]
) -> Carried:
    """The hand in the frame of its link, with what `prior` (p,) and the robot's file say about it.

    `sizes` are the links' half lengths [m].
    """
    link, pose = frame_on_link(robot, "sensor")
    to_link = transform_matrix(pose[:3, :3], pose[:3, 3])
    values, vectors = np.linalg.eigh(hand.precision)
    factor = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T @ np.linalg.inv(to_link)
    size = sizes[link]
    plain = Carried(link, to_link @ hand.ten, factor)
    whole = None if prior is None else prior[Layout(robot.parameter_names).link(link)]
    known = None if whole is None else _in_file(robot, link, whole)
    if known is None:
        return plain
    metric = body_metric(known, spread.inertia, size)
    mean, root = plain.posterior(known, metric)
    squares = float((np.linalg.solve(metric, mean - known) ** 2).sum())
    informed = 10.0 - float((np.linalg.solve(metric, root) ** 2).sum())
    if chdtrc(max(informed, 1.0), squares) > CONTRADICTED:
        return Carried(link, plain.ten, factor, known)
    widening = float(np.sqrt(squares / max(informed, 1.0)))
    mass = hand.intervals["hand.mass"]
    note = (
        f"the wrist sensor carries {mass.value:.4g} +- {2 * mass.std:.2g} kg, the robot's file has {known[0]:.4g} kg "
        f"beyond it, and all ten numbers are {widening:.1f} times further off than `prior_spread` says: another tool? "
        f"Correct the hand in the file, or calibrate the sensor; the file's hand counts that much less"
    )
    return Carried(link, plain.ten, factor, known, widening, (note,))


def _in_file(robot: Robot, link: str, whole: Array) -> Array | None:
    """The hand's part of a link's ten numbers, both in the link's frame, by the bodies of the model file.

    None where the file names no hand, or none that weighs anything.
    """
    from heft.identify.robot.model_bodies import read_bodies, share

    if robot.model is None or robot.hand is None or robot.frames[robot.hand][0] != link:
        return None
    try:
        bodies = [body for body in read_bodies(robot.model) if body.link == link]
    except ModelError:
        return None
    parents = {body.name: body.parent for body in bodies}
    beyond, shares = np.zeros(10), share(bodies, whole)
    for body in bodies:
        at: str | None = body.name
        while at is not None and at != robot.hand:
            at = parents.get(at)
        if at is not None:
            beyond += transform(shares[body.name], body.pose[:3, :3], body.pose[:3, 3])
    return beyond if beyond[0] > 0 else None
