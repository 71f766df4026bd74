"""The arm with an ellipsoid per link: the homogeneous ellipsoid that has the link's mass and inertia.

Its half axes are sqrt(5 s_i / m) with s_i the second moments about the centre of mass. Under parallel projection it
shows as an ellipse: with E = R diag(a^2) R' and V the first two rows of the view, the ellipse of V E V'.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heft.identify.bodies import second_moment_about_com
from heft.identify.bodies.arrays import Array
from heft.identify.result import Parameters, Result
from heft.identify.result.report.evidence import Evidence
from heft.identify.result.report.markup import section, text
from heft.identify.result.report.numbers import plain

__all__ = ["Ellipsoid", "Scene", "arm_section", "scene"]

VIEW = (-0.6, 0.35)  # turn about the vertical and tilt [rad]
SIZE = 600  # of the drawing's own coordinates
ROOM = 28  # between names
LETTER = 12  # width


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """Of one link in the base frame: centre [m] (3,), shape matrix E [m2] (3, 3), and whether it could exist."""

    link: str
    kind: str
    centre: Array
    shape: Array
    real: bool


@dataclass(frozen=True, eq=False)
class Scene:
    """What is drawn, in the base frame: the arm as a line through its joints (k, 3), joint axes, ellipsoids."""

    skeleton: tuple[Array, ...]
    axes: Array
    ellipsoids: tuple[Ellipsoid, ...]
    up: Array

    @property
    def middle(self) -> Array:
        """Centre of what is drawn [m]."""
        low, high = self._box
        return (low + high) / 2

    @property
    def radius(self) -> float:
        """Of a ball around the middle that holds everything [m]."""
        low, high = self._box
        return max(float(np.linalg.norm(high - low) / 2), 1e-3)

    @property
    def _box(self) -> tuple[Array, Array]:
        points = [point for line in self.skeleton for point in line]
        for one in self.ellipsoids:
            reach = np.sqrt(np.diag(one.shape))
            points += [one.centre - reach, one.centre + reach]
        return np.min(points, axis=0), np.max(points, axis=0)


def scene(result: Result, posture: Array | None) -> Scene:
    """The arm in a posture; where none is known, at zero or as near to it as the limits allow."""
    robot = result.robot
    assert robot.limits is not None
    if posture is None:
        posture = np.clip(np.zeros(len(robot.joints)), *robot.limits.position.T)
    poses = robot.tree.poses(posture)
    joints = np.array(
        [pose @ np.linalg.inv(link) for pose, link in zip(poses, robot.tree.link_in_joint, strict=True)]
    )
    lines = []
    for i in range(len(robot.joints)):
        parent = int(robot.tree.parents[i])
        start = np.zeros(3) if parent < 0 else joints[parent][:3, 3]
        lines.append(np.array([start, joints[i][:3, 3]]))
        if i not in robot.tree.parents:  # the end of the arm
            ends = [
                (poses[i] @ place)[:3, 3] for link, place in robot.frames.values() if link == robot.links[i]
            ]
            ends.append(poses[i][:3, 3])
            far = max(ends, key=lambda end: float(np.linalg.norm(end - joints[i][:3, 3])))
            lines.append(np.array([joints[i][:3, 3], far]))
    axes = np.array(
        [(joint[:3, 3], joint[:3, :3] @ axis) for joint, axis in zip(joints, robot.tree.axis, strict=True)]
    )
    bodies = robot.link_poses(posture)
    ellipsoids = _ellipsoids(result.parameters, bodies, "model")
    if result.prior is not None:
        ellipsoids += _ellipsoids(Parameters(result.layout, result.prior), bodies, "prior")
    size = np.linalg.norm(robot.gravity)
    up = -robot.gravity / size if size > 0 else np.array([0.0, 0.0, 1.0])
    return Scene(tuple(lines), axes, tuple(ellipsoids), up)


def arm_section(result: Result, evidence: Evidence) -> str:
    """The drawing, which the script lets turn."""
    drawn = scene(result, evidence.motions[0].posture if evidence.motions else None)
    wrong = [one.link for one in drawn.ellipsoids if one.kind == "model" and not one.real]
    intro = (
        "<p>Each link as the solid ellipsoid that weighs and turns as it does. Where the two differ, the data disagree "
        "with what was known before, or do not tell.</p>"
    )
    if wrong:
        intro += (
            f"<p>{text(', '.join(wrong))} could not exist and has no ellipsoid; drawn is the nearest one.</p>"
        )
    before = '<li class="prior">known before (CAD)</li>' if result.prior is not None else ""
    legend = f'<ul class="legend"><li class="model">identified</li>{before}</ul>'
    masses = ", ".join(f"{link.name} {plain(link.mass, 3)} kg" for link in result.parameters.links)
    return section(
        "arm",
        "The arm",
        intro,
        legend,
        f'<figure class="arm" tabindex="0" role="img" aria-label="The arm, an ellipsoid per link: {text(masses)}">'
        f"{_svg(drawn)}<figcaption>drag to turn; keys \u2190 \u2192 \u2191 \u2193</figcaption></figure>",
    )


def _ellipsoids(parameters: Parameters, poses: Array, kind: str) -> list[Ellipsoid]:
    ellipsoids = []
    for link, pose in zip(parameters.links, poses, strict=True):
        if link.mass <= 0:
            continue
        values, vectors = np.linalg.eigh(second_moment_about_com(link.ten))
        turned = pose[:3, :3] @ vectors
        shape = (turned * (5 * np.maximum(values, 0.0) / link.mass)) @ turned.T
        centre = pose[:3, :3] @ link.com + pose[:3, 3]
        ellipsoids.append(Ellipsoid(link.name, kind, centre, shape, bool(values[0] > 0)))
    return ellipsoids


def _svg(drawn: Scene) -> str:
    """The drawing in its first view; elements carry what the script needs to turn them."""
    scale = 0.48 * SIZE / drawn.radius
    turn = _upright(drawn.up)
    view = _view(*VIEW)

    def local(point: Array) -> Array:
        return scale * (turn @ (point - drawn.middle))

    parts = []
    base = local(np.zeros(3))
    ring = [base + 0.12 * scale * np.array([np.cos(a), np.sin(a), 0]) for a in np.linspace(0, 2 * np.pi, 25)]
    parts.append(_line("floor", ring, view))
    parts += [_line("bone", [local(point) for point in line], view) for line in drawn.skeleton]
    for point, axis in drawn.axes:
        reach = 0.035 * drawn.radius * axis
        parts.append(_line("axle", [local(point - reach), local(point + reach)], view))
    bodies = []
    for one in drawn.ellipsoids:
        centre, shape = local(one.centre), scale**2 * (turn @ one.shape @ turn.T)
        bodies.append(_ellipse(one, centre, shape, view))
    labels = _labels([(one.link, local(one.centre)) for one in drawn.ellipsoids if one.kind == "model"], view)
    width = SIZE + 16 + LETTER * max((len(one.link) for one in drawn.ellipsoids), default=0)
    return (
        f'<svg viewBox="{-SIZE / 2:g} {-SIZE / 2:g} {width} {SIZE}" data-size="{SIZE}" data-room="{ROOM}" '
        f'data-turn="{VIEW[0]}" data-tilt="{VIEW[1]}" '
        f'aria-hidden="true">{"".join(parts)}{"".join(bodies)}{labels}</svg>'
    )


def _upright(up: Array) -> Array:
    """A rotation (3, 3) that makes `up` the third axis."""
    side = np.cross([0.0, 1.0, 0.0] if abs(up[1]) < 0.9 else [1.0, 0.0, 0.0], up)
    side /= np.linalg.norm(side)
    return np.array([side, np.cross(up, side), up])


def _view(turn: float, tilt: float) -> Array:
    """Right, down and towards the viewer, as rows (3, 3): turned about the vertical, then seen from above."""
    c, s, ct, st = np.cos(turn), np.sin(turn), np.cos(tilt), np.sin(tilt)
    return np.array([[c, -s, 0.0], [-s * st, -c * st, -ct], [-s * ct, -c * ct, st]])


def _line(kind: str, points: Sequence[Array], view: Array) -> str:
    shown = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in (view @ point for point in points))
    return f'<polyline class="{kind}" points="{shown}" data-points="{_plain(points)}"/>'


def _ellipse(one: Ellipsoid, centre: Array, shape: Array, view: Array) -> str:
    x, y, _ = view @ centre
    flat = view[:2] @ shape @ view[:2].T
    values, vectors = np.linalg.eigh(flat)
    minor, major = np.sqrt(np.maximum(values, 0.25))
    angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
    return (
        f'<ellipse class="{one.kind}" rx="{major:.1f}" ry="{minor:.1f}" '
        f'transform="translate({x:.1f} {y:.1f}) rotate({angle:.1f})" data-centre="{_plain([centre])}" '
        f'data-shape="{_plain([shape[(0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2)]])}"><title>{text(one.link)}</title>'
        "</ellipse>"
    )


def _labels(named: Sequence[tuple[str, Array]], view: Array) -> str:
    """Names in a column at the right, each as high as its link if there is room, with lines to the links."""
    order = sorted(named, key=lambda one: float((view @ one[1])[1]))
    heights = _apart([float((view @ centre)[1]) for _, centre in order])
    return "".join(
        f'<g class="label" data-points="{_plain([centre])}">'
        f'<line class="leader" x1="{(view @ centre)[0]:.1f}" y1="{(view @ centre)[1]:.1f}" x2="{SIZE / 2 - 6:g}" '
        f'y2="{height:.1f}"/><text x="{SIZE / 2:g}" y="{height:.1f}">{text(name)}</text></g>'
        for (name, centre), height in zip(order, heights, strict=True)
    )


def _apart(heights: list[float]) -> list[float]:
    """Increasing heights, moved so that neighbours are ROOM apart and all are in the drawing."""
    placed: list[float] = []
    for height in heights:
        placed.append(max(height, placed[-1] + ROOM if placed else ROOM - SIZE / 2))
    most = SIZE / 2 - ROOM
    return [min(height, most - ROOM * (len(placed) - 1 - i)) for i, height in enumerate(placed)]


def _plain(points: Sequence[Array]) -> str:
    return text(
        json.dumps([[round(float(value), 2) for value in point] for point in points], separators=(",", ":"))
    )
