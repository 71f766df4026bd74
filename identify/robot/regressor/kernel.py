"""The regressor for many samples, compiled.

Sixty-four samples at a time stand side by side (LANES), so that every operation is on 64 doubles in a row.
Each link's frame moves with velocity (omega, v) and acceleration (alpha, a), in its own coordinates; gravity
is an acceleration of the base. What a link adds to the torque of a joint, and to the wrench at a cut (see `cut`),
is `heft.identify.bodies.screw_entries`. Arrays are flat and LANES is constant, so that the compiler sees that rows do
not overlap.
"""

from __future__ import annotations

import numpy as np

from heft.identify.bodies import screw_entries
from heft.identify.bodies.arrays import Array
from heft.identify.bodies.compiled import compiled
from heft.identify.bodies.screw_entries import LANES, joint_entries, wrench_entries
from heft.identify.robot.regressor.row_layout import CARRIED, OWN, Ints

__all__ = ["Chain", "Shape", "decimate", "link_motion", "link_rotation"]

Chain = tuple[Ints, Array, Array, Array]  # parents, coefficients, screws, gravity: see `Tree`
# pairs, their starts, passed, their starts, roots, cut_poses: see `RowLayout`
Places = tuple[Ints, Ints, Ints, Ints, Ints, Array]
Shape = tuple[Places, Ints, Array, Ints]  # and terms, weights, row_starts
# Inlined, each into its callers: of a function that stands in several compiled modules one copy runs, and which one
# depends on whether they come from the cache; copies may round differently.
_compiled = compiled(
    inlined=(screw_entries.__file__,), fastmath={"contract", "reassoc", "nsz"}, forceinline=True
)


@_compiled
def _carry(place: Array, source: Array, target: Array) -> None:
    """A motion vector (angular, linear) of the parent's frame in the link's frame: R' w, R' (l + w x p)."""
    for n in range(LANES):
        w0, w1, w2 = source[n], source[LANES + n], source[2 * LANES + n]
        p0, p1, p2 = place[9 * LANES + n], place[10 * LANES + n], place[11 * LANES + n]
        l0 = source[3 * LANES + n] + w1 * p2 - w2 * p1
        l1 = source[4 * LANES + n] + w2 * p0 - w0 * p2
        l2 = source[5 * LANES + n] + w0 * p1 - w1 * p0
        r0, r1, r2 = place[n], place[LANES + n], place[2 * LANES + n]
        r3, r4, r5 = place[3 * LANES + n], place[4 * LANES + n], place[5 * LANES + n]
        r6, r7, r8 = place[6 * LANES + n], place[7 * LANES + n], place[8 * LANES + n]
        target[n] = r0 * w0 + r3 * w1 + r6 * w2
        target[LANES + n] = r1 * w0 + r4 * w1 + r7 * w2
        target[2 * LANES + n] = r2 * w0 + r5 * w1 + r8 * w2
        target[3 * LANES + n] = r0 * l0 + r3 * l1 + r6 * l2
        target[4 * LANES + n] = r1 * l0 + r4 * l1 + r7 * l2
        target[5 * LANES + n] = r2 * l0 + r5 * l1 + r8 * l2


@_compiled
def _place(k: Array, c: Array, s: Array, place: Array) -> None:
    """Pose in the parent, 12 rows: K0 + c K1 + s K2."""
    for r in range(12):
        k0, k1, k2 = k[0, r], k[1, r], k[2, r]
        row = place[r * LANES : (r + 1) * LANES]
        for n in range(LANES):
            row[n] = k0 + k1 * c[n] + k2 * s[n]


@_compiled
def _base(place: Array, gravity: Array, motion: Array) -> None:
    """Motion of a base that rests, and is accelerated against gravity, as a link's frame sees it."""
    motion[: 9 * LANES] = 0.0
    g0, g1, g2 = gravity
    for n in range(LANES):
        motion[9 * LANES + n] = -(place[n] * g0 + place[3 * LANES + n] * g1 + place[6 * LANES + n] * g2)
        motion[10 * LANES + n] = -(
            place[LANES + n] * g0 + place[4 * LANES + n] * g1 + place[7 * LANES + n] * g2
        )
        motion[11 * LANES + n] = -(
            place[2 * LANES + n] * g0 + place[5 * LANES + n] * g1 + place[8 * LANES + n] * g2
        )


