"""Solids of an arm and of what stands around it, as coal's shapes: from its model file, or capsules along its links."""

from __future__ import annotations

from pathlib import Path

import coal
import numpy as np
import pinocchio as pin

from heft.daq.config.robot import RobotConfig
from heft.daq.config.scene import ObstacleConfig
from heft.identify.errors import ModelError
from heft.identify.robot import Robot
from heft.identify.robot.model_shapes import model_shapes
from heft.identify.robot.regressor_check import reference_model

__all__ = ["base_shapes", "kinematic_model", "link_shapes", "obstacle_shape"]

RADIUS = (
    0.05  # [m] of a capsule around a link of which no shape is known: links of arms are about 0.1 m thick
)


def kinematic_model(robot: Robot) -> pin.Model:
    """Pinocchio's model of the robot's tree: joint i is joint i + 1 of it, with one number each."""
    return reference_model(robot.tree, robot.joints)


def link_shapes(config: RobotConfig | None, robot: Robot) -> list[tuple[str, pin.GeometryObject]]:
    """Each link's shapes, by its name: as its model file has them, else capsules from its joint to the next ones.

    `config` None: there is no file at hand. A mesh counts as its convex hull. What does not move is no part of it
    (`base_shapes`); a root that moves freely is where the kinematic model's base is, and what is fixed to a link has
    its shapes.
    """
    found: list[tuple[str, pin.GeometryObject]] = []
    drawn = [] if config is None or config.model is None else _drawn(config.model_file, config.locked)
    n, free = len(robot.joints), int(robot.tree.free)
    by_joint: dict[int, list[pin.GeometryObject]] = {}
    for shape in drawn:
        by_joint.setdefault(int(shape.parentJoint), []).append(shape)
    for i, link in enumerate(robot.links[: n + free]):
        # Of the kinematic model; in the file a free root has a joint before all others.
        joint = i + 1 if i < n else 0
        own = by_joint.get(joint + free, [])
        for number, shape in enumerate(own or _capsules(robot, i if i < n else -1)):
            shape.name, shape.parentJoint = f"{link}.{number}", joint
            found.append((link, shape))
    return found


def base_shapes(config: RobotConfig, robot: Robot) -> list[pin.GeometryObject]:
    """The shapes that the model file draws of a base that does not move, and of what else stands still in it."""
    if config.model is None or robot.tree.free:
        return []
    return [shape for shape in _drawn(config.model_file, config.locked) if shape.parentJoint == 0]


def obstacle_shape(name: str, obstacle: ObstacleConfig) -> pin.GeometryObject:
    """A solid of the scene, fixed to the base."""
    place = pin.SE3(pin.rpy.rpyToMatrix(*obstacle.rpy), np.array(obstacle.at))
    if obstacle.box is not None:
        solid = coal.Box(*obstacle.box)
    elif obstacle.sphere is not None:
        solid = coal.Sphere(obstacle.sphere)
    elif obstacle.capsule is not None:
        solid = coal.Capsule(obstacle.capsule.radius, obstacle.capsule.length)
    elif obstacle.cylinder is not None:
        solid = coal.Cylinder(obstacle.cylinder.radius, obstacle.cylinder.length)
    else:
        assert obstacle.plane is not None
        normal = np.array(obstacle.plane.normal)
        length = float(np.linalg.norm(normal))
        solid = coal.Halfspace(normal / length, obstacle.plane.offset / length)
    return pin.GeometryObject(name, 0, place, solid)


def _drawn(path: Path, locked: tuple[str, ...]) -> list[pin.GeometryObject]:
    """The shapes of a model file; without its meshes' hollows."""
    shapes = model_shapes(path, locked)
    for shape in shapes:
        if isinstance(shape.geometry, coal.BVHModelBase):
            try:
                shape.geometry.buildConvexHull(True, "Qt")
            except RuntimeError as exc:
                raise ModelError(f"{path.name}: the mesh of {shape.name} has no convex hull: {exc}") from exc
            shape.geometry = shape.geometry.convex
    return shapes


def _capsules(robot: Robot, link: int) -> list[pin.GeometryObject]:
    """From the link's joint to those of its children, to the flange where it has one; in the joint's frame.

    link   its number; -1: a root that moves freely
    """
    tree = robot.tree
    inside = np.eye(4) if link < 0 else tree.link_in_joint[link]
    ends = [tree.joint_in_parent[child][:3, 3] for child in np.flatnonzero(tree.parents == link)]
    name = robot.links[len(robot.joints) if link < 0 else link]
    if robot.flange is not None and robot.frames[robot.flange][0] == name:
        ends.append(robot.frames[robot.flange][1][:3, 3])
    begin = np.linalg.inv(inside)[:3, 3]
    shapes = []
    for end in ends or [begin]:
        a, b = (inside[:3, :3] @ point + inside[:3, 3] for point in (begin, end))
        length = float(np.linalg.norm(b - a))
        if length < 1e-3:
            solid, rotation = coal.Sphere(RADIUS), np.eye(3)
        else:
            solid = coal.Capsule(RADIUS, length)
            rotation = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), b - a).toRotationMatrix()
        shapes.append(pin.GeometryObject("", link + 1, pin.SE3(rotation, (a + b) / 2), solid))
    return shapes
