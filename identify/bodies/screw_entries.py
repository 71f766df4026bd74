"""What a rigid body adds to the generalised force of a screw, as entries for its ten numbers: compiled.

The one equation of motion of the regressor: torques of joints and wrenches of six-axis sensors are made of it. A body's
frame turns with omega [rad/s] and alpha [rad/s2], and its origin has the acceleration a less gravity [m/s2], all in its
own coordinates. With (w, l) a unit screw that moves it, angular and linear part, the body's part of that screw's
generalised force is

    m   l . a
    h   (l x alpha + omega (omega . l) - |omega|^2 l + a x w) . h
    L   w . L alpha + (w x omega) . L omega

with m, h, L the body's mass, first moment and inertia about its frame. The wrench at a cut, as it acts on what lies
beyond (004, Eq. 8), is that of the six unit screws along and about the axes there: (0, R' e) for a force and
(R' e, R' (e x p)) for a moment, where R and p are the pose of the body at the cut.

Sixty-four samples at a time stand side by side (LANES), so that every operation is on 64 doubles in a row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.compiled import compiled
from heft.identify.bodies.parameters import FORCE_COLUMNS

__all__ = ["LANES", "joint_entries", "own_wrench", "wrench_entries"]

LANES = 64
# Inlined, each into its callers: of a function that stands in several compiled modules one copy runs, and which one
# depends on whether they come from the cache; copies may round differently.
_compiled = compiled(fastmath={"contract", "reassoc", "nsz"}, forceinline=True)


@_compiled
def joint_entries(body: Array, screw: Array, entries: Array) -> None:
    """The ten entries of one body in the row of any screw (see the module's head)."""
    for n in range(LANES):
        o0, o1, o2 = body[n], body[LANES + n], body[2 * LANES + n]
        b0, b1, b2 = body[3 * LANES + n], body[4 * LANES + n], body[5 * LANES + n]
        a0, a1, a2 = body[6 * LANES + n], body[7 * LANES + n], body[8 * LANES + n]
        w0, w1, w2 = screw[n], screw[LANES + n], screw[2 * LANES + n]
        l0, l1, l2 = screw[3 * LANES + n], screw[4 * LANES + n], screw[5 * LANES + n]
        c0, c1, c2 = w1 * o2 - w2 * o1, w2 * o0 - w0 * o2, w0 * o1 - w1 * o0
        along = o0 * l0 + o1 * l1 + o2 * l2
        square = o0 * o0 + o1 * o1 + o2 * o2
        entries[n] = l0 * a0 + l1 * a1 + l2 * a2
        entries[LANES + n] = l1 * b2 - l2 * b1 + o0 * along - square * l0 + a1 * w2 - a2 * w1
        entries[2 * LANES + n] = l2 * b0 - l0 * b2 + o1 * along - square * l1 + a2 * w0 - a0 * w2
        entries[3 * LANES + n] = l0 * b1 - l1 * b0 + o2 * along - square * l2 + a0 * w1 - a1 * w0
        entries[4 * LANES + n] = w0 * b0 + c0 * o0
        entries[5 * LANES + n] = w0 * b1 + w1 * b0 + c0 * o1 + c1 * o0
        entries[6 * LANES + n] = w1 * b1 + c1 * o1
        entries[7 * LANES + n] = w0 * b2 + w2 * b0 + c0 * o2 + c2 * o0
        entries[8 * LANES + n] = w1 * b2 + w2 * b1 + c1 * o2 + c2 * o1
        entries[9 * LANES + n] = w2 * b2 + c2 * o2


@_compiled
def _force(body: Array, f: Array, entries: Array) -> None:
    """The four entries of one body in the row of a force along f: `joint_entries` of the screw (0, f)."""
    for n in range(LANES):
        o0, o1, o2 = body[n], body[LANES + n], body[2 * LANES + n]
        b0, b1, b2 = body[3 * LANES + n], body[4 * LANES + n], body[5 * LANES + n]
        f0, f1, f2 = f[n], f[LANES + n], f[2 * LANES + n]
        along = o0 * f0 + o1 * f1 + o2 * f2
        square = o0 * o0 + o1 * o1 + o2 * o2
        entries[n] = f0 * body[6 * LANES + n] + f1 * body[7 * LANES + n] + f2 * body[8 * LANES + n]
        entries[LANES + n] = f1 * b2 - f2 * b1 + o0 * along - square * f0
        entries[2 * LANES + n] = f2 * b0 - f0 * b2 + o1 * along - square * f1
        entries[3 * LANES + n] = f0 * b1 - f1 * b0 + o2 * along - square * f2


@_compiled
def _moment(
    body: Array, w: Array, ahead: Array, behind: Array, first: Array, second: Array, entries: Array
) -> None:
    """The ten entries of one body in the row of a moment about w, from the rows of the forces along the other axes.

    `joint_entries` of the screw (w, R' (e x p)), whose linear part is ahead of the one and behind of the other force's.
    """
    for n in range(LANES):
        o0, o1, o2 = body[n], body[LANES + n], body[2 * LANES + n]
        b0, b1, b2 = body[3 * LANES + n], body[4 * LANES + n], body[5 * LANES + n]
        a0, a1, a2 = body[6 * LANES + n], body[7 * LANES + n], body[8 * LANES + n]
        w0, w1, w2 = w[n], w[LANES + n], w[2 * LANES + n]
        p, q = ahead[n], behind[n]
        c0, c1, c2 = w1 * o2 - w2 * o1, w2 * o0 - w0 * o2, w0 * o1 - w1 * o0
        entries[n] = p * first[n] - q * second[n]
        entries[LANES + n] = p * first[LANES + n] - q * second[LANES + n] + a1 * w2 - a2 * w1
        entries[2 * LANES + n] = p * first[2 * LANES + n] - q * second[2 * LANES + n] + a2 * w0 - a0 * w2
        entries[3 * LANES + n] = p * first[3 * LANES + n] - q * second[3 * LANES + n] + a0 * w1 - a1 * w0
        entries[4 * LANES + n] = w0 * b0 + c0 * o0
        entries[5 * LANES + n] = w0 * b1 + w1 * b0 + c0 * o1 + c1 * o0
        entries[6 * LANES + n] = w1 * b1 + c1 * o1
        entries[7 * LANES + n] = w0 * b2 + w2 * b0 + c0 * o2 + c2 * o0
        entries[8 * LANES + n] = w1 * b2 + w2 * b1 + c1 * o2 + c2 * o1
        entries[9 * LANES + n] = w2 * b2 + c2 * o2


@_compiled
def wrench_entries(body: Array, pose: Array, columns: NDArray[np.int64], rows: Array) -> None:
    """Entries of one body in the six rows of the wrench at a cut, where the body has this `pose` (12 LANES).

    columns   the first one in each row
    """
    for k in range(3):
        force = rows[columns[k] * LANES : (columns[k] + FORCE_COLUMNS) * LANES]
        _force(body, pose[3 * k * LANES : 3 * (k + 1) * LANES], force)
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        _moment(
            body,
            pose[3 * k * LANES : 3 * (k + 1) * LANES],
            pose[(9 + i) * LANES : (10 + i) * LANES],
            pose[(9 + j) * LANES : (10 + j) * LANES],
            rows[columns[j] * LANES : (columns[j] + FORCE_COLUMNS) * LANES],
            rows[columns[i] * LANES : (columns[i] + FORCE_COLUMNS) * LANES],
            rows[columns[3 + k] * LANES : (columns[3 + k] + 10) * LANES],
        )


@_compiled
def own_wrench(motion: Array, out: Array) -> None:
    """Entries of the wrench at the body's own frame, in its axes: out (T, 6, 10), from omega, alpha and a (T, 9)."""
    body, pose, rows = np.zeros(9 * LANES), np.zeros(12 * LANES), np.zeros(42 * LANES)
    for k in range(3):
        pose[4 * k * LANES : (4 * k + 1) * LANES] = 1.0
    columns = np.array([0, 4, 8, 12, 22, 32])
    for first in range(0, len(motion), LANES):
        count = min(LANES, len(motion) - first)
        for r in range(9):
            for n in range(count):
                body[r * LANES + n] = motion[first + n, r]
        wrench_entries(body, pose, columns, rows)
        for k in range(6):
            for c in range(FORCE_COLUMNS if k < 3 else 10):
                for n in range(count):
                    out[first + n, k, c] = rows[(columns[k] + c) * LANES + n]
