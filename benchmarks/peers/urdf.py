"""A robot of ours as a bare URDF, for tools that read nothing else."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
from scipy.spatial.transform import Rotation

from heft.identify.bodies.parameters import Layout
from heft.identify.result.parameter_values import Parameters
from heft.identify.robot import Robot


def urdf_of(robot: Robot) -> str:
    """Links with the prior's inertia, joints with the model's placements; link frames at the joints."""
    tree = robot.tree
    if not np.allclose(tree.link_in_joint, np.eye(4)) or robot.prior is None:
        raise ValueError(f"{robot.name}: link frames must be at the joints, and there must be a prior")
    prior = Parameters(Layout(robot.parameter_names), robot.prior)
    root = ElementTree.Element("robot", name=robot.name)
    ElementTree.SubElement(root, "link", name="base")
    for i, (name, joint) in enumerate(zip(robot.links, robot.joints, strict=True)):
        link = prior[name]
        inertial = ElementTree.SubElement(ElementTree.SubElement(root, "link", name=name), "inertial")
        ElementTree.SubElement(inertial, "origin", xyz=_text(link.com), rpy="0 0 0")
        ElementTree.SubElement(inertial, "mass", value=repr(float(link.mass)))
        about = link.inertia_com
        pairs = [(a, b) for a in range(3) for b in range(a, 3)]
        moments = {f"i{'xyz'[a]}{'xyz'[b]}": repr(float(about[a, b])) for a, b in pairs}
        ElementTree.SubElement(inertial, "inertia", moments)
        element = ElementTree.SubElement(root, "joint", name=joint, type="revolute")
        parent = robot.links[tree.parents[i]] if tree.parents[i] >= 0 else "base"
        ElementTree.SubElement(element, "parent", link=parent)
        ElementTree.SubElement(element, "child", link=name)
        pose = tree.joint_in_parent[i]
        turn = Rotation.from_matrix(pose[:3, :3]).as_euler("xyz")
        ElementTree.SubElement(element, "origin", xyz=_text(pose[:3, 3]), rpy=_text(turn))
        ElementTree.SubElement(element, "axis", xyz=_text(tree.axis[i]))
        ElementTree.SubElement(element, "limit", lower="-6", upper="6", velocity="10", effort="200")
    return ElementTree.tostring(root, encoding="unicode")


def _text(values: np.ndarray) -> str:
    return " ".join(repr(float(value)) for value in values)
