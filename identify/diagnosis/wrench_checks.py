"""The wrist's wrench against the motion of its own mount: sign and frame.

What hangs on a sensor is pulled with f = m s + b in the sensor's frame, s = p'' - g known from positions, m and b not.
Left free, f = M s + b has M = m Q with Q the rotation from the frame that the file says to the one of the numbers: its
polar decomposition tells Q, and its determinant whether the numbers are those of the reaction.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.least_norm import least_norm
from heft.identify.diagnosis.finding import Finding, Place
from heft.identify.diagnosis.regression import Regression

__all__ = ["check_wrench"]

EXPLAINED = 0.5  # of the force's square, for anything to be said
EVEN = 0.02  # smallest over largest spread of s along its axes, squared
ALIKE = 0.5  # smallest over largest singular value of M: a multiple of a rotation
TURNED_DEG = 8.0
WORLD = 0.3  # of what the sensor's frame leaves, that another frame may leave to be the right one


def check_wrench(rows: Regression) -> list[Finding]:
    """Nothing where no wrench was measured, where the file has no sensor, or where hardly anything hangs on it."""
    robot, wrench = rows.robot, rows.wrench
    if wrench is None or robot.sensor is None:
        return []
    link, place = robot.frames[robot.sensor]
    index = robot.links.index(link)
    motion = robot.regressor.link_motion(index, rows.q.T, rows.dq.T, rows.ddq.T)
    w, dw, a, reach = motion[:3], motion[3:6], motion[6:], place[:3, 3]
    a = a + np.cross(dw, reach, axis=0, axisb=0) + w * (reach @ w) - reach[:, None] * (w * w).sum(axis=0)
    s = (place[:3, :3].T @ a).T
    rotation = robot.regressor.link_rotation(index, rows.q.T) @ place[:3, :3]
    force = wrench[:, :3]
    M, left = _fit(s, force)
    world = np.einsum("kij,kj->ki", rotation, s)
    M_world, left_world = _fit(world, force)
    spread = np.linalg.eigvalsh(np.cov(s.T))
    if left_world < WORLD * left and _rotation_like(M_world):
        return [
            _frame(
                "its forces are those of the base's frame", left, left_world, {"wrench": {"frame": "base"}}
            )
        ]
    if left > 1 - EXPLAINED or spread[0] < EVEN * spread[2] or not _rotation_like(M):
        return []
    found = []
    reaction = float(np.linalg.det(M)) < 0
    u, size, v = np.linalg.svd(-M if reaction else M)
    turn = u @ np.diag([1.0, 1.0, float(np.sign(np.linalg.det(u @ v)))]) @ v
    angle = float(np.degrees(np.arccos(np.clip((np.trace(turn) - 1) / 2, -1.0, 1.0))))
    if reaction:
        found.append(
            Finding(
                "wrench_sign",
                "fatal",
                "wrench",
                f"forces have the opposite sign of what {float(size.mean()):.3g} kg on the sensor need "
                f"(they explain {100 * (1 - left):.1f} % of the force)",
                "payloads come out with negative mass",
                "turn the sign round: the sensor reports the reaction",
                {"wrench": {"reaction": True}},
                310.0,
                Place("wrench", (0, 1, 2)),
            )
        )
    if angle > TURNED_DEG:
        fix = {"wrench": {"rotation": np.round(turn.T, 6).tolist()}}
        text = f"its forces are turned by {angle:.0f} degrees against the frame {robot.sensor} (bound {TURNED_DEG:g})"
        found.append(_frame(text, 1.0, left, fix))
    return found


def _frame(text: str, left: float, then: float, fix: Mapping[str, object]) -> Finding:
    return Finding(
        "wrench_frame",
        "fatal",
        "wrench",
        f"{text}; that explains {100 * (1 - then):.1f} % of the force",
        "weights are taken for another direction: masses and centres of mass come out wrong",
        "state the frame or the rotation of the sensor",
        fix,
        305.0,
        Place("wrench", (0, 1, 2)),
    )


def _fit(s: Array, force: Array) -> tuple[Array, float]:
    """M of force = M s + b, shape (3, 3), and the share of the force's variation that it leaves."""
    S, F = s - s.mean(axis=0), force - force.mean(axis=0)
    X = least_norm(S, F, 1e-6)
    whole = float((F**2).sum())
    return X.T, float(((F - S @ X) ** 2).sum()) / whole if whole > 0 else 1.0


def _rotation_like(M: Array) -> bool:
    size = np.linalg.svd(M, compute_uv=False)
    return bool(size[2] > ALIKE * size[0] > 0)
