"""From a robot's MJCF or URDF to MuJoCo models of the plant: true inertias, a grasped load, flexible joints.

A grasp compiles the object into the hand's body: no weld, no constraint, and nothing that MuJoCo derives at compile
time can be stale. What the file says about friction, actuators, contact and sensors is left out: friction belongs to
the plant (`heft.drivers.sim.friction`), torque comes from the servo, and what is sensed is said by the rig's devices.
A root body that moves freely gets the six coordinates of what holds it (`heft.drivers.sim.suspension`).
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from heft.drivers.errors import ModelFileError, OptionError
from heft.drivers.model_xml import model_root, read_model_text
from heft.drivers.plant.inertia import Inertia, transform
from heft.drivers.sim.motors import SharedMotors
from heft.drivers.sim.robot import SimRobot
from heft.drivers.sim.suspension import hang

__all__ = ["SENSED", "Flexibility", "Structure", "compile_plant", "read_structure", "with_model"]

#: What is sensed in each frame of `SimRobot.sensed`, in this order: name and numbers of its values.
SENSED = {"force": 3, "torque": 3, "gyro": 3, "accelerometer": 3, "framequat": 4}


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """What the file says, apart from friction: inertias by body, and where the bodies and sites sit on their links.

    inertias  by body name, in the body's own frame
    link_of   name of the link (body with a joint) that each body is rigidly attached to
    poses     pose of each body and site in the frame of its link, shape (4, 4)
    """

    inertias: Mapping[str, Inertia]
    link_of: Mapping[str, str]
    poses: Mapping[str, NDArray[np.float64]]

    def lump(self, inertias: Mapping[str, Inertia]) -> dict[str, Inertia]:
        """Everything rigidly attached to a joint's moving side as one body, in the link's frame."""
        links: dict[str, Inertia] = {}
        for body, inertia in inertias.items():
            link = self.link_of[body]
            part = inertia.moved(self.poses[body])
            links[link] = links[link] + part if link in links else part
        return links

    def relative(self, frame: str, other: str) -> NDArray[np.float64]:
        """Pose of one body or site in another on the same link, shape (4, 4)."""
        if self.link_of[frame] != self.link_of[other]:
            raise OptionError(f"{frame} and {other} must be fixed to one link; correct the robot's file")
        return np.asarray(np.linalg.solve(self.poses[other], self.poses[frame]), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Flexibility:
    """A spring and a damper between motor and link, per joint [N m/rad], [N m s/rad], shape (n,)."""

    stiffness: NDArray[np.float64]
    damping: NDArray[np.float64]


def with_model(robot: SimRobot, path: Path) -> SimRobot:
    """The robot as another MJCF file of it says: bodies, and of the joints armature, damping and frictionloss."""
    other = replace(robot, model=path)
    model = _spec(other, keep_friction=True).compile()
    joints = []
    for joint in robot.joints:
        dof = model.joint(joint.name).dofadr[0]
        joints.append(
            replace(
                joint,
                drive_inertia=float(model.dof_armature[dof]),
                viscous=float(np.ravel(model.dof_damping[dof])[0]),
                coulomb=float(model.dof_frictionloss[dof]),
            )
        )
    return replace(other, joints=tuple(joints))


def read_structure(robot: SimRobot) -> Structure:
    """Compile the file as it is, and read what it says about every body that moves."""
    spec = _spec(robot, keep_geoms=True)
    try:
        model = spec.compile()
    except ValueError as exc:
        raise OptionError(f"model: MuJoCo refuses {robot.model.name}: {exc}; correct it") from exc
    inertias: dict[str, Inertia] = {}
    link_of: dict[str, str] = {}
    poses: dict[str, NDArray[np.float64]] = {}
    for body in range(1, model.nbody):
        link, pose = body, np.eye(4)
        while link and not model.body_jntnum[link]:
            pose = transform(_rotation(model.body_quat[link]), model.body_pos[link]) @ pose
            link = model.body_parentid[link]
        if not link:
            continue  # fixed to the world
        name = model.body(body).name
        link_of[name], poses[name] = model.body(link).name, pose
        if model.body_mass[body] > 0.0:
            axes = _rotation(model.body_iquat[body])
            tensor = axes @ np.diag(model.body_inertia[body]) @ axes.T
            inertias[name] = Inertia.of(model.body_mass[body], model.body_ipos[body], tensor)
    for site in range(model.nsite):
        body_name = model.body(model.site_bodyid[site]).name
        if body_name in link_of:
            name = model.site(site).name
            pose = transform(_rotation(model.site_quat[site]), model.site_pos[site])
            link_of[name], poses[name] = link_of[body_name], poses[body_name] @ pose
    return Structure(inertias, link_of, poses)


def compile_plant(
    robot: SimRobot,
    inertias: Mapping[str, Inertia],
    drive_inertia: NDArray[np.float64],
    *,
    motors: SharedMotors | None = None,
    flexibility: Flexibility | None = None,
    frictionloss: NDArray[np.float64] | None = None,
) -> Any:
    """An MjModel with these inertias (by body) and drive inertias [kg m2], shape (n,).

    A motor that turns with several joints is a fixed tendon over them, whose armature is the motor's inertia.

    `frictionloss` [N m], shape (n,), is MuJoCo's own dry friction, a soft constraint. Without it nothing is left that
    the constraint solver would have to do, and it is switched off.
    """
    spec = _spec(robot)
    for name, inertia in inertias.items():
        body = spec.body(name)
        body.mass, body.ipos, body.iquat = inertia.mass, inertia.com, (1.0, 0.0, 0.0, 0.0)
        body.inertia = np.zeros(3)
        body.fullinertia = inertia.tensor_com[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)]
        body.explicitinertial = True
    for i, name in enumerate(robot.axes):
        joint = spec.joint(name)
        joint.armature = drive_inertia[i]
        if frictionloss is not None:
            joint.frictionloss = frictionloss[i]
        if flexibility is not None:
            joint.parent.add_joint(
                name=f"{name}_flex",
                type=joint.type,
                axis=joint.axis,
                pos=joint.pos,
                stiffness=flexibility.stiffness[i],
                damping=flexibility.damping[i],
            )
    if motors is not None:
        for k in np.flatnonzero(motors.coupling.shared):
            tendon = spec.add_tendon(name=f"{robot.axes[k]}_motor", armature=motors.inertia[k])
            for name, turns in zip(robot.axes, motors.coupling.matrix[k], strict=True):
                if turns:
                    tendon.wrap_joint(name, turns)
    for frame in robot.sensed:
        for name in SENSED:
            kind = getattr(mujoco.mjtSensor, f"mjSENS_{name.upper()}")
            spec.add_sensor(type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=frame)
    model = spec.compile()
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= off.mjDSBL_LIMIT | off.mjDSBL_CONTACT
    if frictionloss is None:
        model.opt.disableflags |= off.mjDSBL_CONSTRAINT
    return model


def _spec(robot: SimRobot, *, keep_geoms: bool = False, keep_friction: bool = False) -> Any:
    """The file with locked joints fixed, and without what the plant does not use."""
    try:
        model_root(read_model_text(robot.model), robot.model.name)
        spec = _read(robot.model)
    except ModelFileError as exc:
        raise OptionError(f"model: {exc}") from exc
    except (ValueError, OSError, ElementTree.ParseError) as exc:
        raise OptionError(f"model: {robot.model} cannot be read by MuJoCo: {exc}") from exc
    spec.option.gravity = robot.gravity
    spec.compiler.fusestatic = (
        False  # links that a URDF file fixes to others keep their names: hand, sensor, flange
    )
    for name in robot.locked:
        spec.delete(_require(spec.joint(name), "joint", name, robot))
    unused = [
        *spec.actuators,
        *spec.sensors,
        *spec.equalities,
        *spec.tendons,
        *spec.keys,
        *spec.excludes,
        *spec.pairs,
    ]
    for element in [*unused, *([] if keep_geoms else spec.geoms)]:
        spec.delete(element)
    root = _root(spec, robot)
    names = tuple(joint.name for joint in spec.joints)
    if names != robot.axes:
        raise OptionError(
            f"joints: the robot's file has {', '.join(robot.axes)}, but {robot.model.name} has {', '.join(names)}; "
            "give every joint that moves, in the model's order, and name the others in `locked`"
        )
    for joint in spec.joints:
        if joint.type not in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE):
            raise OptionError(f"joints: {joint.name} in {robot.model.name} must be a hinge or a slide")
        joint.stiffness = 0.0 * joint.stiffness
        if not keep_friction:
            joint.damping = 0.0 * joint.damping
            joint.frictionloss = 0.0
    held = None if robot.suspension is None else robot.suspension.frame
    for wanted in (robot.flange, robot.sensor):
        if wanted is not None and spec.site(wanted) is None:  # in URDF every frame is a link
            _require(spec.body(wanted), "site", wanted, robot).add_site(name=wanted)
    places = {f"{device}.frame": frame for device, frame in robot.places.items()}
    if held is not None:
        places["simulation.suspension.frame"] = held
    for key, wanted in places.items():
        if spec.site(wanted) is None:
            if spec.body(wanted) is None:
                known = ", ".join([*(site.name for site in spec.sites), *(b.name for b in spec.bodies[1:])])
                raise OptionError(
                    f"{key}: {robot.model.name} has no site or body named {wanted!r}; it has {known}"
                )
            spec.body(wanted).add_site(name=wanted)
    if root is not None and robot.suspension is not None:
        hang(spec, root, robot.suspension, robot.model.name)
    if robot.hand is not None:
        hand = _require(spec.body(robot.hand), "body", robot.hand, robot)
        _check_sensor(spec, robot, hand)
    return spec


def _root(spec: Any, robot: SimRobot) -> Any:
    """The root body of a robot with a free base, its free joint taken out of the file; None: the base is fixed."""
    free = [joint for joint in spec.joints if joint.type == mujoco.mjtJoint.mjJNT_FREE]
    if not robot.free:
        if free:
            raise OptionError(
                f"joints: {robot.model.name} lets {free[0].parent.name} move freely; say `base: free` in the robot's "
                "file, or take the free joint out"
            )
        return None
    if robot.suspension is None:
        raise OptionError(
            "simulation.suspension: missing, and the robot's base is free: nothing would hold it; add the `frame` that "
            "hangs on the crane"
        )
    if len(roots := list(spec.worldbody.bodies)) != 1:
        raise OptionError(
            f"model: {len(roots)} bodies stand in the world of {robot.model.name}; a robot with a free base has one"
        )
    for joint in free:
        spec.delete(joint)
    return roots[0]


def _read(path: Path) -> Any:
    """A file as MuJoCo reads it; of a URDF without its meshes, which are often in a package that is not here.

    A URDF gives inertias as numbers, and the plant touches nothing: no shape is needed.
    """
    if path.suffix != ".urdf":
        return mujoco.MjSpec.from_file(str(path))
    root = ElementTree.parse(path).getroot()
    for link in root.iter("link"):
        for kind in ("visual", "collision"):
            for shape in link.findall(kind):
                if shape.find("geometry/mesh") is not None:
                    link.remove(shape)
    return mujoco.MjSpec.from_string(ElementTree.tostring(root, encoding="unicode"))


def _check_sensor(spec: Any, robot: SimRobot, hand: Any) -> None:
    """A wrist sensor feels what its body carries: the hand must be that body, or hang on it."""
    if robot.sensor is None:
        return
    place, body = spec.site(robot.sensor).parent.name, hand
    while body.name not in (place, spec.worldbody.name):
        body = body.parent
    if body.name != place:
        raise OptionError(
            f"sensor: {robot.sensor!r} is fixed to {place!r} in {robot.model.name}, which does not carry the hand "
            f"{robot.hand!r}: it would feel nothing; put it between arm and hand"
        )


def _require(element: Any, kind: str, name: str, robot: SimRobot) -> Any:
    if element is None:
        raise OptionError(
            f"{kind}: {robot.model.name} has no {kind} named {name!r}; correct the robot's file"
        )
    return element


def _rotation(quaternion: NDArray[np.float64]) -> NDArray[np.float64]:
    matrix = np.empty(9)
    mujoco.mju_quat2Mat(matrix, quaternion)
    return matrix.reshape(3, 3)
