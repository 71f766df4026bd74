"""A look over the data before they are used: sampling, standstill, joints that do not move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.data.bridging import Interval
from heft.identify.data.dataset import Dataset
from heft.identify.data.motion import coarse, held_joints, travel
from heft.identify.data.processing import Processing
from heft.identify.data.sampling import Sampling
from heft.identify.errors import DataError

if TYPE_CHECKING:
    from heft.identify.robot import Robot

__all__ = ["Survey", "still_joints", "survey", "unknown_wrenches"]

REST_SPEED = 0.005  # of a joint's top speed: slower is at rest
REST_S = 0.25  # at least so long
BRIDGED = 0.5  # gaps up to this over the cut-off are bridged, longer ones end a piece
BELIEVED = 0.125  # and up to this the rows there are used
TOP = 0.99  # quantile of a joint's speeds that is its top speed: the rest may be spikes


@dataclass(frozen=True)
class Survey:
    """Sampling, standstill and gaps of one dataset.

    data    the same data, short gaps bridged
    rest    per joint: when it stood still [s]
    still   joints that stand still in all the data: what they seem to move is jitter, shape (n,)
    place   mean position of each joint [rad, m], where the still ones are taken to be, shape (n,)
    gaps    bridges that are too long to be believed: rows there are left out [s]
    travel  range of each joint's positions [rad, m], shape (n,)
    speed   that each joint reaches [rad/s, m/s], shape (n,)
    notes   what to know of these data, with numbers and remedies
    unknown when the wrench of any sensor was not known [s]
    """

    data: Dataset
    sampling: Sampling
    rest: tuple[tuple[Interval, ...], ...]
    still: NDArray[np.bool_]
    place: Array
    gaps: tuple[Interval, ...]
    travel: Array
    speed: Array
    notes: tuple[str, ...]
    unknown: tuple[Interval, ...] = ()

    def held(self, position: Array, *derivatives: Array) -> None:
        """Take the jitter of still joints out of positions and their derivatives (n, K), in place.

        A parameter that only jitter shows would be fitted to noise: its share in other parameters is as large as that
        of one that the data determine.
        """
        position[self.still] = self.place[self.still, None]
        for each in derivatives:
            each[self.still] = 0.0


def still_joints(data: Dataset, processing: Processing) -> NDArray[np.bool_]:
    """Joints that stand still in all the data, as `survey` finds them, shape (n,)."""
    longest = BRIDGED / processing.cutoff_hz
    data, _ = data.bridged(longest)
    return held_joints(_ranges(_positions(data, Sampling.of(data.t, longest))))


def survey(robot: Robot, data: Dataset, processing: Processing) -> Survey:
    """Look over the data; `DataError` where they are not this robot's or nothing can be learned from them."""
    if data.joints != len(robot.joints):
        raise DataError(
            f"{data.joints} columns of positions, but {robot.name} has {len(robot.joints)} joints "
            f"({', '.join(robot.joints)}); give one column per joint, in this order"
        )
    longest = BRIDGED / processing.cutoff_hz
    data, bridges = data.bridged(longest)
    sampling = Sampling.of(data.t, longest)
    processing.checked(1 / sampling.step_s)
    gaps = tuple((a, b) for a, b in bridges if b - a > BELIEVED / processing.cutoff_hz)
    notes = list(data.notes) + _sampling_notes(sampling) + _bridge_notes(bridges, gaps, longest)
    positions = _positions(data, sampling)
    ranges = _ranges(positions)
    still = held_joints(ranges)
    for j in np.flatnonzero(still).tolist():
        notes.append(
            f"{robot.joints[j]} does not move ({ranges[j]:.2g} rad in all, the widest moves {ranges.max():.2g} rad): "
            "its friction, its drive and what only its motion shows cannot be identified; move it, or lock it in the "
            "model"
        )
    if still.all():
        raise DataError(notes[-1] if len(still) == 1 else f"no joint moves more than {ranges.max():.2g} rad")
    speeds = [_speed(q, step) for q, step in positions]
    fast = np.max([np.quantile(speed, TOP, axis=1) for speed in speeds], axis=0)
    rest: list[list[Interval]] = [[] for _ in robot.joints]
    if processing.leave_rest and {"coulomb", "stribeck"} & set(robot.terms):
        top = np.max([speed.max(axis=1) for speed in speeds], axis=0)
        for piece, (_, step), speed in zip(sampling.pieces, positions, speeds, strict=True):
            resting = (speed < REST_SPEED * top[:, None]) | still[:, None]
            for j, row in enumerate(resting):
                rest[j] += _runs(row, piece.start_s, step)
        notes += _rest_notes(robot, rest, data)
    resting_at = tuple(tuple(intervals) for intervals in rest)
    unknown = unknown_wrenches(data)
    if unknown:
        lost = sum(b - a for a, b in unknown)
        notes.append(
            f"wrenches are not known for {lost:.2f} s of {data.duration_s:.2f} s: their rows are left out"
        )
    place = np.concatenate([q for q, _ in positions], axis=1).mean(axis=1)
    return Survey(data, sampling, resting_at, still, place, gaps, ranges, fast, tuple(notes), unknown)


