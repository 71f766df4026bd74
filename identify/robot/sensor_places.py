"""Where the sensors of a robot's file sit in its model, and what each carries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from heft.daq.config.robot import WrenchSensorConfig
from heft.identify.bodies import transform
from heft.identify.bodies.arrays import Array, frozen
from heft.identify.errors import ModelError
from heft.identify.robot.model_bodies import Body, read_bodies
from heft.identify.robot.model_file import ModelFile
from heft.identify.robot.model_text import ModelText
from heft.identify.robot.regressor import Part
from heft.identify.robot.wrench_sensor import WrenchSensor

__all__ = ["SensorPlaces", "place_sensors"]


@dataclass(frozen=True, eq=False)
class SensorPlaces:
    """A model's links with those that sensors split, their ten numbers (links, 10), and the sensors.

    parts   of links, beyond a sensor: the last of the links, in this order
    imus    the link that each is on (-1: the root), and its pose there (4, 4)
    """

    links: tuple[str, ...]
    inertias: Array
    parts: tuple[Part, ...]
    sensors: Mapping[str, WrenchSensor]
    imus: Mapping[str, tuple[int, Array]]

    @property
    def fields(self) -> dict[str, Any]:
        """Arguments of `Robot`."""
        return {"links": self.links, "parts": self.parts, "sensors": self.sensors, "imus": self.imus}


def place_sensors(
    file: ModelFile,
    text: ModelText,
    sensors: Mapping[str, WrenchSensorConfig],
    imus: Mapping[str, str],
) -> SensorPlaces:
    """Find the frames of sensors, and of IMUs by name; `ModelError` where one has no place in the model."""
    links, inertias, parts = list(file.links), file.inertias.copy(), list[Part]()
    inner = {name: spec for name, spec in sensors.items() if not (spec.contact or spec.carries == "base")}
    bodies = read_bodies(text, file.tree.free) if inner else ()
    placed: dict[str, WrenchSensor] = {}
    for name, spec in sensors.items():
        link, place = _frame(file, f"wrench_sensors.{name}", spec.frame)
        placed[name] = WrenchSensor(
            spec.frame,
            _carrier(file, link),
            frozen(place),
            (),
            name not in inner,
            spec.reaction,
            spec.delay_s,
            spec.bias,
            spec.rest,
        )
    for name, spec in inner.items():
        link, _ = file.frames[spec.frame]
        body = file.frame_bodies[spec.frame]
        if link == "" or (file.tree.free and body == file.links[-1]):
            raise ModelError(
                f"wrench_sensors.{name}: nothing lies beyond {spec.frame}, which is on the base; write `carries: base` "
                "for a sensor under the base, or `contact: true`"
            )
        inside = _subtree(bodies, body)
        if body != link:
            if body in links:
                raise ModelError(f"wrench_sensors.{name}: a second sensor on {body}; leave one of them out")
            own = [one for one in inside if one.link == link]
            ten = np.sum([transform(one.ten, one.pose[:3, :3], one.pose[:3, 3]) for one in own], axis=0)
            pose = next(one.pose for one in own if one.name == body)
            back = np.linalg.inv(pose)
            inertias[links.index(link)] -= ten
            inertias = np.vstack([inertias, transform(ten, back[:3, :3], back[:3, 3])])
            links.append(body)
            parts.append(Part(_carrier(file, link), frozen(pose)))
        beyond = tuple(links.index(one.name) for one in inside if one.name in links)
        placed[name] = replace(placed[name], beyond=tuple(sorted(beyond)))
    found = {}
    for name, frame in imus.items():
        link, place = _frame(file, f"imu.{name}", frame)
        found[name] = (_carrier(file, link), frozen(place))
    return SensorPlaces(tuple(links), inertias, tuple(parts), placed, found)


def _frame(file: ModelFile, key: str, frame: str) -> tuple[str, Array]:
    if not isinstance(frame, str) or frame not in file.frames:
        raise ModelError(f"{key}: the model has no frame {frame}; it must be one of {', '.join(file.frames)}")
    return file.frames[frame]


def _carrier(file: ModelFile, link: str) -> int:
    """Place of a link in the tree; -1 for a base, fixed or free."""
    if link == "" or (file.tree.free and link == file.links[-1]):
        return -1
    return file.links.index(link)


def _subtree(bodies: Sequence[Body], root: str) -> list[Body]:
    """A body and all that it carries."""
    inside, names = [], {root}
    for one in sorted(bodies, key=lambda body: _depth(bodies, body)):
        if one.name == root or one.parent in names:
            names.add(one.name)
            inside.append(one)
    return inside


def _depth(bodies: Sequence[Body], body: Body) -> int:
    parents = {one.name: one.parent for one in bodies}
    depth, name = 0, body.parent
    while name is not None:
        depth, name = depth + 1, parents.get(name)
    return depth
