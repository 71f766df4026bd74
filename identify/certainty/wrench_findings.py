"""What is wrong with six-axis sensors and with the IMU: turned, of the other sign, moved where they should rest."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from heft.identify.bodies.arrays import Array
from heft.identify.certainty.reason import CAUSE, Reason
from heft.identify.certainty.resting_contacts import resting_contacts
from heft.identify.estimation.problem import Problem
from heft.identify.information.fit_data import FitData
from heft.identify.robot.regressor import Cut

__all__ = ["wrench_findings"]

TURNED_DEG = 5.0  # a sensor is mounted as exactly as that
LESS = 0.5  # of what is left unexplained, that turning or another sign must take away
LEFT = 0.25  # of a wrench unexplained, from which on it is looked at
ASTRAY_DEG = 30.0  # between the force that carries a robot and what its IMU feels
NEAR_AXIS = 0.96  # of a unit vector: within 16 degrees of an axis it is told as that axis


def wrench_findings(data: FitData, problem: Problem, parameters: Array) -> list[Reason]:
    """Of every sensor; by what the robot's file predicts, or the estimated parameters (p,) where it has no masses."""
    robot = data.robot
    if not robot.regressor.cuts:
        return []
    model = parameters if problem.prior is None else problem.prior
    blocks = list(data.plain_blocks())
    predicted = np.concatenate([block.predict(model) for block in blocks])
    measured = np.concatenate([block.torque for block in blocks])
    kept = np.concatenate([block.keep for block in blocks])
    found, n = [], len(robot.joints)
    for k, cut in enumerate(robot.regressor.cuts):
        rows = slice(n + 6 * k, n + 6 * k + 6)
        use = kept[:, rows].all(axis=1)
        if use.sum() < 10:
            continue
        if cut.link < 0 and robot.tree.free:
            proper = np.concatenate([_root_force(data, block.table, k) for block in blocks])[use]
            found += _imu(cut, measured[use, rows][:, :3], proper, data)
        if not found and not cut.summed:
            found += _mounting(cut, measured[use, rows], predicted[use, rows])
    return found + resting_contacts(data)


def _mounting(cut: Cut, measured: Array, model: Array) -> list[Reason]:
    """Whether the sensor is turned, or reports the reaction; `measured` and `model` (K, 6)."""
    weight = np.repeat(1 / np.maximum([_size(model[:, :3]), _size(model[:, 3:])], 1e-12), 3)
    w, m = (measured - measured.mean(axis=0)) * weight, (model - model.mean(axis=0)) * weight
    left = _left(w, m)
    if left < LEFT:
        return []
    both = [(w[:, :3], m[:, :3]), (w[:, 3:], m[:, 3:])]
    turn, _ = Rotation.align_vectors(
        np.concatenate([target for _, target in both]), np.concatenate([source for source, _ in both])
    )
    vector = turn.as_rotvec(degrees=True)
    angle = float(np.linalg.norm(vector))
    turned = _left(np.hstack([turn.apply(source) for source, _ in both]), m)
    other = _left(-w, m)
    if other < LESS * left and other < turned:
        text = (
            f"{cut.name} fits with the other sign ({100 * left:.0f} % of it unexplained, {100 * other:.0f} % "
            "with its sign changed): it reports what the robot does to it, or the other way round; change `reaction` "
            f"of {cut.name} in the robot's file"
        )
        return [Reason("wrench-sign", "unfit", text, CAUSE + 60.0, (cut.name,))]
    if angle < TURNED_DEG or turned > LESS * left:
        return []
    axis = vector / angle
    if axis[np.argmax(np.abs(axis))] < 0:
        axis, angle = -axis, 360.0 - angle
    names = "xyz"[int(np.argmax(np.abs(axis)))]
    about = names if np.abs(axis).max() > NEAR_AXIS else f"({axis[0]:.2f}, {axis[1]:.2f}, {axis[2]:.2f})"
    text = (
        f"{cut.name} is turned: its readings fit when they are turned by {angle:.0f} degrees about {about} "
        f"({100 * left:.0f} % of them unexplained as its frame is, {100 * turned:.0f} % so); turn its frame "
        "in the model, or the sensor on the robot"
    )
    return [Reason("wrench-turned", "unfit", text, CAUSE + 50.0, (cut.name,))]


def _root_force(data: FitData, table: Array, cut: int) -> Array:
    """Specific force of the root in a cut's axes [m/s2], shape (B, 3): the mass columns of its force rows."""
    roots = data.robot.regressor.layout.roots
    return table[:, roots[roots[:, 0] == cut, 1:4][0]]


def _imu(cut: Cut, force: Array, proper: Array, data: FitData) -> list[Reason]:
    """Whether what carries the robot pushes where the IMU feels it; forces and specific forces (K, 3)."""
    one, other = force.mean(axis=0), proper.mean(axis=0)
    sizes = float(np.linalg.norm(one) * np.linalg.norm(other))
    if sizes < 1e-9:
        return []
    angle = float(np.degrees(np.arccos(np.clip(one @ other / sizes, -1, 1))))
    if angle < ASTRAY_DEG:
        return []
    name = next((each.imu_name for each in data.datasets if each.imu_name), "the given motion")
    text = (
        f"{name} feels gravity {angle:.0f} degrees away from where {cut.name} carries the robot, at most "
        f"{ASTRAY_DEG:.0f} can be: the IMU is upside down or turned, or the sensor is; correct the orientation of its "
        "frame"
    )
    return [Reason("imu-turned", "unfit", text, CAUSE + 80.0)]


def _size(values: Array) -> float:
    return float(np.sqrt((values**2).sum(axis=1).mean()))


def _left(source: Array, target: Array) -> float:
    """What of a target (K, 6) a source leaves unexplained, as a share."""
    return float(np.linalg.norm(source - target)) / max(float(np.linalg.norm(target)), 1e-300)
