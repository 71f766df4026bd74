"""The start-up check: regressor times parameters must be inverse dynamics, or the robot is refused."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from heft.identify.bodies import transform
from heft.identify.bodies.arrays import Array
from heft.identify.errors import ModelError
from heft.identify.robot.regressor import Regressor, Tree

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

    `inertias` (n, 10) is what the model's own links weigh, each in its link's frame: compared as they stand.
    Then both get links of random weight, so that columns of links that weigh nothing are looked at too.
    """
    rng = np.random.default_rng(0)
    n = len(regressor.tree)
    motion = rng.uniform(-1.5, 1.5, (3, SAMPLES, n))
    if inertias is not None:
        _compare(model, regressor, inertias, motion)
    weights = rng.uniform(-1.0, 1.0, (n, 10))
    weights[:, 0] = rng.uniform(0.5, 2.0, n)
    heavy = model.copy()
    for i, link in enumerate(regressor.tree.link_in_joint):
        ten = transform(weights[i], link[:3, :3], link[:3, 3])
        heavy.inertias[i + 1] = pin.Inertia.FromDynamicParameters(ten)
    _compare(heavy, regressor, weights, motion)


def _compare(model: pin.Model, regressor: Regressor, inertias: Array, motion: Array) -> None:
    data, n = model.createData(), len(regressor.tree)
    parameters = np.zeros(len(regressor.names))
    parameters[: 10 * n] = inertias.ravel()
    ours = regressor.torque(motion[0], motion[1], motion[2], parameters)
    theirs = np.array(
        [pin.rnea(model, data, _configuration(model, q), dq, ddq) for q, dq, ddq in motion.transpose(1, 0, 2)]
    )
    worst = np.abs(ours - theirs)
    if worst.max() > TOLERANCE * max(1.0, float(np.abs(theirs).max())):
        joint = int(worst.max(axis=0).argmax())
        raise ModelError(
            f"regressor times parameters differs from inverse dynamics by {worst.max():.3g} at "
            f"{regressor.drives.joints[joint]} (of {np.abs(theirs).max():.3g}); the model cannot be trusted"
        )


def _configuration(model: pin.Model, q: Array) -> Array:
    """Positions as Pinocchio wants them: cosine and sine for joints without end."""
    values = []
    for j, value in enumerate(q, start=1):
        values += [value] if model.joints[j].nq == 1 else [np.cos(value), np.sin(value)]
    return np.array(values)
