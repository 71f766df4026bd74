"""What is wrong with six-axis sensors and with the IMU: turned, of the other sign, moved where they should rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from heft.identify.bodies.arrays import Array
from heft.identify.certainty.reason import CAUSE, Reason
from heft.identify.certainty.resting_contacts import resting_contacts
from heft.identify.data import RowBlock
from heft.identify.data.rows import source_rows
from heft.identify.estimation.problem import Problem
from heft.identify.information.fit_data import FitData
from heft.identify.robot.regressor import Cut

__all__ = ["wrench_findings"]

TURNED_DEG = 5.0  # a sensor is mounted as exactly as that
LESS = 0.5  # of what is left unexplained, that turning or another sign must take away
LEFT = 0.25  # of a wrench unexplained, from which on it is looked at
ASTRAY_DEG = 30.0  # between the force that carries a robot and what its IMU feels
SOME = 1000  # samples that are looked at for a change
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
    found, n = _silent(data), len(robot.joints)
    for k, cut in enumerate(robot.regressor.cuts):
        rows = slice(n + 6 * k, n + 6 * k + 6)
        use: NDArray[np.bool_] = np.asarray(kept[:, rows].all(axis=1))
        if use.sum() < 10:
            continue
        if cut.link < 0 and robot.tree.free:
            proper = np.concatenate([_root_force(data, block.table, k) for block in blocks])[use]
            found += _imu(cut, measured[use, rows][:, :3], proper, data)
        if found:
            continue
        if cut.summed:
            one = _contact(data, blocks, rows, use, measured[use, rows], predicted[use, rows])
        else:
            one = _sensor(cut.name, measured[use, rows], predicted[use, rows])
        found += [] if one is None else [one[1]]
    return found + resting_contacts(data)


def _silent(data: FitData) -> list[Reason]:
    """Sensors whose readings never change."""
    found = dict[str, Reason]()
    for one in data.datasets:
        if one.wrenches is None:
            continue
        some = np.asarray(one.wrenches[:: max(1, len(one) // SOME)], dtype=np.float64)
        for k, name in enumerate(one.wrench_names):
            own = some[:, 6 * k : 6 * k + 6]
            if np.all((own == own[0]).all(axis=1)):
                text = f"{name} reads the same at every sample: is it connected, and does its driver send fresh values"
                found[name] = Reason("wrench-silent", "unfit", text, CAUSE + 70.0, (name,))
    return list(found.values())


def _contact(
    data: FitData,
    blocks: list[RowBlock],
    rows: slice,
    use: NDArray[np.bool_],
    measured: Array,
    model: Array,
) -> tuple[float, Reason] | None:
    """The same of the one among several contacts that explains best what is left of their sum, arrays (K, 6).

    What a contact's sensor should have read, if all others are right, is what it read less that: with its mean, because
    what is constant in its frame is not so in the base's; its bias is taken to be small against what it carries.
    """
    residual = measured - model
    robot, found = data.robot, list[tuple[float, Reason]]()
    contacts = robot.regressor.layout.contact_rows
    q = np.concatenate([_positions(data, block) for block in blocks])[use]
    weight = _weight(measured)
    goal = float(np.linalg.norm((measured - measured.mean(axis=0)) * weight))

    def left(change: Array) -> float:
        rest = residual + change
        return float(np.linalg.norm((rest - rest.mean(axis=0)) * weight)) / max(goal, 1e-300)

    before = left(np.zeros_like(residual))
    if before < LEFT:
        return None
    for contact in contacts.contacts:
        added = [
            source_rows(
                robot,
                data.surveys[block.dataset],
                data.processing,
                block.time,
                data.delays_s[data.delay_group(block.dataset)],
                (contact.name,),
            )
            for block in blocks
        ]
        X = contacts.at_base(contact, q.T)
        read = np.concatenate(added)[use, rows]
        own = np.asarray(np.linalg.solve(X, read[:, :, None])[:, :, 0], dtype=np.float64)
        off = np.asarray(np.linalg.solve(X, residual[:, :, None])[:, :, 0], dtype=np.float64)
        turn = _turn(own, own - off, _weight(off))
        turned, other = (left((X @ (new - own)[:, :, None])[:, :, 0]) for new in (_applied(turn, own), -own))
        told = _mounting(contact.name, before, turned, other, turn)
        found += [] if told is None else [told]
    return min(found, key=lambda one: one[0], default=None)


def _positions(data: FitData, block: RowBlock) -> Array:
    """Of the joints at the instants of a block, shape (B, n)."""
    own = data.surveys[block.dataset].data
    near = np.clip(np.searchsorted(own.t, block.time), 0, len(own) - 1)
    return np.asarray(own.q[near], dtype=np.float64)


def _sensor(name: str, measured: Array, model: Array) -> tuple[float, Reason] | None:
    """What is wrong with a sensor by itself, and what is unexplained then; `measured` and `model` (K, 6)."""
    weight = _weight(model)
    w, m = measured - measured.mean(axis=0), model - model.mean(axis=0)
    left = _left(w * weight, m * weight)
    if left < LEFT:
        return None
    turn = _turn(w, m, weight)
    turned = _applied(turn, w)
    return _mounting(name, left, _left(turned * weight, m * weight), _left(-w * weight, m * weight), turn)


def _turn(measured: Array, model: Array, weight: Array) -> Rotation:
    """The rotation that brings measured wrenches nearest to those of the model, both (K, 6)."""
    w, m = measured * weight, model * weight
    return Rotation.align_vectors(np.concatenate([m[:, :3], m[:, 3:]]), np.concatenate([w[:, :3], w[:, 3:]]))[
        0
    ]


def _mounting(
    name: str, left: float, turned: float, other: float, turn: Rotation
) -> tuple[float, Reason] | None:
    """Whether a sensor is turned, or reports the reaction, and what is unexplained then.

    By the shares that are unexplained as it is, turned by `turn`, and with the other sign.
    """
    vector = turn.as_rotvec(degrees=True)
    angle = float(np.linalg.norm(vector))
    if other < LESS * left and other < turned:
        text = (
            f"{name} fits with the other sign ({100 * left:.0f} % of it unexplained, {100 * other:.0f} % "
            "with its sign changed): it reports what the robot does to it, or the other way round; change `reaction` "
            f"of {name} in the robot's file"
        )
        return other, Reason("wrench-sign", "unfit", text, CAUSE + 60.0, (name,))
    if angle < TURNED_DEG or turned > LESS * left:
        return None
    axis = vector / angle
    if axis[np.argmax(np.abs(axis))] < 0:
        axis, angle = -axis, 360.0 - angle
    nearest = "xyz"[int(np.argmax(np.abs(axis)))]
    about = nearest if np.abs(axis).max() > NEAR_AXIS else f"({axis[0]:.2f}, {axis[1]:.2f}, {axis[2]:.2f})"
    text = (
        f"{name} is turned: its readings fit when they are turned by {angle:.0f} degrees about {about} "
        f"({100 * left:.0f} % of them unexplained as its frame is, {100 * turned:.0f} % so); turn its frame "
        "in the model, or the sensor on the robot"
    )
    return turned, Reason("wrench-turned", "unfit", text, CAUSE + 50.0, (name,))


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


def _applied(turn: Rotation, wrenches: Array) -> Array:
    """Wrenches (K, 6), turned."""
    return np.hstack([turn.apply(wrenches[:, :3]), turn.apply(wrenches[:, 3:])])


def _weight(wrenches: Array) -> Array:
    """One over the size of the forces and of the torques among wrenches (K, 6), shape (6,)."""
    return np.repeat(1 / np.maximum([_size(wrenches[:, :3]), _size(wrenches[:, 3:])], 1e-12), 3)


def _size(values: Array) -> float:
    return float(np.sqrt((values**2).sum(axis=1).mean()))


def _left(source: Array, target: Array) -> float:
    """What of a target (K, 6) a source leaves unexplained, as a share."""
    return float(np.linalg.norm(source - target)) / max(float(np.linalg.norm(target)), 1e-300)
