"""How a base that moves freely is held while a designed motion is played: hung on a hook, or on feet that rest.

Both are designed for with the root at rest and upright, as the model file draws it. On a stiff hook that is what it
nearly does; standing, it follows from joints between root and feet that are held still.
"""

from __future__ import annotations

from dataclasses import dataclass

import coal
import numpy as np

from heft.daq.config.robot import RobotConfig
from heft.identify.bodies.arrays import Array
from heft.identify.errors import ProblemError
from heft.identify.excitation.shapes import link_shapes
from heft.identify.robot import Robot

__all__ = ["Soles", "Support", "support_of"]

LEVEL_M, LEVEL_RAD = 0.01, 0.02  # soles no more apart in height, and turned no further, are on one floor


@dataclass(frozen=True, eq=False)
class Soles:
    """The floor under feet that rest, and the polygon that they span on it, in the root's frame.

    up, origin        unit vector against gravity (3,), and a point of the floor [m] (3,)
    normals, offsets  of the polygon's edges: a point p of the floor is inside where normals (p - origin) <= offsets;
                      (k, 3), [m] (k,)
    """

    up: Array
    origin: Array
    normals: Array
    offsets: Array


@dataclass(frozen=True, eq=False)
class Support:
    """What carries a robot whose base moves freely.

    feet   contacts on the ground; none: it hangs
    held   joints between the root and them, indices
    """

    feet: tuple[str, ...] = ()
    held: tuple[int, ...] = ()

    def soles(self, config: RobotConfig, robot: Robot, q: Array) -> Soles:
        """Under the feet at posture q [rad, m] (n,); `ProblemError` where it cannot stand like that."""
        up = -robot.gravity / np.linalg.norm(robot.gravity)
        poses = robot.link_poses(q)
        places = {name: poses[robot.sensors[name].link] @ robot.sensors[name].place for name in self.feet}
        heights = [float(place[:3, 3] @ up) for place in places.values()]
        if max(heights) - min(heights) > LEVEL_M:
            raise ProblemError(
                f"standing: {' and '.join(self.feet)} are {max(heights) - min(heights):.3f} m apart in height, at most "
                f"{LEVEL_M:g} m on one floor; give a --posture in which both feet are on it"
            )
        points = []
        for name, place in places.items():
            tilt = float(np.arccos(np.clip(np.abs(up @ place[:3, :3]).max(), -1.0, 1.0)))
            if tilt > LEVEL_RAD:
                raise ProblemError(
                    f"standing: {name} is turned by {tilt:.3f} rad against the floor, at most {LEVEL_RAD:g} rad; give "
                    "a --posture in which it is flat on it"
                )
            points += [place[:3, 3], *_corners(config, robot, name, poses, up)]
        origin = np.mean([place[:3, 3] for place in places.values()], axis=0)
        normals, offsets = _edges(np.array(points) - origin, up)
        if not len(normals):
            raise ProblemError(
                f"standing: the model draws no box or mesh under {', '.join(self.feet)}, so where they may press is "
                "not known; draw the soles as boxes in the model"
            )
        return Soles(up, origin, normals, offsets)


def support_of(robot: Robot) -> Support:
    """By the contacts of the robot's file; `ProblemError` where nothing carries it, or not in a way that rests."""
    contacts = {name: one for name, one in robot.sensors.items() if one.contact}
    feet = tuple(name for name, one in contacts.items() if one.rest and one.link >= 0)
    hung = any(one.link < 0 for one in contacts.values())
    if not contacts:
        raise ProblemError(
            f"{robot.name}: its base moves freely, and nothing in its file says what carries it; give the sensor at "
            "the crane's hook, or those under the feet, under `wrench_sensors` with `contact: true`"
        )
    if not hung and not feet:
        raise ProblemError(
            f"{robot.name}: {', '.join(contacts)} carry it and need not rest, so where its base is during a motion is "
            "not known; write `rest: true` at feet that stand on the ground, or hang the root on a sensor"
        )
    if feet and hung:
        raise ProblemError(
            f"{robot.name}: it hangs, and {feet[0]} rests on the ground; which of them carries is not known; leave one "
            "of them out of `wrench_sensors`"
        )
    held = {joint for name in feet for joint in robot.tree.support(contacts[name].link)}
    if len(held) == len(robot.joints):
        raise ProblemError(
            f"{robot.name}: every joint is between its root and {', '.join(feet)}, and has to stay; hang it on a crane"
        )
    return Support(feet, tuple(sorted(held)))


def _corners(config: RobotConfig, robot: Robot, name: str, poses: Array, up: Array) -> list[Array]:
    """Corners of a foot's boxes and meshes on the floor [m]: those as low as its lowest."""
    link = robot.sensors[name].link
    found: list[Array] = []
    for part, shape in link_shapes(config, robot):
        if part != robot.links[link]:
            continue
        solid = shape.geometry
        if isinstance(solid, coal.Box):
            signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T
            inside = signs * np.array(solid.halfSide).ravel()
        elif isinstance(solid, coal.ConvexBase):
            inside = np.array([solid.point(k) for k in range(solid.num_points)]).reshape(-1, 3)
        else:
            continue
        in_joint = inside @ shape.placement.rotation.T + shape.placement.translation
        place = poses[link] @ np.linalg.inv(robot.tree.link_in_joint[link])
        found += list(in_joint @ place[:3, :3].T + place[:3, 3])
    lowest = min((float(point @ up) for point in found), default=0.0)
    return [point for point in found if point @ up < lowest + LEVEL_M]


def _edges(points: Array, up: Array) -> tuple[Array, Array]:
    """Outward normals (k, 3) and offsets (k,) of the convex hull of points (m, 3) seen from above; none if thin."""
    from scipy.spatial import ConvexHull, QhullError  # takes long to load

    along = np.linalg.svd(up[None])[2][1:]
    try:
        hull = ConvexHull(points @ along.T)
    except QhullError:
        return np.zeros((0, 3)), np.zeros(0)
    equations = np.unique(np.round(hull.equations, 12), axis=0)
    return equations[:, :2] @ along, -equations[:, 2]
