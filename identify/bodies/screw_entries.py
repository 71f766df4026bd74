"""What a rigid body adds to the generalised force of a screw, as entries for its ten numbers: compiled.

The one equation of motion of the regressor: torques of joints and wrenches of six-axis sensors are made of it. A body's
frame turns with omega [rad/s] and alpha [rad/s2], and its origin has the acceleration a less gravity [m/s2], all in its
own coordinates. With (w, l) a unit screw that moves it, angular and linear part, the body's part of that screw's
generalised force is

    m   l . a
    h   (T' l + a x w) . h,   T = [alpha x] + omega omega' - |omega|^2 1
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

__all__ = [
    "BODY",
    "LANES",
    "body_turning",
    "entries_of_wrench",
    "joint_entries",
    "own_wrench",
    "wrench_entries",
]

LANES = 64
BODY = 18  # rows of a body's motion: omega, alpha, a, and T by rows
# Inlined, each into its callers: of a function that stands in several compiled modules one copy runs, and which one
# depends on whether they come from the cache; copies may round differently.
_compiled = compiled(fastmath={"contract", "reassoc", "nsz"}, forceinline=True)


@_compiled
def body_turning(body: Array) -> None:
    """T of a body's motion, from omega and alpha: the last nine of its rows (BODY LANES)."""
    for n in range(LANES):
        o0, o1, o2 = body[n], body[LANES + n], body[2 * LANES + n]
        b0, b1, b2 = body[3 * LANES + n], body[4 * LANES + n], body[5 * LANES + n]
        s0, s1, s2 = o0 * o0, o1 * o1, o2 * o2
        p01, p02, p12 = o0 * o1, o0 * o2, o1 * o2
        body[9 * LANES + n] = -(s1 + s2)
        body[10 * LANES + n] = p01 - b2
        body[11 * LANES + n] = p02 + b1
        body[12 * LANES + n] = p01 + b2
        body[13 * LANES + n] = -(s0 + s2)
        body[14 * LANES + n] = p12 - b0
        body[15 * LANES + n] = p02 - b1
        body[16 * LANES + n] = p12 + b0
        body[17 * LANES + n] = -(s0 + s1)


