"""A robot as a URDF for viewers: its joints where they are, its links as boxes. No mesh needs to be found."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.robot.regressor import Tree
from heft.identify.robot.robot import Robot

__all__ = ["BASE", "drawing_frames", "urdf_text"]

BASE = "base"
THINNEST = 0.01  # of a box [m], so that it can be seen
WIDE = 1e3  # for limits that are not known


def drawing_frames(tree: Tree) -> Array:
    """Pose of each joint at zero in the frame of its parent's joint, or of the base, shape (n, 4, 4).

    A link is drawn in its joint's moved frame, as a URDF has it: placement of i = B(parent) A(i).
    """
    poses = np.array(tree.joint_in_parent)
    for i, parent in enumerate(tree.parents):
        if parent >= 0:
            poses[i] = tree.link_in_joint[parent] @ tree.joint_in_parent[i]
    return poses


def urdf_text(robot: Robot) -> str:
    """The text of a URDF with the robot's links and joints by their names, each link as its box."""
    root = ElementTree.Element("robot", name=robot.name)
    base = ElementTree.SubElement(root, "link", name=base_name(robot))
    n = len(robot.joints)
    if robot.tree.free:
        _draw(base, robot.extents[robot.links[n]], np.eye(4))
    assert robot.limits is not None
    placements = drawing_frames(robot.tree)
    for i, (link, joint) in enumerate(zip(robot.links[:n], robot.joints, strict=True)):
        _draw(
            ElementTree.SubElement(root, "link", name=link), robot.extents[link], robot.tree.link_in_joint[i]
        )
        kind = "prismatic" if robot.tree.prismatic[i] else "revolute"
        element = ElementTree.SubElement(root, "joint", name=joint, type=kind)
        parent = int(robot.tree.parents[i])
        ElementTree.SubElement(
            element, "parent", link=base_name(robot) if parent < 0 else robot.links[parent]
        )
        ElementTree.SubElement(element, "child", link=link)
        ElementTree.SubElement(element, "origin", _origin(placements[i]))
        ElementTree.SubElement(element, "axis", xyz=_numbers(robot.tree.axis[i]))
        low, high = np.nan_to_num(robot.limits.position[i], posinf=WIDE, neginf=-WIDE)
        ElementTree.SubElement(
            element,
            "limit",
            lower=f"{low:.6g}",
            upper=f"{high:.6g}",
            velocity=f"{np.nan_to_num(robot.limits.velocity[i], posinf=WIDE):.6g}",
            effort=f"{np.nan_to_num(robot.limits.torque[i], posinf=WIDE):.6g}",
        )
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode")


def base_name(robot: Robot) -> str:
    """The root that moves freely, or a name for the fixed base that no link has."""
    if robot.tree.free:
        return robot.links[len(robot.joints)]
    name = BASE
    while name in robot.links:
        name += "_0"
    return name


def _draw(element: ElementTree.Element, box: Array, link_in_joint: Array) -> None:
    """A link's box, in the frame of its joint."""
    size = np.maximum(box[1] - box[0], THINNEST)
    centre = np.eye(4)
    centre[:3, 3] = (box[0] + box[1]) / 2
    visual = ElementTree.SubElement(element, "visual")
    ElementTree.SubElement(visual, "origin", _origin(link_in_joint @ centre))
    ElementTree.SubElement(ElementTree.SubElement(visual, "geometry"), "box", size=_numbers(size))


def _origin(pose: Array) -> dict[str, str]:
    """Position and fixed-axis angles roll, pitch, yaw of a pose (4, 4)."""
    R = pose[:3, :3]
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    if abs(R[2, 0]) < 1 - 1e-12:
        roll, yaw = np.arctan2(R[2, 1], R[2, 2]), np.arctan2(R[1, 0], R[0, 0])
    else:  # roll and yaw turn about one axis
        roll, yaw = 0.0, np.arctan2(-R[0, 1], R[1, 1])
    return {"xyz": _numbers(pose[:3, 3]), "rpy": _numbers(np.array([roll, pitch, yaw]))}


def _numbers(values: Array) -> str:
    return " ".join(f"{value:.12g}" for value in values)