@_compiled
def _joint(screw: Array, dq: Array, ddq: Array, motion: Array) -> None:
    """Add the joint's own motion: S dq to the velocity, S ddq + V x S dq to the acceleration."""
    s0, s1, s2, s3, s4, s5 = screw
    for n in range(LANES):
        v, a = dq[n], ddq[n]
        w0, w1, w2 = motion[n] + s0 * v, motion[LANES + n] + s1 * v, motion[2 * LANES + n] + s2 * v
        v0 = motion[3 * LANES + n] + s3 * v
        v1 = motion[4 * LANES + n] + s4 * v
        v2 = motion[5 * LANES + n] + s5 * v
        motion[n], motion[LANES + n], motion[2 * LANES + n] = w0, w1, w2
        motion[3 * LANES + n], motion[4 * LANES + n], motion[5 * LANES + n] = v0, v1, v2
        motion[6 * LANES + n] += s0 * a + (w1 * s2 - w2 * s1) * v
        motion[7 * LANES + n] += s1 * a + (w2 * s0 - w0 * s2) * v
        motion[8 * LANES + n] += s2 * a + (w0 * s1 - w1 * s0) * v
        motion[9 * LANES + n] += s3 * a + (w1 * s5 - w2 * s4 + v1 * s2 - v2 * s1) * v
        motion[10 * LANES + n] += s4 * a + (w2 * s3 - w0 * s5 + v2 * s0 - v0 * s2) * v
        motion[11 * LANES + n] += s5 * a + (w0 * s4 - w1 * s3 + v0 * s1 - v1 * s0) * v


@_compiled
def _body(motion: Array, body: Array) -> None:
    """omega, alpha, and the acceleration of the link's origin, a + omega x v: 9 rows."""
    for n in range(LANES):
        w0, w1, w2 = motion[n], motion[LANES + n], motion[2 * LANES + n]
        v0, v1, v2 = motion[3 * LANES + n], motion[4 * LANES + n], motion[5 * LANES + n]
        body[n], body[LANES + n], body[2 * LANES + n] = w0, w1, w2
        body[3 * LANES + n] = motion[6 * LANES + n]
        body[4 * LANES + n] = motion[7 * LANES + n]
        body[5 * LANES + n] = motion[8 * LANES + n]
        body[6 * LANES + n] = motion[9 * LANES + n] + w1 * v2 - w2 * v1
        body[7 * LANES + n] = motion[10 * LANES + n] + w2 * v0 - w0 * v2
        body[8 * LANES + n] = motion[11 * LANES + n] + w0 * v1 - w1 * v0


@_compiled
def _spread(values: Array, target: Array) -> None:
    """Numbers, each in all lanes of its row."""
    for r in range(len(values)):
        target[r * LANES : (r + 1) * LANES] = values[r]


@_compiled
def _turn(place: Array, source: Array, target: Array) -> None:
    """The rotation in `source`, then that of a pose: products of 3 x 3 matrices by rows."""
    for n in range(LANES):
        r0, r1, r2 = place[n], place[LANES + n], place[2 * LANES + n]
        r3, r4, r5 = place[3 * LANES + n], place[4 * LANES + n], place[5 * LANES + n]
        r6, r7, r8 = place[6 * LANES + n], place[7 * LANES + n], place[8 * LANES + n]
        s0, s1, s2 = source[n], source[LANES + n], source[2 * LANES + n]
        target[n] = s0 * r0 + s1 * r3 + s2 * r6
        target[LANES + n] = s0 * r1 + s1 * r4 + s2 * r7
        target[2 * LANES + n] = s0 * r2 + s1 * r5 + s2 * r8
        s0, s1, s2 = source[3 * LANES + n], source[4 * LANES + n], source[5 * LANES + n]
        target[3 * LANES + n] = s0 * r0 + s1 * r3 + s2 * r6
        target[4 * LANES + n] = s0 * r1 + s1 * r4 + s2 * r7
        target[5 * LANES + n] = s0 * r2 + s1 * r5 + s2 * r8
        s0, s1, s2 = source[6 * LANES + n], source[7 * LANES + n], source[8 * LANES + n]
        target[6 * LANES + n] = s0 * r0 + s1 * r3 + s2 * r6
        target[7 * LANES + n] = s0 * r1 + s1 * r4 + s2 * r7
        target[8 * LANES + n] = s0 * r2 + s1 * r5 + s2 * r8


