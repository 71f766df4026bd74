"""The start-up check: regressor times parameters must be inverse dynamics, or the robot is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin

from heft.identify.bodies import transform
from heft.identify.bodies.arrays import Array
from heft.identify.errors import ModelError
from heft.identify.robot.regressor import BASE, Cut, Regressor, Tree

__all__ = ["check_against", "reference_model"]

SAMPLES = 5
TOLERANCE = 1e-9  # of the largest torque; agreement is at 1e-14


def reference_model(tree: Tree, joints: tuple[str, ...]) -> pin.Model:
    """Pinocchio's model of a tree, with links that weigh nothing."""
    model = pin.Model()
    ends = [pin.SE3.Identity()] + [pin.SE3(link) for link in tree.link_in_joint]
    for i, name in enumerate(joints):
        kind = pin.JointModelPrismaticUnaligned if tree.prismatic[i] else pin.JointModelRevoluteUnaligned
        parent = int(tree.parents[i]) + 1
        model.addJoint(parent, kind(*tree.axis[i]), ends[parent] * pin.SE3(tree.joint_in_parent[i]), name)
    model.gravity.linear = tree.gravity
    return model


def check_against(model: pin.Model, regressor: Regressor, inertias: Array | None) -> None:
    """Raise `ModelError` unless the link columns of `regressor` reproduce `model`.

    `inertias` (links, 10) is what the model's own links weigh, each in its link's frame: compared as they stand.
    Then both get links of random weight, so that columns of links that weigh nothing are looked at too. Where the base
    moves freely, the wrench on its root is compared as well.
    """
    rng = np.random.default_rng(0)
    n, free = len(regressor.tree), regressor.tree.free
    bodies = n + free
    whole = Cut(BASE, -1, np.eye(4), tuple(range(bodies)), biased=False)
    plain = replace(
        regressor,
        links=regressor.links[:bodies],
        prior=None,
        cuts=(whole,) if free else (),
        contacts=(),
        parts=(),
    )
    motion = rng.uniform(-1.5, 1.5, (3, SAMPLES, n + (6 if free else 0)))
    turned = rng.normal(size=(SAMPLES, 4))
    turned /= np.linalg.norm(turned, axis=1, keepdims=True)
    if inertias is not None:
        _compare(model, plain, inertias, motion, turned)
    weights = rng.uniform(-1.0, 1.0, (bodies, 10))
    weights[:, 0] = rng.uniform(0.5, 2.0, bodies)
    heavy = model.copy()
    places = [*regressor.tree.link_in_joint, *([np.eye(4)] if free else [])]
    for i, link in enumerate(places):
        joint = (i + 2 if i < n else 1) if free else i + 1
        ten = transform(weights[i], link[:3, :3], link[:3, 3])
        heavy.inertias[joint] = pin.Inertia.FromDynamicParameters(ten)
    _compare(heavy, plain, weights, motion, turned)


def root_motion(gravity: Array, rotation: Array, twist: Array, acceleration: Array) -> Array:
    """Motion of a root as `Regressor` wants it, shape (T, 9), from its rotation to the world (T, 3, 3), its velocity
    and acceleration as Pinocchio's free-flyer has them (linear, then angular, in the root's frame), each (T, 6).
    """
    turning = np.cross(twist[:, 3:], twist[:, :3])
    proper = acceleration[:, :3] + turning - np.swapaxes(rotation, 1, 2) @ gravity
    return np.concatenate([twist[:, 3:], acceleration[:, 3:], proper], axis=1)


def _compare(model: pin.Model, regressor: Regressor, inertias: Array, motion: Array, turned: Array) -> None:
    """`motion` (3, T, [6 +] n): positions, velocities, accelerations; `turned` (T, 4): orientation of a free root."""
    data, free = model.createData(), regressor.tree.free
    parameters = np.zeros(len(regressor.names))
    parameters[: inertias.size] = inertias.ravel()
    base, own = None, motion
    if free:
        rotation = np.array([pin.Quaternion(quaternion).toRotationMatrix() for quaternion in turned])
        base = root_motion(regressor.tree.gravity, rotation, motion[1, :, :6], motion[2, :, :6])
        own = motion[:, :, 6:]
    ours = regressor.torque(own[0], own[1], own[2], parameters, base)
    theirs = np.array(
        [
            pin.rnea(model, data, _configuration(model, q, quaternion), dq, ddq)
            for (q, dq, ddq), quaternion in zip(motion.transpose(1, 0, 2), turned, strict=True)
        ]
    )
    if free:  # ours has the wrench on the root after the joints
        theirs = np.concatenate([theirs[:, 6:], theirs[:, :6]], axis=1)
    worst = np.abs(ours - theirs)
    if worst.max() > TOLERANCE * max(1.0, float(np.abs(theirs).max())):
        row = int(worst.max(axis=0).argmax())
        raise ModelError(
            f"regressor times parameters differs from inverse dynamics by {worst.max():.3g} at "
            f"{regressor.layout.row_names[row]} (of {np.abs(theirs).max():.3g}); the model cannot be trusted"
        )


def _configuration(model: pin.Model, q: Array, turned: Array) -> Array:
    """Positions as Pinocchio wants them: cosine and sine for joints without end, a quaternion for a free root."""
    values, left = list[float](), list(q)
    for joint in list(model.joints)[1:]:
        if joint.nv == 6:
            values += [*left[:3], *turned]
            left = left[6:]
        else:
            value = left.pop(0)
            values += [value] if joint.nq == 1 else [np.cos(value), np.sin(value)]
    return np.array(values)
