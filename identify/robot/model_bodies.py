"""The bodies of a model file that make up each link, and how an identified link is shared out among them.

A link is a joint's body and all that is fixed to it, directly or behind locked joints: a flange, a sensor, a hand
with its fingers. Identification sees their sum. With P the pseudo-inertia of the link as the file has it and P' as
identified, the body with P_i becomes

    P_i' = A P_i A,   A P A = P'   (A symmetric and positive definite: the geometric mean of P^-1 and P')

so the bodies sum up to P', each of them could exist if the whole could, nothing changes where nothing was learned, and
fingers keep a mass that simulators accept. Where P is of no body that could exist, P' is shared out by mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from heft.daq.temporary import temporary_folder
from heft.identify.bodies import from_pseudo_inertia, pseudo_inertia, transform
from heft.identify.bodies.arrays import Array
from heft.identify.errors import ModelError
from heft.identify.robot.model_text import ModelText
from heft.identify.robot.pinocchio_model import build_model

__all__ = ["Body", "read_bodies", "share"]


@dataclass(frozen=True, eq=False)
class Body:
    """A named body: the link it belongs to, its pose there (4, 4), and its ten numbers in its own frame.

    `parent` is the body that it is fixed to, or that its joint is on; None for one that stands in the world.
    """

    name: str
    link: str
    pose: Array
    ten: Array
    parent: str | None = None


def read_bodies(model: ModelText, free: bool = False) -> tuple[Body, ...]:
    """All bodies that move, those that carry a joint before what is fixed to them. `free`: the root moves, too."""
    with temporary_folder() as folder:
        path = folder / model.name
        path.write_bytes(model.text.encode("utf-8"))
        read = build_model(path, model, free)
    data = read.createData()
    pin.framesForwardKinematics(read, data, pin.neutral(read))
    own = [np.array(inertia.toDynamicParameters()) for inertia in read.inertias]  # in the joint's frame
    for frame in read.frames:
        if frame.type == pin.FrameType.FIXED_JOINT:
            own[frame.parentJoint] -= _moved(frame.inertia.toDynamicParameters(), frame.placement)
    names = {joint: _carried(read, joint) for joint in range(1, read.njoints)}
    bodies = []
    for number, frame in enumerate(read.frames):
        link_joint = frame.parentJoint
        while link_joint > 0 and read.names[link_joint] in model.locked:
            link_joint = read.parents[link_joint]
        if frame.type != pin.FrameType.BODY or link_joint == 0:
            continue
        parent = read.frames[frame.parentFrame]
        if parent.type == pin.FrameType.JOINT:
            ten = _moved(own[frame.parentJoint], frame.placement.inverse())
        else:
            ten = parent.inertia.toDynamicParameters()
        link = names[link_joint]
        in_link = data.oMf[read.getFrameId(link, pin.FrameType.BODY)].actInv(data.oMf[number])
        bodies.append(Body(str(frame.name), link, in_link.homogeneous, ten, _parent(read, number)))
    return tuple(bodies)


def share(bodies: Sequence[Body], ten: Array) -> dict[str, Array]:
    """The ten numbers of each body of one link, in its own frame, so that together they are `ten` in the link's."""
    parts = [pseudo_inertia(transform(body.ten, body.pose[:3, :3], body.pose[:3, 3])) for body in bodies]
    whole, wanted = np.sum(parts, axis=0), pseudo_inertia(ten)
    if np.linalg.eigvalsh(whole)[0] > 1e-12 * np.trace(whole) and np.linalg.eigvalsh(wanted)[0] > 0:
        root = _root(whole)
        inverse = np.linalg.inv(root)
        A = inverse @ _root(root @ wanted @ root) @ inverse
        parts = [A @ part @ A for part in parts]
    else:
        parts = [part[3, 3] / whole[3, 3] * wanted if whole[3, 3] > 0 else 0 * wanted for part in parts]
    parts[0] = wanted - np.sum(parts[1:], axis=0)  # to the last digit
    shares = {}
    for body, part in zip(bodies, parts, strict=True):
        back = np.linalg.inv(body.pose)
        shares[body.name] = transform(from_pseudo_inertia(part), back[:3, :3], back[:3, 3])
    return shares


def _parent(model: pin.Model, number: int) -> str | None:
    """The name of the body that the body of a frame is on."""
    while (above := model.frames[number].parentFrame) != number and above > 0:
        number = above
        if model.frames[number].type == pin.FrameType.BODY:
            return str(model.frames[number].name)
    return None


def _carried(model: pin.Model, joint: int) -> str:
    """The name of the body that a joint moves."""
    for frame in model.frames:
        parent = model.frames[frame.parentFrame]
        if (
            frame.type == pin.FrameType.BODY
            and parent.type == pin.FrameType.JOINT
            and frame.parentJoint == joint
        ):
            return str(frame.name)
    raise ModelError(f"joint {model.names[joint]} moves no body; give it one")


def _moved(ten: Array, placement: pin.SE3) -> Array:
    return transform(ten, placement.rotation, placement.translation)


def _root(matrix: Array) -> Array:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
