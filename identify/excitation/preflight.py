"""Checks of a whole motion that need the robot's model: collision and workspace.

Handed to `heft.daq` beside those of position, velocity and acceleration, for motions from anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from heft.daq.errors import CheckError, Violation
from heft.daq.trajectory.checks import Check
from heft.daq.trajectory.trajectory import Trajectory
from heft.identify.bodies.arrays import Array
from heft.identify.excitation.scene import MOUNTING_PLANE, Scene
from heft.identify.robot.regressor.row_layout import Ints

__all__ = ["collision_check", "looked_at", "nearest", "workspace_check"]

LONGEST = 512  # samples between two looks at a pair at most
CHUNK = 1024  # samples whose balls are placed at a time
LEAST_STEP = 0.002  # [m] of way between two looks where the arm is as close as it may be
ENOUGH = 0.1  # [m] of room between balls around shapes: then the shapes themselves are not looked at

#: Samples, pairs, and distances [m] of looks, each (m,).
Looks = tuple[Ints, Ints, Array]


def looked_at(scene: Scene, q: Array) -> Looks:
    """Looks along a motion (T, n) [rad] at which pairs are near; what is between two looks is clear as well.

    From a look at distance d on, a pair can have come closer than what it keeps only when its points have moved by the
    difference: sum of |change of joint| times `Scene.reach`, over the joints that move one of the two and not the
    other. So the next look at it is where it may have moved by half of it. A pair whose balls are ENOUGH apart is not
    told: the balls say how long it is clear.
    """
    looks = list(_walk(scene, q, lambda pairs, distance: 0.5 * (distance - scene.wanted[pairs])))
    if not looks:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
    samples, pairs, distances = (np.concatenate(parts) for parts in zip(*looks, strict=True))
    return samples, pairs, distances


def nearest(scene: Scene, q: Array, pairs: Ints) -> tuple[float, tuple[str, str] | None]:
    """The smallest distance [m] among some pairs (m,) along a motion (T, n), and the parts it is between.

    Good to LEAST_STEP, as what is between two looks at a pair can be nearer by no more.
    """
    best, of = np.inf, None

    def until_nearer(_: Ints, distance: Array) -> Array:
        return distance - best

    for _, at, distances in _walk(scene, q, until_nearer, pairs):
        if len(distances) and distances.min() < best:
            best, of = float(distances.min()), scene.pairs[at[distances.argmin()]]
    return best, of


def _walk(
    scene: Scene, q: Array, room: Callable[[Ints, Array], Array], pairs: Ints | None = None
) -> Iterator[Looks]:
    """Looks sample by sample; `room(pairs, distances)` (m,) [m] is the way that pairs may then move unseen."""
    every = np.arange(len(scene.pairs)) if pairs is None else pairs
    way = np.vstack([np.zeros(q.shape[1]), np.cumsum(np.abs(np.diff(q, axis=0)), axis=0)])
    due: dict[int, list[Ints]] = {0: [every]} if len(every) else {}
    balls, begin = np.zeros((0, len(scene.pairs))), 0
    while due:
        i = min(due)
        pairs = np.concatenate(due.pop(i))
        if i >= begin + len(balls):
            begin, balls = i, scene.at_least(q[i : i + CHUNK])
        distances = balls[i - begin, pairs]
        close = np.flatnonzero(~(room(pairs, distances) > ENOUGH))
        distances[close] = scene.distances_at(q[i], pairs[close])
        yield np.full(len(close), i), pairs[close], distances[close]
        if i == len(q) - 1:
            continue
        allowed = np.maximum(room(pairs, distances), LEAST_STEP)
        next_ones = _leaving(way, i, scene.ways[:, pairs], allowed)
        for j in np.unique(next_ones).tolist():
            due.setdefault(j, []).append(pairs[next_ones == j])


def _leaving(way: Array, i: int, ways: Array, allowed: Array) -> Ints:
    """By pair the first sample after i at which it may have moved more than `allowed` (m,) since i.

    At most LONGEST on, at most the last one. way  of the joints up to each sample (T, n); ways  by joint (n, m) [m]
    """
    last = min(i + LONGEST, len(way) - 1)
    low, high = np.full(len(allowed), i), np.full(len(allowed), last)  # moved by less at `low`, or it is i
    while np.any(high - low > 1):
        middle = (low + high) // 2
        moved = np.einsum("mn,nm->m", way[middle] - way[i], ways)
        beyond = moved > allowed
        high, low = np.where(beyond, middle, high), np.where(beyond, low, middle)
    return high


def collision_check(scene: Scene) -> Check:
    """That every pair of parts keeps its distance."""

    def collision(trajectory: Trajectory) -> None:
        samples, pairs, distances = looked_at(scene, trajectory.position)
        lacking = scene.wanted[pairs] - distances
        violations, lines = [], []
        told: set[tuple[str, str]] = set()
        for k in np.argsort(-lacking, kind="stable"):
            pair = scene.pairs[pairs[k]]
            if lacking[k] <= 1e-9:
                break
            if pair in told:
                continue
            told.add(pair)
            time_s = float(trajectory.time_s[samples[k]])
            distance, bound = float(distances[k]), float(scene.wanted[pairs[k]])
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