@_compiled
def joint_entries(body: Array, screw: Array, entries: Array) -> None:
    """The ten entries of one body in the row of any screw."""
    for n in range(LANES):
        o0, o1, o2 = body[n], body[LANES + n], body[2 * LANES + n]
        b0, b1, b2 = body[3 * LANES + n], body[4 * LANES + n], body[5 * LANES + n]
        a0, a1, a2 = body[6 * LANES + n], body[7 * LANES + n], body[8 * LANES + n]
        w0, w1, w2 = screw[n], screw[LANES + n], screw[2 * LANES + n]
        l0, l1, l2 = screw[3 * LANES + n], screw[4 * LANES + n], screw[5 * LANES + n]
        c0, c1, c2 = w1 * o2 - w2 * o1, w2 * o0 - w0 * o2, w0 * o1 - w1 * o0
        entries[n] = l0 * a0 + l1 * a1 + l2 * a2
        entries[LANES + n] = (
            body[9 * LANES + n] * l0
            + body[12 * LANES + n] * l1
            + body[15 * LANES + n] * l2
            + (a1 * w2 - a2 * w1)
        )
        entries[2 * LANES + n] = (
            body[10 * LANES + n] * l0
            + body[13 * LANES + n] * l1
            + body[16 * LANES + n] * l2
            + (a2 * w0 - a0 * w2)
        )
        entries[3 * LANES + n] = (
            body[11 * LANES + n] * l0
            + body[14 * LANES + n] * l1
            + body[17 * LANES + n] * l2
            + (a0 * w1 - a1 * w0)
        )
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
        f0, f1, f2 = f[n], f[LANES + n], f[2 * LANES + n]
        entries[n] = f0 * body[6 * LANES + n] + f1 * body[7 * LANES + n] + f2 * body[8 * LANES + n]
        for k in range(1, FORCE_COLUMNS):
            t0, t1, t2 = body[(8 + k) * LANES + n], body[(11 + k) * LANES + n], body[(14 + k) * LANES + n]
            entries[k * LANES + n] = f0 * t0 + f1 * t1 + f2 * t2


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
def entries_of_wrench(screw: Array, columns: NDArray[np.int64], rows: Array, entries: Array) -> None:
    """The ten entries of one body in the row of a screw, from those in the six rows of the wrench at a cut.

    The screw (6 LANES) is as the cut's frame has it: its generalised force is w . moment + l . force.
    """
    f0 = rows[columns[0] * LANES : (columns[0] + FORCE_COLUMNS) * LANES]
    f1 = rows[columns[1] * LANES : (columns[1] + FORCE_COLUMNS) * LANES]
    f2 = rows[columns[2] * LANES : (columns[2] + FORCE_COLUMNS) * LANES]
    m0 = rows[columns[3] * LANES : (columns[3] + 10) * LANES]
    m1 = rows[columns[4] * LANES : (columns[4] + 10) * LANES]
    m2 = rows[columns[5] * LANES : (columns[5] + 10) * LANES]
    for n in range(LANES):
        w0, w1, w2 = screw[n], screw[LANES + n], screw[2 * LANES + n]
        entries[n] = w0 * m0[n] + w1 * m1[n] + w2 * m2[n]
        entries[LANES + n] = w0 * m0[LANES + n] + w1 * m1[LANES + n] + w2 * m2[LANES + n]
        entries[2 * LANES + n] = w0 * m0[2 * LANES + n] + w1 * m1[2 * LANES + n] + w2 * m2[2 * LANES + n]
        entries[3 * LANES + n] = w0 * m0[3 * LANES + n] + w1 * m1[3 * LANES + n] + w2 * m2[3 * LANES + n]
        entries[4 * LANES + n] = w0 * m0[4 * LANES + n] + w1 * m1[4 * LANES + n] + w2 * m2[4 * LANES + n]
        entries[5 * LANES + n] = w0 * m0[5 * LANES + n] + w1 * m1[5 * LANES + n] + w2 * m2[5 * LANES + n]
        entries[6 * LANES + n] = w0 * m0[6 * LANES + n] + w1 * m1[6 * LANES + n] + w2 * m2[6 * LANES + n]
        entries[7 * LANES + n] = w0 * m0[7 * LANES + n] + w1 * m1[7 * LANES + n] + w2 * m2[7 * LANES + n]
        entries[8 * LANES + n] = w0 * m0[8 * LANES + n] + w1 * m1[8 * LANES + n] + w2 * m2[8 * LANES + n]
        entries[9 * LANES + n] = w0 * m0[9 * LANES + n] + w1 * m1[9 * LANES + n] + w2 * m2[9 * LANES + n]
    for n in range(LANES):
        l0, l1, l2 = screw[3 * LANES + n], screw[4 * LANES + n], screw[5 * LANES + n]
        entries[n] += l0 * f0[n] + l1 * f1[n] + l2 * f2[n]
        entries[LANES + n] += l0 * f0[LANES + n] + l1 * f1[LANES + n] + l2 * f2[LANES + n]
        entries[2 * LANES + n] += l0 * f0[2 * LANES + n] + l1 * f1[2 * LANES + n] + l2 * f2[2 * LANES + n]
        entries[3 * LANES + n] += l0 * f0[3 * LANES + n] + l1 * f1[3 * LANES + n] + l2 * f2[3 * LANES + n]


@_compiled
def own_wrench(motion: Array, out: Array) -> None:
    """Entries of the wrench at the body's own frame, in its axes: `motion` (T, 9) is omega, alpha and a; out (T, 6, 10)."""
    body, pose, rows = np.zeros(BODY * LANES), np.zeros(12 * LANES), np.zeros(42 * LANES)
    for k in range(3):
        pose[4 * k * LANES : (4 * k + 1) * LANES] = 1.0
    columns = np.array([0, 4, 8, 12, 22, 32])
    for first in range(0, len(motion), LANES):
        count = min(LANES, len(motion) - first)
        for r in range(9):
            for n in range(count):
                body[r * LANES + n] = motion[first + n, r]
        body_turning(body)
        wrench_entries(body, pose, columns, rows)
        for k in range(6):
            for c in range(FORCE_COLUMNS if k < 3 else 10):
                for n in range(count):
                    out[first + n, k, c] = rows[(columns[k] + c) * LANES + n]
