"""A look over the data before they are used: sampling, bandwidth, standstill, joints that do not move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len, rfft

from identify.arrays import Array
from identify.dataset.bridging import bridged
from identify.dataset.dataset import Dataset
from identify.dataset.processing import Processing
from identify.dataset.sampling import Sampling
from identify.errors import DataError

if TYPE_CHECKING:
    from identify.robot import Robot

__all__ = ["Survey", "choose_cutoff", "survey"]

COARSE_HZ = 200.0  # motion is slower than this
CHUNK = 65536
POWER = 0.9  # of a joint's velocity power lies below its bandwidth
PER_BANDWIDTH = (
    8.0,
    30.0,
)  # cut-off over bandwidth: at least, so that nothing of the motion is lost; at most
STIFF_HZ = 20.0  # above this arms bend, and rigid links no longer describe them
ACCELERATION_NOISE = 0.01  # of the acceleration's rms, from noise of positions below the cut-off
EDGES = 40.0  # cut-off times duration: filters may cost a fifth of the data
REST_SPEED = 0.005  # of a joint's top speed: slower is at rest
REST_S = 0.25  # at least so long
BRIDGED = 0.5  # gaps up to this over the cut-off are bridged, longer ones end a piece
BELIEVED = 0.125  # and up to this the rows there are used
LEAST_TRAVEL = 1e-3  # [rad, m]

Interval = tuple[float, float]


@dataclass(frozen=True)
class Survey:
    """What was found in one dataset.

    data    the same data, short gaps bridged
    rest    per joint: when it stood still [s]
    gaps    bridges that are too long to be believed: rows there are left out [s]
    notes   what to know of these data, with numbers and remedies
    """

    data: Dataset
    sampling: Sampling
    rest: tuple[tuple[Interval, ...], ...]
    gaps: tuple[Interval, ...]
    notes: tuple[str, ...]


def choose_cutoff(data: Dataset) -> float:
    """A cut-off [Hz] from the motion: 30 times its bandwidth, but not above what stays quiet and stiff.

    Bandwidth: 90 % of the velocity power of every joint is below it, noise taken off. Twenty hertz is the limit, and
    the frequency up to which noise of the positions makes 1 % of the acceleration; eight times the bandwidth is kept
    in any case, and enough for the filters to leave four fifths of the data.
    """
    sampling = Sampling.of(data.t, 1.0)
    longest = max(sampling.pieces, key=lambda piece: piece.count)
    q, step = _coarse(data, sampling, sampling.pieces.index(longest))
    count = q.shape[1]
    travel = np.ptp(q, axis=1)
    if travel.max() < LEAST_TRAVEL:
        raise DataError(
            f"no joint moves: the largest range is {travel.max():.2g} rad, below {LEAST_TRAVEL:g} rad; "
            "give data in which the robot moves"
        )
    velocity = np.diff(q[travel >= LEAST_TRAVEL], axis=1) / step
    size = next_fast_len(count, real=True)
    power = np.abs(rfft(velocity * np.hanning(count - 1), size, axis=1)) ** 2
    frequency = np.arange(power.shape[1]) / (size * step)
    turn = 2 * np.sin(np.pi * frequency * step) / step  # what the difference makes of a position [rad/s]
    upper = slice(len(frequency) // 2, None)
    noise = np.median(power[:, upper] / turn[upper] ** 2, axis=1, keepdims=True) / np.log(2)
    motion = np.maximum(power - 5 * noise * turn**2, 0.0)
    share = np.cumsum(motion, axis=1)
    below = (share < POWER * share[:, -1:]).sum(axis=1)
    bandwidth = float(frequency[np.minimum(below, len(frequency) - 1)].max())
    # Noise of even density up to f has accelerations of power (2 pi)^4 f^5 / 5 times that density.
    moved = (motion * turn**2).sum(axis=1) * frequency[1]
    density = np.maximum(noise[:, 0], 1e-30) * (2 * np.pi) ** 4
    quiet = float((5 * ACCELERATION_NOISE**2 * moved / density).min() ** 0.2)
    least, most = (factor * bandwidth for factor in PER_BANDWIDTH)
    cutoff = max(min(most, STIFF_HZ, quiet), least, EDGES / (count * step))
    return float(f"{min(cutoff, 0.2 / sampling.step_s):.3g}")


def survey(robot: Robot, data: Dataset, processing: Processing) -> Survey:
    """Look over the data; `DataError` where they are not this robot's or nothing can be learned from them."""
    if data.joints != len(robot.joints):
        raise DataError(
            f"{data.joints} columns of positions, but {robot.name} has {len(robot.joints)} joints "
            f"({', '.join(robot.joints)}); give one column per joint, in this order"
        )
    longest = BRIDGED / processing.cutoff_hz
    data, bridges = bridged(data, longest)
    sampling = Sampling.of(data.t, longest)
    processing.checked(1 / sampling.step_s)
    gaps = tuple((a, b) for a, b in bridges if b - a > BELIEVED / processing.cutoff_hz)
    notes = list(data.notes) + _sampling_notes(sampling) + _bridge_notes(bridges, gaps, longest)
    coarse = [_coarse(data, sampling, k) for k in range(len(sampling.pieces))]
    travel = np.max([np.ptp(q, axis=1) for q, _ in coarse], axis=0)
    still = travel < LEAST_TRAVEL
    for j in np.flatnonzero(still).tolist():
        notes.append(
            f"{robot.joints[j]} does not move ({travel[j]:.2g} rad in all, below {LEAST_TRAVEL:g} rad): its friction, "
            "its drive and what only its motion shows cannot be identified; move it, or lock it in the model"
        )
    if still.all():
        raise DataError(notes[-1] if len(still) == 1 else f"no joint moves more than {travel.max():.2g} rad")
    rest: list[list[Interval]] = [[] for _ in robot.joints]
    if processing.leave_rest and {"coulomb", "stribeck"} & set(robot.terms):
        speeds = [_speed(q, step) for q, step in coarse]
        top = np.max([speed.max(axis=1) for speed in speeds], axis=0)
        for piece, (_, step), speed in zip(sampling.pieces, coarse, speeds, strict=True):
            resting = (speed < REST_SPEED * top[:, None]) | still[:, None]
            for j, row in enumerate(resting):
                rest[j] += _runs(row, piece.start_s, step)
        notes += _rest_notes(robot, rest, data)
    return Survey(data, sampling, tuple(tuple(intervals) for intervals in rest), gaps, tuple(notes))


def _coarse(data: Dataset, sampling: Sampling, number: int) -> tuple[Array, float]:
    """Positions of a piece, averaged to about 200 per second: (n, K), and their step [s]."""
    piece = sampling.pieces[number]
    factor = max(1, int(1 / (COARSE_HZ * sampling.step_s)))
    factor = min(factor, max(1, piece.count // 16))
    count = piece.count // factor * factor
    found = []
    for start in range(0, count, CHUNK * factor):
        stop = min(count, start + CHUNK * factor)
        if piece.even:
            part = data.q[piece.first + start : piece.first + stop].reshape(-1, factor, data.joints)
            found.append(part.mean(axis=1, dtype=np.float64).T)
        else:
            grid, _ = data.motion(piece, sampling.step_s, start, stop)
            found.append(grid.reshape(data.joints, -1, factor).mean(axis=2))
    return np.concatenate(found, axis=1), factor * sampling.step_s


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
    whole = sum(b - a for a, b in bridges)
    return [
        f"{len(bridges)} gaps of up to {longest * 1e3:.0f} ms, {whole:.3g} s in all, are bridged; rows at the "
        f"{len(gaps)} longest of them are left out"
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