@_compiled
def _move(place: Array, source: Array, target: Array) -> None:
    """The pose in `source`, then a pose: `_turn`, and R p + q of its position."""
    _turn(place, source, target)
    for n in range(LANES):
        p0, p1, p2 = place[9 * LANES + n], place[10 * LANES + n], place[11 * LANES + n]
        r0, r1, r2 = source[n], source[LANES + n], source[2 * LANES + n]
        r3, r4, r5 = source[3 * LANES + n], source[4 * LANES + n], source[5 * LANES + n]
        r6, r7, r8 = source[6 * LANES + n], source[7 * LANES + n], source[8 * LANES + n]
        target[9 * LANES + n] = source[9 * LANES + n] + r0 * p0 + r1 * p1 + r2 * p2
        target[10 * LANES + n] = source[10 * LANES + n] + r3 * p0 + r4 * p1 + r5 * p2
        target[11 * LANES + n] = source[11 * LANES + n] + r6 * p0 + r7 * p1 + r8 * p2


@_compiled
def _root(base: Array, roots: Ints, cut_poses: Array, motion: Array, pose: Array, rows: Array) -> None:
    """Entries of a free root, whose motion `base` (9 LANES) is given: omega, alpha, acceleration less gravity.

    Its velocity is taken out: seen from a frame that moves along with it, nothing else changes.
    """
    motion[: 3 * LANES] = base[: 3 * LANES]
    motion[3 * LANES : 6 * LANES] = 0.0
    motion[6 * LANES :] = base[3 * LANES :]
    for k in range(len(roots)):
        _spread(cut_poses[roots[k, 0]], pose)
        wrench_entries(base, pose, roots[k, 1:], rows)


@_compiled
def _lanes(
    inputs: Array,
    base: Array,
    tree: Chain,
    places: Places,
    place: Array,
    motion: Array,
    body: Array,
    screw: Array,
    pose: Array,
    rows: Array,
) -> None:
    """Link entries of LANES samples into `rows`; `inputs` (4, n LANES) are c, s, dq, ddq, joint by joint.

    `base` is the motion of a free root, or empty.
    """
    parents, coefficients, screws, gravity = tree
    pairs, starts, passed, firsts, roots, cut_poses = places
    root = np.zeros(12 * LANES if len(base) else 0)
    given = np.zeros(12 * LANES)
    if len(base):
        _root(base, roots, cut_poses, root, given, rows)
    for i in range(len(parents)):
        lane = slice(i * LANES, (i + 1) * LANES)
        here = motion[i * 12 * LANES : (i + 1) * 12 * LANES]
        _place(coefficients[i], inputs[0, lane], inputs[1, lane], place)
        if parents[i] < 0 and len(base):
            _carry(place, root[: 6 * LANES], here[: 6 * LANES])
            _carry(place, root[6 * LANES :], here[6 * LANES :])
        elif parents[i] < 0:
            _base(place, gravity, here)
        else:
            there = motion[parents[i] * 12 * LANES : (parents[i] + 1) * 12 * LANES]
            _carry(place, there[: 6 * LANES], here[: 6 * LANES])
            _carry(place, there[6 * LANES :], here[6 * LANES :])
        _joint(screws[i], inputs[2, lane], inputs[3, lane], here)
        _body(here, body)
        for k in range(firsts[i], firsts[i + 1]):
            at_cut = pose[k * 12 * LANES : (k + 1) * 12 * LANES]
            kind, source = passed[k, 0], passed[k, 1]
            if kind == OWN:
                _spread(cut_poses[source], at_cut)
            elif kind == CARRIED:
                _move(place, pose[source * 12 * LANES : (source + 1) * 12 * LANES], at_cut)
            else:
                _spread(cut_poses[source], given)
                _move(place, given, at_cut)
            if passed[k, 2] >= 0:
                wrench_entries(body, at_cut, passed[k, 2:], rows)
        for k in range(starts[i], starts[i + 1]):
            own = screw[k * 6 * LANES : (k + 1) * 6 * LANES]
            source, column = pairs[k]
            if source < 0:
                _spread(screws[i], own)
            else:
                _carry(place, screw[source * 6 * LANES : (source + 1) * 6 * LANES], own)
            joint_entries(body, own, rows[column * LANES : (column + 10) * LANES])