def unknown_wrenches(data: Dataset) -> tuple[Interval, ...]:
    """When a wrench was not known [s]."""
    if data.wrenches is None:
        return ()
    known = np.isfinite(np.asarray(data.wrenches[:], dtype=np.float64)).all(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[True], known, [True]]).astype(np.int8)))
    last = len(data) - 1
    return tuple(
        (float(data.t[max(a - 1, 0)]), float(data.t[min(b, last)]))
        for a, b in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    )


def _positions(data: Dataset, sampling: Sampling) -> list[tuple[Array, float]]:
    """Of each piece, about 200 per second: (n, K), and their step [s]."""
    return [coarse(data, sampling, k) for k in range(len(sampling.pieces))]


def _ranges(positions: list[tuple[Array, float]]) -> Array:
    """Range of each joint [rad, m], shape (n,)."""
    return np.asarray(np.max([travel(q, step) for q, step in positions], axis=0))


def _speed(q: Array, step: float) -> Array:
    """Absolute velocity over about 20 ms, shape as q."""
    reach = max(1, round(0.01 / step))
    padded = np.pad(q, ((0, 0), (reach, reach)), mode="edge")
    return np.abs(padded[:, 2 * reach :] - padded[:, : -2 * reach]) / (2 * reach * step)


def _runs(resting: NDArray[np.bool_], start_s: float, step: float) -> list[Interval]:
    """Stretches of rest that last [s]."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], resting, [False]]).astype(np.int8)))
    return [
        (start_s + a * step, start_s + b * step)
        for a, b in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
        if (b - a) * step >= REST_S
    ]


def _sampling_notes(sampling: Sampling) -> list[str]:
    notes = []
    if not sampling.even:
        notes.append(
            f"stamps are uneven (intervals {sampling.step_s * 1e3:.4g} +- {sampling.jitter_s * 1e3:.2g} ms, up to "
            f"{sampling.longest_s * 1e3:.3g} ms): interpolated to a grid of {sampling.step_s * 1e3:.4g} ms"
        )
    if len(sampling.pieces) > 1:
        notes.append(
            f"{len(sampling.pieces) - 1} gaps, {sampling.lost_s:.3g} s in all: the data between them are filtered "
            "apart, and what the filters need at their ends is lost"
        )
    return notes


def _bridge_notes(bridges: tuple[Interval, ...], gaps: tuple[Interval, ...], longest: float) -> list[str]:
    if not bridges:
        return []
    spans = [b - a for a, b in bridges]
    return [
        f"{len(bridges)} gaps, {sum(spans):.3g} s in all, are bridged (the longest of {max(spans) * 1e3:.0f} ms, bound "
        f"{longest * 1e3:.0f} ms); rows at the {len(gaps)} longest of them are left out"
    ]


def _rest_notes(robot: Robot, rest: list[list[Interval]], data: Dataset) -> list[str]:
    """One line for what all joints share, one for each joint with more."""
    spans = [sum(b - a for a, b in intervals) for intervals in rest]
    notes = []
    common = min(spans)
    if common > 0:
        ends = min(rest, key=lambda intervals: sum(b - a for a, b in intervals))
        where = ", ".join(f"{a:.2f} to {b:.2f} s" for a, b in ends[:3]) + (", ..." if len(ends) > 3 else "")
        notes.append(
            f"standstill left out: {common:.2f} s of {data.duration_s:.2f} s ({where}); at rest, friction says nothing"
        )
    for joint, span in zip(robot.joints, spans, strict=True):
        if span - common > 0.05 * data.duration_s:
            notes.append(
                f"{joint} rests for {span:.2f} s of {data.duration_s:.2f} s: its rows there are left out"
            )
    return notes
