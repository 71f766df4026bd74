"""Excitation, from motion alone: axes that hardly move, axes that move in step, motion that is too slow."""

from __future__ import annotations

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.data.motion import held_joints
from heft.identify.diagnosis.finding import Finding, Place, Severity
from heft.identify.diagnosis.log import Log
from heft.identify.diagnosis.plausible import travel_of
from heft.identify.robot import Robot

__all__ = ["check_excitation"]

LITTLE = 0.05  # of the travel of the joint that moves furthest, or [rad]
IN_STEP = 0.99  # correlation of two joints' velocities
SLOW_SHARE = 0.1  # of every joint's velocity limit
INERTIAL = 0.1  # torque of acceleration over that of gravity, of a rod as long as the arm
GRAVITY = 9.81


def check_excitation(log: Log, robot: Robot | None) -> list[Finding]:
    """Nothing of joints that are locked by design is known here: every column counts as a joint."""
    if "q" not in log.tables:
        return []
    travel = travel_of(log)
    found = _unexcited(log, travel, robot)
    speed = _velocities(log)
    if speed is None:
        return found
    return [*found, *_in_step(log, speed, travel), *_slow(log, robot, speed)]


def _unexcited(log: Log, travel: Array, robot: Robot | None) -> list[Finding]:
    still = held_joints(travel)
    slides = (
        np.zeros(log.n, dtype=bool) if robot is None or len(robot.joints) != log.n else robot.tree.prismatic
    )
    turning = travel[~slides]
    widest = float(turning.max()) if len(turning) else float(travel.max(initial=0.0))
    little = ~still & ~slides & (travel < LITTLE * widest)
    found = []
    for rows, severity, word in ((still, "serious", "does not move"), (little, "note", "hardly moves")):
        if rows.any():
            names = [log.joints[j] for j in np.flatnonzero(rows)]
            worst: Severity = "fatal" if rows.all() else severity  # type: ignore[assignment]
            found.append(
                Finding(
                    "unexcited_axis",
                    worst,
                    ", ".join(names),
                    f"{names[0]} {word}: {travel[np.flatnonzero(rows)[0]]:.3g} rad in all, the widest "
                    f"moves {widest:.3g} rad",
                    "its friction, its drive and what only its motion shows cannot be identified",
                    f"move {', '.join(names)} over more of the range, both ways; or lock it in the model",
                    None,
                    90.0 + len(names),
                    Place("q", tuple(int(j) for j in np.flatnonzero(rows)[:3])),
                )
            )
    return found


def _velocities(log: Log) -> Array | None:
    """Velocities of positions over about 50 ms, from rows in order, shape (M, n); None where there are too few."""
    q = log.tables["q"]
    t, first = np.unique(q.t, return_index=True)
    good = np.isfinite(t) & np.isfinite(q.values[first]).all(axis=1)
    t, values = t[good], q.values[first][good]
    if len(t) < 64:
        return None
    size = max(1, round(0.05 / float(np.median(np.diff(t)))))
    size = min(size, len(t) // 20)
    size = max(1, size)
    return np.asarray(np.diff(values[::size], axis=0) / np.diff(t[::size])[:, None])


def _in_step(log: Log, speed: Array, travel: Array) -> list[Finding]:
    """Pairs of joints whose velocities are one a multiple of the other."""
    moves = ~held_joints(travel)
    if moves.sum() < 2:
        return []
    size = np.sqrt((speed**2).mean(axis=0))
    rows = (np.abs(speed) > 0.02 * np.abs(speed).max(axis=0)).any(axis=1)
    unit = speed[rows] / np.where(size > 0, size, 1.0)
    match = np.abs(unit.T @ unit) / max(int(rows.sum()), 1)
    own = np.sqrt(np.outer(np.diag(match), np.diag(match)))
    match = np.divide(match, own, out=np.zeros_like(match), where=own > 0)
    pairs = [
        (float(match[i, j]), i, j)
        for i in range(log.n)
        for j in range(i)
        if moves[i] and moves[j] and match[i, j] > IN_STEP
    ]
    if not pairs:
        return []
    pairs.sort(reverse=True)
    joints = sorted({k for _, i, j in pairs for k in (i, j)})
    names = ", ".join(log.joints[j] for j in joints)
    every = len(joints) == int(moves.sum())
    return [
        Finding(
            "synchronous_axes",
            "serious",
            names,
            f"velocities of {log.joints[pairs[0][2]]} and {log.joints[pairs[0][1]]} correlate by {pairs[0][0]:.4f} "
            f"(bound {IN_STEP})" + (": all joints move in step, a single one-way move" if every else ""),
            "torques of the one cannot be told from those of the other: their inertias and friction are confused",
            "move these joints at different times or frequencies (a Fourier series with a phase of each joint's own)",
            None,
            85.0 + len(joints),
            Place("q", tuple(joints[:3])),
        )
    ]


def _slow(log: Log, robot: Robot | None, speed: Array) -> list[Finding]:
    """Motion without inertia: far below the joints' limits, or with accelerations that gravity hides."""
    top = np.quantile(np.abs(speed), 0.99, axis=0)
    t = log.tables["q"].t
    duration = float(np.nanmax(t) - np.nanmin(t))
    bend = np.diff(speed, axis=0) * len(speed) / max(duration, 1e-9)
    accelerated = float(np.quantile(np.abs(bend), 0.95, axis=0).max()) if len(bend) else 0.0
    share = float("nan")
    if robot is not None and robot.limits is not None and len(robot.joints) == log.n:
        limit = robot.limits.velocity
        told = np.isfinite(limit) & (limit > 0)
        share = float((top[told] / limit[told]).max()) if told.any() else share
    slow = share < SLOW_SHARE if np.isfinite(share) else False
    gentle = accelerated < INERTIAL * GRAVITY
    if not (slow or gentle):
        return []
    said = (
        f"no joint exceeds {100 * share:.2g} % of its velocity limit (bound {100 * SLOW_SHARE:.0f} %)"
        if slow
        else (
            f"accelerations reach {accelerated:.2g} rad/s2, gravity on a lever of 1 m alone is {GRAVITY:g} m/s2 "
            f"(bound {INERTIAL * GRAVITY:.2g} rad/s2)"
        )
    )
    both = (slow and gentle) or accelerated < 0.3 * INERTIAL * GRAVITY
    return [
        Finding(
            "slow_motion",
            "serious" if both else "note",
            "all joints",
            said,
            "gravity and friction can be identified, inertias hardly",
            "move faster; or correct the stamps, if the arm did",
            None,
            75.0,
            Place("q", (int(np.argmax(top)),)),
        )
    ]