@_compiled
def _drive_entries(
    signals: Array,
    first: int,
    count: int,
    terms: Ints,
    weights: Array,
    row_starts: Ints,
    prior: Array,
    rows: Array,
) -> None:
    """Drive columns of LANES samples; what lies beyond `count` samples is left zero."""
    for t in range(len(terms)):
        column, signal, joint = terms[t]
        Y = column * LANES
        for n in range(count):
            rows[Y + n] = weights[t] * signals[signal, first + n]
        if joint >= 0:
            for n in range(count):
                load = 0.0
                for k in range(row_starts[joint], row_starts[joint + 1]):
                    load += prior[k] * rows[k * LANES + n]
                rows[Y + n] *= abs(load)


@_compiled
def _fill(source: Array, first: int, count: int, target: Array) -> None:
    """LANES samples of each row of `source` (n, T), side by side; zeros after the last."""
    for i in range(source.shape[0]):
        for n in range(count):
            target[i * LANES + n] = source[i, first + n]
        for n in range(count, LANES):
            target[i * LANES + n] = 0.0


@_compiled
def link_motion(c: Array, s: Array, dq: Array, ddq: Array, tree: Chain, path: Ints, out: Array) -> None:
    """omega, alpha and the acceleration of a link's origin, gravity in it, at T samples: out (9, T).

    `path` are the joints that move the link, from the base outwards.
    """
    _, coefficients, screws, gravity = tree
    inputs = np.zeros((4, dq.shape[0] * LANES))
    place, there, here = np.zeros(12 * LANES), np.zeros(12 * LANES), np.zeros(12 * LANES)
    body = np.zeros(9 * LANES)
    for first in range(0, dq.shape[1], LANES):
        count = min(LANES, dq.shape[1] - first)
        _fill(c, first, count, inputs[0])
        _fill(s, first, count, inputs[1])
        _fill(dq, first, count, inputs[2])
        _fill(ddq, first, count, inputs[3])
        for k in range(len(path)):
            lane = slice(path[k] * LANES, (path[k] + 1) * LANES)
            _place(coefficients[path[k]], inputs[0, lane], inputs[1, lane], place)
            if k == 0:
                _base(place, gravity, here)
            else:
                there[:] = here
                _carry(place, there[: 6 * LANES], here[: 6 * LANES])
                _carry(place, there[6 * LANES :], here[6 * LANES :])
            _joint(screws[path[k]], inputs[2, lane], inputs[3, lane], here)
        _body(here, body)
        for r in range(9):
            for n in range(count):
                out[r, first + n] = body[r * LANES + n]


@_compiled
def link_rotation(c: Array, s: Array, coefficients: Array, path: Ints, out: Array) -> None:
    """Rotation of a link to the base's frame at T samples, by rows: out (9, T). `path` as in `link_motion`."""
    inputs = np.zeros((2, c.shape[0] * LANES))
    place, there, here = np.zeros(12 * LANES), np.zeros(9 * LANES), np.zeros(9 * LANES)
    for first in range(0, c.shape[1], LANES):
        count = min(LANES, c.shape[1] - first)
        _fill(c, first, count, inputs[0])
        _fill(s, first, count, inputs[1])
        for k in range(len(path)):
            lane = slice(path[k] * LANES, (path[k] + 1) * LANES)
            _place(coefficients[path[k]], inputs[0, lane], inputs[1, lane], place)
            if k == 0:
                here[:] = place[: 9 * LANES]
            else:
                there[:] = here
                _turn(place, there, here)
        for r in range(9):
            for n in range(count):
                out[r, first + n] = here[r * LANES + n]


