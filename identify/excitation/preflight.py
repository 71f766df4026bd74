"""Checks of a whole motion that need the robot's model: collision and workspace.

Handed to `heft.daq` beside those of position, velocity and acceleration, for motions from anywhere.
"""

from __future__ import annotations

import numpy as np

from heft.daq.errors import CheckError, Violation
from heft.daq.trajectory.checks import Check
from heft.daq.trajectory.trajectory import Trajectory
from heft.identify.bodies.arrays import Array
from heft.identify.excitation.scene import MOUNTING_PLANE, Scene

__all__ = ["collision_check", "looked_at", "workspace_check"]

LONGEST = 500  # samples between two looks at most
LEAST_STEP = 0.002  # [m] of way between two looks where the arm is as close as it may be


def looked_at(scene: Scene, q: Array) -> tuple[Array, Array]:
    """Samples of a motion (T, n) [rad] at which distances are looked at (m,), and these (m, P) [m].

    From a look at distance d on, no pair can have come closer than what it keeps before its points have moved by the
    difference: sum of |change of joint| times `Scene.reach`, over the joints that move one of the two and not the
    other. So the next look is where some pair may have moved by half of it, and what is between two looks is clear as
    well, by the length of the way.
    """
    way = np.concatenate(
        [np.zeros((1, len(scene.pairs))), np.cumsum(np.abs(np.diff(q, axis=0)) @ scene.ways, axis=0)]
    )
    samples: list[int] = []
    found: list[Array] = []
    i = 0
    while i < len(q):
        distances = scene.distances(q[i : i + 1])[0]
        samples.append(i)
        found.append(distances)
        allowed = way[i] + np.maximum(0.5 * (distances - scene.wanted), LEAST_STEP)
        beyond = np.any(way[i + 1 : i + 1 + LONGEST] > allowed, axis=1)
        step = 1 + int(beyond.argmax()) if beyond.any() else LONGEST
        i = min(i + step, len(q) - 1) if i < len(q) - 1 else len(q)
    return np.array(samples, dtype=np.int64), np.array(found).reshape(len(samples), -1)


def collision_check(scene: Scene) -> Check:
    """That every pair of parts keeps its distance."""

    def collision(trajectory: Trajectory) -> None:
        samples, distances = looked_at(scene, trajectory.position)
        lacking = scene.wanted - distances
        violations, lines = [], []
        told: set[tuple[str, str]] = set()
        if not lacking.size:
            return
        for k in np.argsort(-lacking.max(axis=0)):
            i = int(lacking[:, k].argmax())
            pair = scene.pairs[k]
            if lacking[i, k] <= 1e-9 or pair in told:
                continue
            told.add(pair)
            time_s = float(trajectory.time_s[samples[i]])
            distance, bound = float(distances[i, k]), float(scene.wanted[k])
            what = f"{pair[0]} and {pair[1]}"
            violations.append(Violation(what, "distance", time_s, distance, bound))
            closeness = f"{distance:.4f} m apart" if distance > 0 else f"overlap by {-distance:.4f} m"
            lines.append(f"{what}: {closeness} at {time_s:.3f} s, bound {bound:.3g} m; {_remedy(pair)}")
        if lines:
            raise CheckError("\n".join(lines), violations)

    return collision


def _remedy(pair: tuple[str, str]) -> str:
    if MOUNTING_PLANE in pair:
        return (
            "design a motion that stays above it (heft design), or say where the plane is (scene.mounting.height, "
            "or plane: false)"
        )
    return "design a motion that keeps clear (heft design), or correct the scene"


def workspace_check(scene: Scene) -> Check:
    """That the flange stays in its box."""

    def workspace(trajectory: Trajectory) -> None:
        if scene.workspace is None:
            return
        step = max(1, len(trajectory) // 2000)
        points, _ = scene.flange(trajectory.position[::step])
        low, high = (np.array(corner) for corner in scene.workspace)
        beyond = np.maximum(points - high, low - points)
        violations, lines = [], []
        for k in np.flatnonzero(beyond.max(axis=0) > 0.0):
            i = int(beyond[:, k].argmax())
            bound = float(high[k] if points[i, k] > high[k] else low[k])
            time_s = float(trajectory.time_s[i * step])
            violations.append(
                Violation(f"flange {'xyz'[k]}", "workspace", time_s, float(points[i, k]), bound)
            )
            lines.append(
                f"the flange at {'xyz'[k]} = {points[i, k]:.4f} m at {time_s:.3f} s, bound {bound:g} m (workspace); "
                "design a motion that stays inside, or widen the box"
            )
        if lines:
            raise CheckError("\n".join(lines), violations)

    return workspace
