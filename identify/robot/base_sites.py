"""Sites on a base that stands still: Pinocchio leaves them out of an MJCF model."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element

import numpy as np
import pinocchio as pin

from heft.identify.bodies.arrays import Array
from heft.identify.robot.regressor import pose

__all__ = ["base_sites"]

TURNED_OTHERWISE = {"euler", "axisangle", "xyaxes", "zaxis", "fromto"}


def base_sites(root: Element, bodies: Mapping[str, Array]) -> dict[str, tuple[str, Array]]:
    """Of each site the body that it is on ("": the world), and its pose in the world (4, 4).

    `bodies` are the poses (4, 4) of the bodies that stand still. Sites that are not turned by `quat` are left out.
    """
    found: dict[str, tuple[str, Array]] = {}
    places: list[tuple[Element, str, Array]] = [(world, "", np.eye(4)) for world in root.findall("worldbody")]
    places += [
        (body, str(body.get("name")), bodies[str(body.get("name"))])
        for body in root.iter("body")
        if body.get("name") in bodies
    ]
    for element, name, place in places:
        for site in element.findall("site"):
            if site.get("name") and not TURNED_OTHERWISE & set(site.keys()):
                w, x, y, z = (float(word) for word in (site.get("quat") or "1 0 0 0").split())
                position = [float(word) for word in (site.get("pos") or "0 0 0").split()]
                turn = pin.Quaternion(np.array([x, y, z, w])).normalized().toRotationMatrix()
                found[str(site.get("name"))] = (name, place @ pose(turn, position))
    return found
