"""URDF: an identified model in a copy of a file, or in a plain file of its own.

It holds mass, centre of mass and inertia per link, and of a joint `damping` (viscous) and `friction` (Coulomb).
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import quoteattr

import numpy as np
import pinocchio as pin

from heft.identify.bodies import transform
from heft.identify.bodies.arrays import Array
from heft.identify.errors import ModelError
from heft.identify.result.export.inertial import Inertial, number, numbers
from heft.identify.result.export.xml_text import Element, XmlText
from heft.identify.robot import Robot
from heft.identify.robot.model_text import ModelText

__all__ = ["HELD", "fill", "plain"]

#: Joint terms that the format has a place for, and the attribute of <dynamics> that is it.
HELD = {"viscous": "damping", "coulomb": "friction"}
_UNLIMITED = 1e6  # where the format asks for a limit and none is known


def fill(model: ModelText, bodies: Mapping[str, Array], joints: Mapping[str, Mapping[str, float]]) -> str:
    """The file with the inertials of `bodies` (ten numbers each) and the held terms of `joints`."""
    document = XmlText(model.text, model.name)
    links = {link.attributes.get("name"): link for link in document.root.children if link.tag == "link"}
    for name, ten in bodies.items():
        if name not in links:
            raise ModelError(
                f"{model.name}: no <link name={name!r}>; give the file that the robot was made from"
            )
        _set_inertial(document, links[name], Inertial.of(ten))
    elements = {
        joint.attributes.get("name"): joint for joint in document.root.children if joint.tag == "joint"
    }
    for name, terms in joints.items():
        if name not in elements:
            raise ModelError(
                f"{model.name}: no <joint name={name!r}>; give the file that the robot was made from"
            )
        attributes = {HELD[term]: number(value) for term, value in terms.items() if term in HELD}
        if attributes:
            _set_child(document, elements[name], "dynamics", attributes)
    return document.edited()


def plain(robot: Robot, parameters: Array, joints: Mapping[str, Mapping[str, float]]) -> str:
    """A file of links and joints alone. A URDF link has the frame of the joint that moves it."""
    n = len(robot.joints)
    base = next(name for name in ("base", "base_link", "world", "heft_base") if name not in robot.links)
    lines = ['<?xml version="1.0"?>', f"<robot name={quoteattr(robot.name)}>"]
    if robot.tree.free:
        base = robot.links[n]
    else:
        lines.append(f"  <link name={quoteattr(base)}/>")
    for i, link in enumerate(robot.links):
        to_joint = robot.tree.link_in_joint[i] if i < n else np.eye(4)
        ten = transform(parameters[10 * i : 10 * i + 10], to_joint[:3, :3], to_joint[:3, 3])
        lines += [
            f"  <link name={quoteattr(link)}>",
            f"    {_inertial(Inertial.of(ten))}",
            "  </link>",
        ]
    for i, joint in enumerate(robot.joints):
        parent = int(robot.tree.parents[i])
        place = robot.tree.joint_in_parent[i]
        if parent >= 0:
            place = robot.tree.link_in_joint[parent] @ place
        terms = {HELD[term]: number(value) for term, value in joints.get(joint, {}).items() if term in HELD}
        lines += [
            f"  <joint name={quoteattr(joint)} type={quoteattr(_kind(robot, i))}>",
            f"    <parent link={quoteattr(base if parent < 0 else robot.links[parent])}/>",
            f"    <child link={quoteattr(robot.links[i])}/>",
            f"    {_origin(place)}",
            f'    <axis xyz="{numbers(robot.tree.axis[i])}"/>',
            *_limit(robot, i),
            *([f"    <dynamics {_attributes(terms)}/>"] if terms else []),
            "  </joint>",
        ]
    for name, (link, place) in _fixed(robot, base).items():
        if name not in robot.links:
            lines.append(f"  <link name={quoteattr(name)}/>")
        if name != base:
            lines += [
                f'  <joint name={quoteattr(f"{name}_fixed")} type="fixed">',
                f"    <parent link={quoteattr(link)}/>",
                f"    <child link={quoteattr(name)}/>",
                f"    {_origin(place)}",
                "  </joint>",
            ]
    return "\n".join([*lines, "</robot>"]) + "\n"


def _fixed(robot: Robot, base: str) -> dict[str, tuple[str, Array]]:
    """Frames and parts of links: the URDF link that each is fixed to, and its pose there."""
    n, fixed = len(robot.joints), dict[str, tuple[str, Array]]()
    first = len(robot.links) - len(robot.parts)
    for name, part in zip(robot.links[first:], robot.parts, strict=True):
        carrier = base if part.link < 0 else robot.links[part.link]
        fixed[name] = (
            carrier,
            (np.eye(4) if part.link < 0 else robot.tree.link_in_joint[part.link]) @ part.place,
        )
    for name, (link, place) in robot.frames.items():
        if name not in robot.links:
            i = robot.links.index(link) if link else n
            fixed[name] = (link or base, robot.tree.link_in_joint[i] @ place if i < n else place)
    return fixed


def _set_inertial(document: XmlText, link: Element, inertial: Inertial) -> None:
    """Attribute by attribute where there is an inertial, so that what else stands in it stays."""
    element = link.child("inertial")
    if element is None:
        document.insert(link, _inertial(inertial))
        return
    for tag, attributes in _inertial_attributes(inertial).items():
        _set_child(document, element, tag, attributes)


def _set_child(document: XmlText, parent: Element, tag: str, attributes: dict[str, str]) -> None:
    child = parent.child(tag)
    if child is None:
        document.insert(parent, f"<{tag} {_attributes(attributes)}/>")
    else:
        document.set(child, attributes)


def _inertial_attributes(inertial: Inertial) -> dict[str, dict[str, str]]:
    names = ("xx", "xy", "xz", "yy", "yz", "zz")
    moments = zip(names, inertial.entries(*names), strict=True)
    return {
        "origin": {"xyz": numbers(inertial.com), "rpy": "0 0 0"},
        "mass": {"value": number(inertial.mass)},
        "inertia": {f"i{name}": number(value) for name, value in moments},
    }


def _inertial(inertial: Inertial) -> str:
    parts = (f"<{tag} {_attributes(values)}/>" for tag, values in _inertial_attributes(inertial).items())
    return f"<inertial>{''.join(parts)}</inertial>"


def _attributes(values: Mapping[str, str]) -> str:
    return " ".join(f'{name}="{value}"' for name, value in values.items())


def _origin(place: Array) -> str:
    return f'<origin xyz="{numbers(place[:3, 3])}" rpy="{numbers(pin.rpy.matrixToRpy(place[:3, :3]))}"/>'


def _kind(robot: Robot, joint: int) -> str:
    assert robot.limits is not None
    if robot.tree.prismatic[joint]:
        return "prismatic"
    return "revolute" if np.isfinite(robot.limits.position[joint]).all() else "continuous"


def _limit(robot: Robot, joint: int) -> list[str]:
    limits = robot.limits
    assert limits is not None
    finite = np.nan_to_num(
        [*limits.position[joint], limits.torque[joint], limits.velocity[joint]],
        posinf=_UNLIMITED,
        neginf=-_UNLIMITED,
    )
    values = dict(zip(("lower", "upper", "effort", "velocity"), map(number, finite), strict=True))
    if _kind(robot, joint) == "continuous":
        del values["lower"], values["upper"]
    return [f"    <limit {_attributes(values)}/>"]
