"""MJCF: an identified model in a copy of a file, or in a plain file of its own.

It holds mass, centre of mass and inertia per body, and of a joint `armature` (drive inertia), `damping` (viscous) and
`frictionloss` (Coulomb; MuJoCo's own is a soft constraint, not a tanh).
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import quoteattr

import numpy as np
import pinocchio as pin

from heft.identify.bodies.arrays import Array
from heft.identify.errors import ModelError
from heft.identify.result.export.inertial import Inertial, number, numbers
from heft.identify.result.export.xml_text import Element, XmlText
from heft.identify.robot import Robot
from heft.identify.robot.model_text import ModelText

__all__ = ["HELD", "fill", "plain"]

#: Joint terms that the format has a place for, and the attribute of <joint> that is it.
HELD = {"drive_inertia": "armature", "viscous": "damping", "coulomb": "frictionloss"}
#: What may stand in an <inertial> and would turn or replace what is written.
_OTHER_FORMS = ("quat", "axisangle", "xyaxes", "zaxis", "euler", "diaginertia")
#: What of <compiler> would not leave inertials as they are written.
_MEDDLING = ("settotalmass", "boundmass", "boundinertia", "balanceinertia", "inertiafromgeom")


def fill(model: ModelText, bodies: Mapping[str, Array], joints: Mapping[str, Mapping[str, float]]) -> str:
    """The file with the inertials of `bodies` (ten numbers each) and the held terms of `joints`."""
    document = XmlText(model.text, model.name)
    elements_of_bodies = _by_name(document, "body")
    for name, ten in bodies.items():
        if name not in elements_of_bodies:
            raise ModelError(
                f"{model.name}: no <body name={name!r}>; write included files into one, and name bodies"
            )
        attributes = _inertial_attributes(Inertial.of(ten))
        element = elements_of_bodies[name].child("inertial")
        if element is None:
            document.insert(elements_of_bodies[name], f"<inertial {_attributes(attributes)}/>")
        else:
            document.set(element, {**dict.fromkeys(_OTHER_FORMS), **attributes})
    elements = _by_name(document, "joint")
    for name, terms in joints.items():
        if name not in elements:
            raise ModelError(
                f"{model.name}: no <joint name={name!r}>; write included files into one, and name joints"
            )
        document.set(
            elements[name], {HELD[term]: number(value) for term, value in terms.items() if term in HELD}
        )
    for compiler in document.root.iter("compiler"):
        document.set(compiler, {name: None for name in _MEDDLING if name in compiler.attributes})
    return document.edited()


def plain(robot: Robot, parameters: Array, joints: Mapping[str, Mapping[str, float]]) -> str:
    """A file of bodies, joints and sites alone. Body frames are the robot's link frames."""
    lines = [
        f"<mujoco model={quoteattr(robot.name)}>",
        '  <compiler angle="radian"/>',
        f'  <option gravity="{numbers(robot.gravity)}"/>',
        "  <worldbody>",
        *_root(robot, parameters, joints),
        "  </worldbody>",
        "</mujoco>",
    ]
    return "\n".join(lines) + "\n"


def _root(robot: Robot, parameters: Array, joints: Mapping[str, Mapping[str, float]]) -> list[str]:
    """All bodies; those of a free root inside it."""
    if not robot.tree.free:
        return [*_sites(robot, "", "    "), *_children(robot, -1, parameters, joints, "    ")]
    n = len(robot.joints)
    return [
        f"    <body name={quoteattr(robot.links[n])}>",
        "      <freejoint/>",
        f"      <inertial {_attributes(_inertial_attributes(Inertial.of(parameters[10 * n : 10 * n + 10])))}/>",
        *_sites(robot, robot.links[n], "      "),
        *_parts(robot, -1, parameters, "      "),
        *_children(robot, -1, parameters, joints, "      "),
        "    </body>",
    ]


def _sites(robot: Robot, link: str, indent: str) -> list[str]:
    return [
        f"{indent}<site name={quoteattr(name)} {_place(pose)}/>"
        for name, (on, pose) in robot.frames.items()
        if on == link and name not in robot.links
    ]


def _parts(robot: Robot, link: int, parameters: Array, indent: str) -> list[str]:
    """Bodies that are fixed to a link."""
    lines, first = list[str](), len(robot.links) - len(robot.parts)
    for i, part in enumerate(robot.parts, start=first):
        if part.link == link:
            inertial = _inertial_attributes(Inertial.of(parameters[10 * i : 10 * i + 10]))
            lines += [
                f"{indent}<body name={quoteattr(robot.links[i])} {_place(part.place)}>",
                f"{indent}  <inertial {_attributes(inertial)}/>",
                f"{indent}</body>",
            ]
    return lines


def _children(
    robot: Robot, parent: int, parameters: Array, joints: Mapping[str, Mapping[str, float]], indent: str
) -> list[str]:
    lines: list[str] = []
    for i in np.flatnonzero(robot.tree.parents == parent).tolist():
        place = robot.tree.joint_in_parent[i] @ robot.tree.link_in_joint[i]  # at rest
        inertial = _inertial_attributes(Inertial.of(parameters[10 * i : 10 * i + 10]))
        lines += [
            f"{indent}<body name={quoteattr(robot.links[i])} {_place(place)}>",
            f"{indent}  <inertial {_attributes(inertial)}/>",
            f"{indent}  {_joint(robot, i, joints.get(robot.joints[i], {}))}",
            *_sites(robot, robot.links[i], indent + "  "),
            *_parts(robot, i, parameters, indent + "  "),
            *_children(robot, i, parameters, joints, indent + "  "),
            f"{indent}</body>",
        ]
    return lines


def _joint(robot: Robot, joint: int, terms: Mapping[str, float]) -> str:
    assert robot.limits is not None
    to_body = np.linalg.inv(robot.tree.link_in_joint[joint])
    attributes = {
        "type": "slide" if robot.tree.prismatic[joint] else "hinge",
        "pos": numbers(to_body[:3, 3]),
        "axis": numbers(to_body[:3, :3] @ robot.tree.axis[joint]),
    }
    if np.isfinite(robot.limits.position[joint]).all():
        attributes["range"] = numbers(robot.limits.position[joint])
    attributes |= {HELD[term]: number(value) for term, value in terms.items() if term in HELD}
    return f"<joint name={quoteattr(robot.joints[joint])} {_attributes(attributes)}/>"


def _inertial_attributes(inertial: Inertial) -> dict[str, str]:
    full = inertial.entries("xx", "yy", "zz", "xy", "xz", "yz")
    return {"pos": numbers(inertial.com), "mass": number(inertial.mass), "fullinertia": numbers(full)}


def _attributes(values: Mapping[str, str]) -> str:
    return " ".join(f'{name}="{value}"' for name, value in values.items())


def _place(pose: Array) -> str:
    x, y, z, w = pin.Quaternion(pose[:3, :3]).coeffs()
    return f'pos="{numbers(pose[:3, 3])}" quat="{numbers([w, x, y, z])}"'


def _by_name(document: XmlText, tag: str) -> dict[str | None, Element]:
    """Elements of the world, not of the defaults."""
    return {e.attributes.get("name"): e for world in document.root.iter("worldbody") for e in world.iter(tag)}