@_compiled
def _filter(window: Array, outputs: int, rows: Array, out: Array) -> None:
    """out[k, column] += window[k] . rows[column], both LANES long.

    Four k of two columns at a time, which share what they read; what is left over one by one.
    """
    whole, even = outputs // 4 * 4, out.shape[1] // 2 * 2
    for column in range(0, even, 2):
        y, z = rows[column * LANES : (column + 1) * LANES], rows[(column + 1) * LANES : (column + 2) * LANES]
        for k in range(0, whole, 4):
            h0, h1 = window[k * LANES : (k + 1) * LANES], window[(k + 1) * LANES : (k + 2) * LANES]
            h2, h3 = window[(k + 2) * LANES : (k + 3) * LANES], window[(k + 3) * LANES : (k + 4) * LANES]
            y0, y1, y2, y3, z0, z1, z2, z3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for i in range(LANES):
                y0 += h0[i] * y[i]
                y1 += h1[i] * y[i]
                y2 += h2[i] * y[i]
                y3 += h3[i] * y[i]
                z0 += h0[i] * z[i]
                z1 += h1[i] * z[i]
                z2 += h2[i] * z[i]
                z3 += h3[i] * z[i]
            out[k, column] += y0
            out[k + 1, column] += y1
            out[k + 2, column] += y2
            out[k + 3, column] += y3
            out[k, column + 1] += z0
            out[k + 1, column + 1] += z1
            out[k + 2, column + 1] += z2
            out[k + 3, column + 1] += z3
    for column in range(out.shape[1]):
        y = rows[column * LANES : (column + 1) * LANES]
        for k in range(whole if column < even else 0, outputs):
            h = window[k * LANES : (k + 1) * LANES]
            total = 0.0
            for i in range(LANES):
                total += h[i] * y[i]
            out[k, column] += total


@_compiled
def _pick(gain: float, start: int, step: int, rows: Array, out: Array) -> None:
    """out[k, column] += gain rows[column] at lane `start` + k `step`: what `_filter` does for a single tap."""
    for k in range(out.shape[0]):
        lane = start + k * step
        for column in range(out.shape[1]):
            out[k, column] += gain * rows[column * LANES + lane]


@_compiled
def decimate(
    c: Array,
    s: Array,
    dq: Array,
    ddq: Array,
    base: Array,
    measured: Array,
    signals: Array,
    tree: Chain,
    layout: Shape,
    prior: Array,
    taps: Array,
    step: int,
    origin: int,
    out: Array,
) -> None:
    """Rows, low-passed and decimated: out[k] += sum_i taps[i] rows[k step + origin + i], shape (K, C).

    Sample numbers count from the first input sample and may be negative: what lies outside the input adds
    nothing, so that consecutive stretches of a recording can be added one after the other. `base` (9, T) is the
    motion of a free root, (0, T) where the base is fixed; `measured` (rows, T) what the rows are to explain.
    """
    places, terms, weights, row_starts = layout
    n, length, width = len(tree[0]), dq.shape[1], out.shape[1]  # links, and parts of them that nothing moves
    inputs, root = np.zeros((4, n * LANES)), np.zeros(base.shape[0] * LANES)
    place, motion, body = np.zeros(12 * LANES), np.zeros(n * 12 * LANES), np.zeros(9 * LANES)
    screw, pose = np.zeros(len(places[0]) * 6 * LANES), np.zeros(len(places[2]) * 12 * LANES)
    rows = np.zeros(width * LANES)
    window = np.zeros(((LANES + len(taps)) // step + 2) * LANES)
    for first in range(0, length, LANES):
        count = min(LANES, length - first)
        low = max(0, -((-(first - origin - len(taps) + 1)) // step))
        high = min(len(out) - 1, (first + count - 1 - origin) // step)
        if high < low:
            continue
        _fill(c, first, count, inputs[0])
        _fill(s, first, count, inputs[1])
        _fill(dq, first, count, inputs[2])
        _fill(ddq, first, count, inputs[3])
        _fill(base, first, count, root)
        _lanes(inputs, root, tree, places, place, motion, body, screw, pose, rows)
        _drive_entries(signals, first, count, terms, weights, row_starts, prior, rows)
        for j in range(len(row_starts) - 1):
            column = row_starts[j + 1] - 1
            for k in range(count):
                rows[column * LANES + k] = measured[j, first + k]
        outputs = high - low + 1
        if len(taps) == 1:
            _pick(taps[0], low * step + origin - first, step, rows, out[low : high + 1])
            continue
        for k in range(outputs):
            start = (low + k) * step + origin
            for i in range(LANES):
                tap = first + i - start
                window[k * LANES + i] = taps[tap] if i < count and 0 <= tap < len(taps) else 0.0
        _filter(window, outputs, rows, out[low : high + 1])
