"""URDF and MJCF through Pinocchio, as a tree of links with what the file says of their inertia and drives.

Pinocchio merges bodies without a joint into the link they are fixed to; joints named as locked are held at
zero and merged as well. It ignores MJCF's `<option gravity>`, and puts a link's inertia at the joint where a
joint has a `pos`: here gravity comes from the file's text, and inertia goes back to the body's frame. Rotations
between links within 1e-3 rad of right angles are right angles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pinocchio as pin

from heft.identify.bodies import transform
from heft.identify.bodies.arrays import Array
from heft.identify.errors import ModelError
from heft.identify.robot.base_sites import base_sites
from heft.identify.robot.model_shapes import shape_boxes
from heft.identify.robot.model_text import ModelText
from heft.identify.robot.pinocchio_model import build_model, floats
from heft.identify.robot.regressor import Tree, squared

__all__ = ["Base", "ModelFile", "read_mjcf_gravity", "read_model"]

Base = Literal["fixed", "free"]
EARTH = (0.0, 0.0, -9.81)
MOST_JOINTS = 100  # that move; tables over pairs of them stay small


@dataclass(frozen=True, eq=False)
class ModelFile:
    """A model as read: names, tree, priors. `frames`: the link each belongs to, and its pose there (4, 4).

    A root that moves freely is the last of the links. A frame on a base that stands still belongs to the link "".
    """

    name: str
    links: tuple[str, ...]
    joints: tuple[str, ...]
    tree: Tree
    inertias: Array  # ten numbers per link in its frame, (n, 10)
    armature: Array
    damping: Array
    dry_friction: Array
    position_limits: Array  # (n, 2) [rad, m]
    velocity_limits: Array
    torque_limits: Array
    frames: dict[str, tuple[str, Array]]
    frame_bodies: dict[str, str]  # the body that each frame is on: itself, where it is one
    shapes: dict[str, Array]  # box around the shapes of a link, in its frame, (2, 3); of links that have any
    pinocchio: pin.Model  # what Pinocchio makes of the file; gravity set, armature none


def read_model(
    path: Path,
    locked: Sequence[str] = (),
    gravity: Sequence[float] | None = None,
    base: Base | None = None,
) -> ModelFile:
    """Read a URDF (.urdf) or MJCF (.xml) file; `gravity` None: as the MJCF says, or 9.81 m/s2 down.

    `base` None: as the MJCF says (`freejoint`); the root of a URDF is fixed.
    """
    text = ModelText.read(path)
    model = build_model(path, text, base == "free")
    free = _checked_base(path, model, base)
    _refuse_tied(text, locked)
    if gravity is None:
        gravity = EARTH if text.format == "urdf" else read_mjcf_gravity(path) or EARTH
    if unknown := [name for name in locked if not model.existJointName(name)]:
        raise ModelError(
            f"{path.name}: no joint {unknown[0]} to lock; it has {', '.join(list(model.names)[1:])}"
        )
    if locked:
        model = pin.buildReducedModel(model, [model.getJointId(name) for name in locked], pin.neutral(model))
    first = 2 if free else 1  # of the joints: the one before it is the root's
    count = model.njoints - first
    if not 1 <= count <= MOST_JOINTS:
        raise ModelError(
            f"{path.name}: {count} moving joints, must be 1 to {MOST_JOINTS}; give a model of one robot, and "
            "name joints that do not move under `locked`"
        )
    for placement in model.jointPlacements:
        placement.rotation = squared(placement.rotation)
    joints = range(first, model.njoints)
    bodies = {j: _body(model, j, path) for j in range(1, model.njoints)}
    poses = {0: np.eye(4)} | {j: body.placement.homogeneous for j, body in bodies.items()}
    axes, prismatic = zip(*[_axis(model, j, path) for j in joints], strict=True)
    tree = Tree(
        parents=np.array([model.parents[j] - first for j in joints]),
        joint_in_parent=np.array(
            [np.linalg.inv(poses[model.parents[j]]) @ model.jointPlacements[j].homogeneous for j in joints]
        ),
        link_in_joint=np.array([poses[j] for j in joints]),
        axis=np.array(axes),
        prismatic=np.array(prismatic),
        gravity=np.array(gravity, dtype=np.float64),
        free=free,
    )
    moved = [*joints, *((1,) if free else ())]  # the root comes last
    inertias = []
    for j in moved:
        to_link = bodies[j].placement.inverse()
        inertias.append(
            transform(model.inertias[j].toDynamicParameters(), to_link.rotation, to_link.translation)
        )
    if not np.isfinite(inertias).all() or not np.isfinite(tree.joint_in_parent).all():
        raise ModelError(f"{path.name}: its numbers make no finite inertias and lengths; correct them")
    places = [model.idx_vs[j] for j in joints]
    low, high = _position_limits(model, joints)
    armature = np.array(model.armature)[places]
    model.armature = np.zeros(model.nv)
    model.gravity.linear = tree.gravity
    links = tuple(bodies[j].name for j in moved)
    frames, frame_bodies = _frames(model, bodies)
    if text.format == "mjcf":
        fixed = base_sites(text.root(), {name: place for name, (link, place) in frames.items() if link == ""})
        frames |= {name: ("", place) for name, (_, place) in fixed.items()}
        frame_bodies |= {name: body for name, (body, _) in fixed.items()}
    return ModelFile(
        name=path.stem,
        links=links,
        joints=tuple(model.names[j] for j in joints),
        tree=tree,
        inertias=np.array(inertias),
        armature=armature,
        damping=np.array(model.damping)[places],
        dry_friction=np.array(model.upperDryFrictionLimit)[places],
        position_limits=np.stack([low, high], axis=1),
        velocity_limits=np.array(model.upperVelocityLimit)[places],
        torque_limits=np.array(model.upperEffortLimit)[places],
        frames=frames,
        frame_bodies=frame_bodies,
        shapes=shape_boxes(path, model, {name: (j, poses[j]) for j, name in zip(moved, links, strict=True)}),
        pinocchio=model,
    )


def _checked_base(path: Path, model: pin.Model, base: Base | None) -> bool:
    """Whether the root moves freely; `ModelError` where file and caller contradict each other."""
    free = floats(model)
    if base == "free" and not free:
        raise ModelError(
            f"{path.name}: `base: free`, but its root body has no joint that lets it move; give it a <freejoint/>"
        )
    if base == "fixed" and free:
        raise ModelError(
            f"{path.name}: its root {model.names[1]} moves freely, and the base is said to be fixed; write `base: "
            "free` into the robot's file, or take the joint out of the model"
        )
    return free


def read_mjcf_gravity(path: Path) -> tuple[float, float, float] | None:
    """`<option gravity>` of an MJCF file [m/s2], or None where it says nothing."""
    options = ModelText.read(path).root().findall("option")
    values = [option.get("gravity") for option in options if option.get("gravity")]
    if not values:
        return None
    said = tuple(float(word) for word in str(values[-1]).split())
    if len(said) != 3:
        raise ModelError(f"{path.name}: gravity has {len(said)} numbers, must have 3; correct it")
    return said


def _refuse_tied(text: ModelText, locked: Sequence[str]) -> None:
    """Raise `ModelError` for a joint that moves with another one (`mimic`, MJCF's `equality`), unless both are locked.

    A row of the regression is the torque of one joint that moves by itself. Read as such, a joint that is tied to
    another would get a row and parameters of its own, though no torque of it was ever measured.
    """
    root = text.root()
    tied = [
        (joint.get("name"), mimic.get("joint"))
        for joint in root.iter("joint")
        for mimic in joint.findall("mimic")
    ]
    tied += [
        (one.get("joint1"), one.get("joint2"))
        for equal in root.findall("equality")
        for one in equal.findall("joint")
    ]
    for slave, master in tied:
        if free := [name for name in (slave, master) if name is not None and name not in locked]:
            both = " and ".join(name for name in (slave, master) if name is not None)
            what = "is held by an equality" if master is None else f"moves with {master} (mimic or equality)"
            raise ModelError(
                f"{text.name}: joint {slave} {what}, and {' and '.join(free)} {'is' if len(free) == 1 else 'are'} not "
                f"locked: only joints that move by themselves can be identified; name {both} under `locked` (fingers), "
                "or, where a motor of its own moves it, take the tie out of the file"
            )


def _body(model: pin.Model, joint: int, path: Path) -> pin.Frame:
    """The body that a joint moves: the link, to which all that is fixed beyond it belongs."""
    for frame in model.frames:
        parent = model.frames[frame.parentFrame]
        if (
            frame.type == pin.FrameType.BODY
            and frame.parentJoint == joint
            and parent.type == pin.FrameType.JOINT
            and parent.parentJoint == joint
        ):
            return frame
    raise ModelError(f"{path.name}: joint {model.names[joint]} moves no body; give it one")


def _axis(model: pin.Model, joint: int, path: Path) -> tuple[Array, bool]:
    """Axis in the joint's frame, and whether the joint slides along it."""
    kind = model.joints[joint]
    if kind.nv != 1 or kind.nq > 2:
        raise ModelError(
            f"{path.name}: joint {model.names[joint]} is {kind.shortname()} with {kind.nv} degrees of "
            "freedom; only revolute and prismatic joints, one per body, can be identified"
        )
    data = kind.createData()
    kind.calc(data, np.array([0.0] if kind.nq == 1 else [1.0, 0.0]), np.zeros(1))
    screw = np.array(data.S).ravel()
    linear, angular = screw[:3], screw[3:]
    if np.linalg.norm(linear) > 1e-12 and np.linalg.norm(angular) > 1e-12:
        raise ModelError(
            f"{path.name}: joint {model.names[joint]} is a screw; only revolute and prismatic can be used"
        )
    sliding = bool(np.linalg.norm(linear) > 0.5)
    return (linear if sliding else angular), sliding


def _position_limits(model: pin.Model, joints: Iterable[int]) -> tuple[Array, Array]:
    """Lowest and highest position per joint [rad, m]; a joint without end is -inf, inf."""
    low, high = [], []
    for j in joints:
        single = model.joints[j].nq == 1
        low.append(model.lowerPositionLimit[model.idx_qs[j]] if single else -np.inf)
        high.append(model.upperPositionLimit[model.idx_qs[j]] if single else np.inf)
    return np.array(low), np.array(high)


def _frames(
    model: pin.Model, bodies: Mapping[int, pin.Frame]
) -> tuple[dict[str, tuple[str, Array]], dict[str, str]]:
    """Every named body and site: the link it belongs to and its pose in that link's frame; and the body it is on.

    Left out: sites on a body that is fixed to a link whose joint has a `pos`. Pinocchio 4.1 places them wrongly.
    """
    frames, on = dict[str, tuple[str, Array]](), dict[str, str]()
    for frame in model.frames:
        if frame.type not in (pin.FrameType.BODY, pin.FrameType.OP_FRAME):
            continue
        name, holder = str(frame.name), frame
        while holder.type != pin.FrameType.BODY and holder.parentFrame > 0:
            holder = model.frames[holder.parentFrame]
        if frame.parentJoint == 0:
            frames[name] = ("", frame.placement.homogeneous)
        else:
            body = bodies[frame.parentJoint]
            on_link = model.frames[frame.parentFrame].name == body.name
            if frame.type == pin.FrameType.OP_FRAME and not (on_link or body.placement.isIdentity()):
                continue
            frames[name] = (str(body.name), (body.placement.inverse() * frame.placement).homogeneous)
        on[name] = str(holder.name) if holder.type == pin.FrameType.BODY else ""
    return frames, on
