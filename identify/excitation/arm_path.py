"""The arm along its path among what stands around it, drawn from one side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from heft.daq.config.scene import MountingConfig, ObstacleConfig
from heft.identify.bodies.arrays import Array
from heft.identify.excitation.design import Design
from heft.identify.excitation.scene import MOUNTING_PLANE
from heft.identify.result.report.markup import section, text

__all__ = ["arm_section"]

POINTS, POSES = 400, 24
TURN, TILT = -0.6, 0.35  # about the vertical, and towards the eye [rad]
SIZE = 600
ROUND = 25  # points of a circle
SIDE_M = 0.5  # of what is drawn of a plane, at least


def arm_section(made: Design) -> str:
    """A part of the page: the arm in some postures, the way of its flange, obstacles and the mounting plane."""
    robot, q = made.request.robot, made.motion[0]
    limbs, carrier = _limbs(made), _flange_link(made)
    skeletons = []
    for i in np.linspace(0, len(q) - 1, POSES).astype(int):
        poses = robot.tree.poses(q[i])
        joints = np.vstack([np.zeros((1, 3)), poses[:, :3, 3]])
        for limb in limbs:
            tip = [_tip(made, poses)] if limb[-1] == carrier else []
            skeletons.append(np.vstack([joints[np.array(limb) + 1], *tip]))
    path = np.array([_tip(made, robot.tree.poses(row)) for row in q[:: max(1, len(q) // POINTS)]])
    arm = np.vstack([*skeletons, path])
    lines = [(line, "floor") for line in _floor(made, arm)]
    lines += [(line, "prior") for one in made.request.scene.obstacles.values() for line in _edges(one, arm)]
    lines += [(line, "bone") for line in skeletons]
    lines.append((path, "way"))
    drawn = "".join(_polyline(points, kind) for points, kind in _flat(lines))
    names = ", ".join(made.request.scene.obstacles)
    around = f"; dashed: {names}" if names else ""
    return section(
        "arm",
        "The arm along its path",
        f'<figure class="arm" role="img" aria-label="The arm in {POSES} postures along its path, and the way of its '
        f'flange"><svg viewBox="0 0 {SIZE} {SIZE}" aria-hidden="true">{drawn}</svg>'
        f"<figcaption>{POSES} postures and the way of the flange{text(around)}</figcaption></figure>",
    )


def _flat(lines: Sequence[tuple[Array, str]]) -> list[tuple[Array, str]]:
    """Lines as the eye sees them, in the drawing's own coordinates."""
    side = np.array([np.cos(TURN), np.sin(TURN), 0.0])
    up = np.array([np.sin(TILT) * np.sin(TURN), -np.sin(TILT) * np.cos(TURN), np.cos(TILT)])
    seen = [(points @ np.array([side, up]).T, kind) for points, kind in lines]
    everything = np.vstack([points for points, _ in seen])
    low, high = everything.min(axis=0), everything.max(axis=0)
    scale = 0.94 * SIZE / max(float((high - low).max()), 1e-3)
    middle = np.array([SIZE / 2, SIZE / 2])
    return [(middle + (points - (low + high) / 2) * scale * [1, -1], kind) for points, kind in seen]


def _polyline(points: Array, kind: str) -> str:
    style = {
        "bone": 'style="stroke-width:2;opacity:.35"',
        "way": 'stroke="var(--model)" stroke-width="1.5"',
        "prior": 'stroke-width="1.2"',
    }.get(kind, "")
    shown = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline class="{kind}" points="{shown}" fill="none" {style}/>'


def _floor(made: Design, arm: Array) -> list[Array]:
    """The mounting plane as a square below the arm, where it is looked at."""
    if not any(MOUNTING_PLANE in pair for pair in made.request.surroundings.pairs):
        return []
    mounting = made.request.scene.mounting or MountingConfig()
    return [_square(np.array([0.0, 0.0, mounting.height]), np.eye(3), float(np.abs(arm[:, :2]).max()))]


def _edges(one: ObstacleConfig, arm: Array) -> list[Array]:
    """Lines of an obstacle (k, 3) [m]."""
    if one.plane is not None:
        normal = np.array(one.plane.normal) / np.linalg.norm(one.plane.normal)
        place = normal * one.plane.offset / np.linalg.norm(one.plane.normal)
        across = np.linalg.svd(normal[None])[2][1:]
        middle = arm.mean(axis=0)
        about = place + across.T @ (across @ (middle - place))
        return [_square(about, np.vstack([across, normal]).T, SIDE_M)]
    turned, at = pin.rpy.rpyToMatrix(*one.rpy), np.array(one.at)
    return [at + line @ turned.T for line in _own_edges(one)]


def _own_edges(one: ObstacleConfig) -> list[Array]:
    """The same in the obstacle's own frame."""
    if one.box is not None:
        x, y, z = (side / 2 for side in one.box)
        ends = [_square(np.array([0.0, 0.0, h]), np.diag([x, y, 1.0]), 1.0) for h in (-z, z)]
        return [*ends, *(np.array([a, b]) for a, b in zip(*ends, strict=True))]
    angle = np.linspace(0.0, 2.0 * np.pi, ROUND)
    circle = np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle])
    if one.sphere is not None:
        return [one.sphere * np.roll(circle, k, axis=1) for k in range(3)]
    solid = one.capsule or one.cylinder
    assert solid is not None
    ends = [solid.radius * circle + [0.0, 0.0, h] for h in (-solid.length / 2, solid.length / 2)]
    return [*ends, *(np.array([a, b]) for a, b in zip(ends[0][::6], ends[1][::6], strict=True))]


def _square(middle: Array, axes: Array, half: float) -> Array:
    """A closed line (5, 3) across the first two of `axes` (their columns)."""
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]])
    return np.asarray(middle + half * corners @ axes[:, :2].T)


def _limbs(made: Design) -> list[list[int]]:
    """Links one after the other (-1: the base), a limb that branches off begins at the link that it is on."""
    parents = made.request.robot.tree.parents.tolist()
    limbs: list[list[int]] = []
    for link, parent in enumerate(parents):
        if limbs and limbs[-1][-1] == parent:
            limbs[-1].append(link)
        else:
            limbs.append([parent, link])
    return limbs


def _flange_link(made: Design) -> int:
    """The number of the link that the flange is on, else the last."""
    robot = made.request.robot
    return len(robot.tree) - 1 if robot.flange is None else robot.links.index(robot.frames[robot.flange][0])


def _tip(made: Design, poses: Array) -> Array:
    robot = made.request.robot
    if robot.flange is None:
        return np.asarray(poses[-1, :3, 3])
    return np.asarray((poses[_flange_link(made)] @ robot.frames[robot.flange][1])[:3, 3])
