"""The twelve signals that the wrench equations (004, Eq. 8) are made of.

    f = s m + ([w' x] + w w' - |w|^2) mc
    n = -s x mc + ([. w'] + [w x][. w]) I

with s the acceleration of the sensor's origin less gravity, w its angular velocity and w' its derivative, in the
sensor's frame. All sixty entries of A are sums of the three numbers of s, the three of w' and the six of the square
w w'; a filter is linear, so these twelve go through it and the entries are put together afterwards.
"""

from __future__ import annotations

import numpy as np

from identify.arrays import Array, frozen
from identify.errors import ModelError
from identify.robot import Robot

__all__ = ["ENTRIES", "wrench_signals"]

PAIRS = (
    (0, 0),
    (0, 1),
    (1, 1),
    (0, 2),
    (1, 2),
    (2, 2),
)  # of the square and of the inertia: xx xy yy xz yz zz


def wrench_signals(robot: Robot, q: Array, dq: Array, ddq: Array) -> Array:
    """s [m/s2], w' [rad/s2] and w w' [rad2/s2] of the robot's `sensor` frame at joint motions (n, T): (T, 12)."""
    if robot.sensor is None:
        raise ModelError(f"{robot.name}: its file names no `sensor`; wrenches need it")
    link, place = robot.frames[robot.sensor]
    motion = robot.regressor.link_motion(robot.links.index(link), q, dq, ddq)
    turn, reach = place[:3, :3].T, place[:3, 3]
    w, dw, a = motion[:3], motion[3:6], motion[6:]
    a = a + np.cross(dw, reach, axis=0, axisb=0) + w * (reach @ w) - reach[:, None] * (w * w).sum(axis=0)
    w = turn @ w
    square = np.stack([w[i] * w[j] for i, j in PAIRS])
    return np.concatenate([turn @ a, turn @ dw, square]).T


def _entries() -> Array:
    """The entries of A (6, 10), row by row, from the twelve signals: shape (12, 60)."""
    found = np.zeros((12, 6, 10))
    s, dw = np.arange(3), np.arange(3, 6)
    square = np.zeros((3, 3), dtype=np.int64)
    for n, (i, j) in enumerate(PAIRS):
        square[i, j] = square[j, i] = 6 + n
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        found[s[i], i, 0] = 1.0
        # [v x] has v_i at (k, j) and -v_i at (j, k).
        found[dw[i], k, 1 + j], found[dw[i], j, 1 + k] = 1.0, -1.0
        found[s[i], 3 + k, 1 + j], found[s[i], 3 + j, 1 + k] = -1.0, 1.0
        for column in range(3):
            found[square[i, column], i, 1 + column] += 1.0
            found[square[column, column], i, 1 + i] -= 1.0
        for n, (p, r) in enumerate(PAIRS):
            for row, element in {(p, r), (r, p)}:  # I_pr w'_r is part of row p, and the other way round
                if row == i:
                    found[dw[element], 3 + i, 4 + n] += 1.0
                # w x I w: row i has w_j (I w)_k - w_k (I w)_j
                if row == k:
                    found[square[j, element], 3 + i, 4 + n] += 1.0
                if row == j:
                    found[square[k, element], 3 + i, 4 + n] -= 1.0
    return frozen(found.reshape(12, 60))


ENTRIES = _entries()
