"""The arm among obstacles: how far it is from itself and from everything else, and how that changes with its joints."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property

import coal
import numpy as np
import pinocchio as pin

from heft.daq.config.robot import RobotConfig
from heft.daq.config.scene import MountingConfig, ObstacleConfig, PlaneConfig, SceneConfig
from heft.identify.bodies.arrays import Array
from heft.identify.errors import ModelError
from heft.identify.excitation.bounding import Bounding, link_poses
from heft.identify.excitation.shapes import base_shapes, kinematic_model, link_shapes, obstacle_shape
from heft.identify.robot import Robot
from heft.identify.robot.regressor.row_layout import Ints

__all__ = ["BASE", "CLEARANCE", "MOUNTING_PLANE", "Approach", "Scene"]

CLEARANCE = 0.02  # [m]: tracking errors of 0.01 rad at an arm's length of 1 m, and as much again for shapes
OWN = 0.5  # of the clearance, between two links: both are where the same joints put them
MOUNTING_PLANE = "mounting_plane"
BASE = "robot_base"  # what the model file draws of a base that stands still
#: Two parts of the arm that touch in so many of the random postures are drawn into each other, or joined closely.
OFTEN, TOUCH_M = 0.5, 1e-4
POSTURES = 100


@dataclass(frozen=True, slots=True)
class Approach:
    """Two parts, and how far they are apart [m]; negative: they overlap."""

    first: str
    second: str
    distance: float

    def __str__(self) -> str:
        return f"{self.first} and {self.second}"


class Scene:
    """Distances between the shapes of an arm and those around it.

    config   the robot's, whose own scene is part of it; `scene`: what a rig and a session add

    Not looked at: links that a joint connects, links that overlap in half of all postures (they are drawn into each
    other), pairs that the file calls `separate`, and obstacles against the first link where it turns about the
    mounting plane's normal.
    """

    def __init__(self, config: RobotConfig, robot: Robot, scene: SceneConfig | None = None) -> None:
        whole = config.scene if scene is None else scene
        self.robot, self.config = robot, whole
        self.clearance = CLEARANCE if whole.clearance is None else whole.clearance
        mounting = whole.mounting or MountingConfig()
        self._model = kinematic_model(robot)
        self._data = self._model.createData()
        self._geometry = pin.GeometryModel()
        self._parts: list[str] = []
        for link, shape in link_shapes(config, robot):
            self._geometry.addGeometryObject(shape)
            self._parts.append(link)
        for number, shape in enumerate(base_shapes(config, robot)):
            shape.name = f"{BASE}.{number}"
            self._geometry.addGeometryObject(shape)
            self._parts.append(BASE)
        obstacles = dict(whole.obstacles)
        if mounting.plane and (whole.mounting is not None or not robot.tree.free):
            plane = PlaneConfig(normal=(0.0, 0.0, 1.0), offset=mounting.height)
            obstacles[MOUNTING_PLANE] = ObstacleConfig(plane=plane)
        for name, obstacle in obstacles.items():
            if name in self._parts:
                raise ModelError(f"scene.obstacles.{name}: a link has this name; call the obstacle otherwise")
            self._geometry.addGeometryObject(obstacle_shape(name, obstacle))
            self._parts.append(name)
        self.workspace = whole.workspace
        self._add_pairs(whole)
        self._geometry_data = self._fresh_data()
        self._leave_out_overlapping()

    def _fresh_data(self) -> pin.GeometryData:
        """For the pairs as they are; a distance does not depend on what was asked before."""
        data = self._geometry.createData()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the only switch that coal heeds
            for asked in data.distanceRequests:
                asked.enable_cached_gjk_guess = False
        return data

    # ------------------------------------------------------------------ pairs
    def _add_pairs(self, scene: SceneConfig) -> None:
        parents = self._parents
        apart = {frozenset(pair) for pair in scene.separate}
        if unknown := {name for pair in apart for name in pair} - set(self._parts):
            raise ModelError(
                f"scene.separate: no {min(unknown)}; there are {', '.join(dict.fromkeys(self._parts))}"
            )
        for a in range(len(self._parts)):
            for b in range(a + 1, len(self._parts)):
                one, other = self._parts[a], self._parts[b]
                if one not in parents or frozenset((one, other)) in apart or one == other:
                    continue  # two obstacles, or one link
                if other in parents:
                    if parents[other] == one or parents[one] == other:
                        continue
                elif other in (BASE, MOUNTING_PLANE) and parents[one] is None:
                    continue  # the base's own neighbour
                self._geometry.addCollisionPair(pin.CollisionPair(a, b))

    @cached_property
    def _parents(self) -> dict[str, str | None]:
        """By link, the one that it is on; None: the base that stands still, or nothing."""
        robot, n = self.robot, len(self.robot.joints)
        root = robot.links[n] if robot.tree.free else None
        parents = {
            link: root if parent < 0 else robot.links[parent]
            for link, parent in zip(robot.links[:n], robot.tree.parents.tolist(), strict=True)
        }
        return parents if root is None else {**parents, root: None}

    def _leave_out_overlapping(self) -> None:
        """Links that touch in half of the random postures: their shapes are drawn into each other. Links that are built
        close to each other keep half of what is usual between them.

        wanted   what each pair keeps [m], shape (P,)
        part     of the clearance that this is, at most 1: room for what is between samples is as much smaller (P,)
        """
        limits, links = self.robot.limits, self.robot.links
        assert limits is not None
        low, high = np.clip(limits.position.T, -np.pi, np.pi)
        q = np.random.default_rng(0).uniform(low, high, (POSTURES, len(low)))
        enough = max(2.0 * OWN * self.clearance, 2.0 * TOUCH_M)
        found = np.minimum(self.distances(q, enough), enough)
        often = (found < TOUCH_M).mean(axis=0) > OFTEN
        pairs = [(pair.first, pair.second) for pair in self._geometry.collisionPairs]
        joined = {
            (self._parts[first], self._parts[second])
            for (first, second), out in zip(pairs, often, strict=True)
            if out and self._droppable(second)
        }
        gone = np.array([(self._parts[a], self._parts[b]) in joined for a, b in pairs], dtype=bool)
        for (first, second), out in zip(pairs, gone, strict=True):
            if out:
                self._geometry.removeCollisionPair(pin.CollisionPair(first, second))
        self._geometry_data = self._fresh_data()
        for name in ("pairs", "_shapes"):
            self.__dict__.pop(name, None)
        kept = found[:, ~gone]
        own = np.array([second in links or second == BASE for _, second in self.pairs], dtype=bool)
        nominal = np.where(own, OWN * self.clearance, self.clearance)
        self.wanted = np.where(own, np.minimum(nominal, 0.5 * np.median(kept, axis=0)), nominal)
        self.part = np.where(nominal > 0.0, self.wanted / np.maximum(nominal, np.finfo(float).tiny), 1.0)

    def _droppable(self, shape: int) -> bool:
        """Another link, the base, or a mounting plane that nobody has placed: no arm is in its own half of the time."""
        part = self._parts[shape]
        mine = part in self.robot.links or part == BASE
        return mine or (part == MOUNTING_PLANE and self.config.mounting is None)

    @cached_property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The parts that are looked at, pair by pair."""
        return tuple((self._parts[p.first], self._parts[p.second]) for p in self._geometry.collisionPairs)

    # -------------------------------------------------------------- distances
    @cached_property
    def _shapes(self) -> tuple[Ints, Ints]:
        """Numbers of the two shapes of each pair, (P,) each."""
        pairs = [(pair.first, pair.second) for pair in self._geometry.collisionPairs]
        first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return first, second

    @cached_property
    def _bounding(self) -> Bounding:
        return Bounding(self.robot.tree, self._geometry.geometryObjects)

    def at_least(self, q: Array) -> Array:
        """So far apart is every pair at least, at every posture q (T, n): (T, P) [m]; by balls around the shapes."""
        return self._bounding.apart(q, *self._shapes)

    def distances(self, q: Array, below: Array | float = np.inf) -> Array:
        """Of every pair at every posture q (T, n) [rad]: (T, P) [m]; negative where they overlap.

        below   [m], (P,): of a pair that is at least so far apart something smaller than its distance is enough, but
                not less than `below`
        """
        found = self.at_least(q)
        wanted = found < below
        for i in np.flatnonzero(wanted.any(axis=1)):
            at = np.flatnonzero(wanted[i])
            found[i, at] = self.distances_at(q[i], at)
        return found

    def distances_at(self, posture: Array, pairs: Ints) -> Array:
        """Of some pairs (m,) at one posture (n,), (m,) [m]."""
        return np.array([result.min_distance for result in self._results(posture, pairs)])

    def _results(self, posture: Array, pairs: Ints) -> list[coal.DistanceResult]:
        geometry, data = self._geometry, self._geometry_data
        pin.updateGeometryPlacements(self._model, self._data, geometry, data, posture)
        return [pin.computeDistance(geometry, data, k) for k in pairs.tolist()]

    def closest(self, q: Array) -> tuple[Array, Approach]:
        """The distance of the closest pair at each posture q (T, n), (T,) [m], and the closest of all."""
        if not self.pairs:
            return np.full(len(q), np.inf), Approach("the arm", "nothing", np.inf)
        bound = self.at_least(q)
        best, of = np.empty(len(q)), np.empty(len(q), dtype=np.int64)
        for i, posture in enumerate(q):
            first = bound[i].argmin(keepdims=True)
            near = np.flatnonzero(bound[i] <= self.distances_at(posture, first)[0])
            found = self.distances_at(posture, near)
            best[i], of[i] = found.min(), near[found.argmin()]
        i = int(best.argmin())
        return best, Approach(*self.pairs[int(of[i])], float(best[i]))

    def near(self, q: Array, margin: float) -> tuple[Ints, Ints, Array, Array]:
        """Pairs closer than what they keep and `margin` [m] along q (T, n): samples (m,), pairs (m,), distances (m,),
        and their derivatives by the joints at that sample (m, n)."""
        samples: list[int] = []
        pairs: list[int] = []
        distances: list[float] = []
        touching: list[Array] = []
        wanted = self.at_least(q) < self.wanted + margin
        for i in np.flatnonzero(wanted.any(axis=1)).tolist():
            at = np.flatnonzero(wanted[i])
            for k, one in zip(at.tolist(), self._results(q[i], at), strict=True):
                if one.min_distance < self.wanted[k] + margin:
                    samples.append(i)
                    pairs.append(k)
                    distances.append(one.min_distance)
                    touching.append(np.array([one.normal, one.getNearestPoint1(), one.getNearestPoint2()]))
        at, pair = np.array(samples, dtype=np.int64), np.array(pairs, dtype=np.int64)
        normal, first, second = np.array(touching).reshape(-1, 3, 3).transpose(1, 0, 2)
        axes, origins = self._axes(q)
        # normal . (velocity of the second's nearest point - of the first's)
        slopes = self._along(second, normal, axes[at], origins[at]) * self._movers[pair, 1]
        slopes -= self._along(first, normal, axes[at], origins[at]) * self._movers[pair, 0]
        return at, pair, np.array(distances), slopes

    def _along(self, point: Array, normal: Array, axes: Array, origins: Array) -> Array:
        """Velocities of points (m, 3) along `normal` by those of all joints, (m, n)."""
        turning = np.cross(point[:, None] - origins, normal[:, None])
        by_joint = np.where(self.robot.tree.prismatic[:, None], normal[:, None], turning)
        return np.asarray((axes * by_joint).sum(axis=2))

    def _axes(self, q: Array) -> tuple[Array, Array]:
        """Axes and origins of the joints in the base's frame along q (T, n), each (T, n, 3)."""
        tree = self.robot.tree
        rotation, position = link_poses(tree, q)
        inside = np.linalg.inv(tree.link_in_joint[: len(tree)])
        axis = (inside[:, :3, :3] @ tree.axis[:, :, None])[:, None]
        axes = (rotation[1:] @ axis)[..., 0]
        origins = position[1:] + (rotation[1:] @ inside[:, None, :3, 3, None])[..., 0]
        return axes.transpose(1, 0, 2), origins.transpose(1, 0, 2)

    @cached_property
    def _movers(self) -> Array:
        """1 where a joint moves the first and the second part of a pair, (P, 2, n)."""
        links = self.robot.links[: len(self.robot.joints)]
        still = np.zeros(len(links))
        return np.array(
            [
                [self._moves[links.index(one)] if one in links else still for one in pair]
                for pair in self.pairs
            ]
        )

    @cached_property
    def _moves(self) -> Array:
        """1 where a joint moves a link, (links, joints)."""
        n = len(self.robot.joints)
        return np.array([[float(j in self.robot.tree.support(i)) for j in range(n)] for i in range(n)])

    # ------------------------------------------------------------------ reach
    @cached_property
    def reach(self) -> Array:
        """How far a point of the arm moves at most when a joint turns by 1 rad (moves by 1 m), shape (n,) [m]."""
        tree, n = self.robot.tree, len(self.robot.joints)
        size = np.zeros(n)
        links = self.robot.links[:n]
        for shape, part in zip(self._geometry.geometryObjects, self._parts, strict=True):
            if part in links:
                shape.geometry.computeLocalAABB()
                far = float(np.linalg.norm(shape.placement.translation)) + float(shape.geometry.aabb_radius)
                far += float(np.linalg.norm(np.array(shape.geometry.aabb_center)))
                k = links.index(part)
                size[k] = max(size[k], far)
        steps = np.linalg.norm((tree.joint_in_parent)[:, :3, 3], axis=1)
        steps += np.array(
            [0.0 if p < 0 else np.linalg.norm(tree.link_in_joint[p][:3, 3]) for p in tree.parents]
        )
        limits = self.robot.limits
        assert limits is not None
        travel = np.abs(limits.position).max(axis=1)
        steps = steps + np.where(tree.prismatic & np.isfinite(travel), travel, 0.0)
        reach = np.zeros(n)
        for i in range(n):
            path, length = tree.support(i), size[i]
            for j in reversed(path):
                reach[j] = max(reach[j], 1.0 if tree.prismatic[j] else length)
                length += steps[j]
        return reach

    @cached_property
    def ways(self) -> Array:
        """How far the parts of a pair move towards each other at most when a joint turns by 1 rad, (n, P) [m]."""
        apart = self._movers[:, 0] != self._movers[:, 1]
        return np.asarray((apart * self.reach).T)

    def flange(self, q: Array) -> tuple[Array, Array]:
        """Positions of the flange (the last link's frame where there is none) along q (T, n): (T, 3), and their
        derivatives by the joints (T, 3, n)."""
        robot = self.robot
        name, place = (
            (robot.links[len(robot.joints) - 1], np.eye(4))
            if robot.flange is None
            else robot.frames[robot.flange]
        )
        link = robot.links.index(name)
        rotation, position = link_poses(robot.tree, q)
        points = position[link + 1] + rotation[link + 1] @ place[:3, 3]
        axes, origins = self._axes(q)
        slopes = np.empty((len(q), 3, q.shape[1]))
        for k, direction in enumerate(np.eye(3)):
            slopes[:, k] = self._along(points, direction[None], axes, origins) * self._moves[link]
        return points, slopes
