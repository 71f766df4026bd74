"""How fast the robot moves, and a first cut-off from that alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len, rfft

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.compiled import compiled
from heft.identify.data.dataset import Dataset
from heft.identify.data.sampling import Sampling
from heft.identify.errors import DataError

__all__ = ["LEAST_TRAVEL", "Motion", "choose_cutoff", "coarse", "held_joints", "travel"]

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
LEAST_TRAVEL = 1e-3  # [rad, m]
HELD, MOST_HELD = 0.005, 5e-3  # of the widest travel, and [rad, m]: what a joint that is held gives way by
AVERAGED_S = 0.1  # jitter is faster
FASTEST_HZ = 5.0  # bandwidth of an arm's motion: what seems faster is jitter, not a command


@dataclass(frozen=True)
class Motion:
    """What the longest piece of data shows of the motion.

    bandwidth_hz   90 % of the velocity power of every joint that is not held is below it, noise taken off; at most 5
    quiet_hz       up to which noise of the positions makes 1 % of the acceleration
    duration_s     of the piece; `rate_hz` of its samples
    """

    bandwidth_hz: float
    quiet_hz: float
    duration_s: float
    rate_hz: float

    @property
    def cutoff_hz(self) -> float:
        """A cut-off from the motion alone: 30 times its bandwidth, but not above what stays quiet and stiff.

        Twenty hertz is the limit, and what is quiet; eight times the bandwidth is kept in any case, and enough for
        the filters to leave four fifths of the data.
        """
        least, most = (factor * self.bandwidth_hz for factor in PER_BANDWIDTH)
        cutoff = max(min(most, STIFF_HZ, self.quiet_hz), least, EDGES / self.duration_s)
        return float(f"{min(cutoff, 0.2 * self.rate_hz):.3g}")

    @classmethod
    def of(cls, data: Dataset) -> Self:
        """Of a dataset; `DataError` where nothing moves."""
        sampling = Sampling.of(data.t, 1.0)
        longest = max(sampling.pieces, key=lambda piece: piece.count)
        q, step = coarse(data, sampling, sampling.pieces.index(longest))
        count = q.shape[1]
        ranges = travel(q, step)
        if ranges.max() < LEAST_TRAVEL:
            raise DataError(
                f"no joint moves: the largest range is {ranges.max():.2g} rad, below {LEAST_TRAVEL:g} rad; "
                "give data in which the robot moves"
            )
        velocity = np.diff(q[~held_joints(ranges)], axis=1) / step
        size = next_fast_len(count, real=True)
        power = np.abs(rfft(velocity * np.hanning(count - 1), size, axis=1)) ** 2
        frequency = np.arange(power.shape[1]) / (size * step)
        turn = 2 * np.sin(np.pi * frequency * step) / step  # what the difference makes of a position [rad/s]
        upper = slice(len(frequency) // 2, None)
        noise = np.median(power[:, upper] / turn[upper] ** 2, axis=1, keepdims=True) / np.log(2)
        motion = np.maximum(power - 5 * noise * turn**2, 0.0)
        share = np.cumsum(motion, axis=1)
        below = (share < POWER * share[:, -1:]).sum(axis=1)
        bandwidth = min(float(frequency[np.minimum(below, len(frequency) - 1)].max()), FASTEST_HZ)
        # Noise of even density up to f has accelerations of power (2 pi)^4 f^5 / 5 times that density.
        moved = (motion * turn**2).sum(axis=1) * frequency[1]
        density = np.maximum(noise[:, 0], 1e-30) * (2 * np.pi) ** 4
        quiet = float((5 * ACCELERATION_NOISE**2 * moved / density).min() ** 0.2)
        return cls(bandwidth, quiet, count * step, 1 / sampling.step_s)


def travel(q: Array, step: float) -> Array:
    """Range of each joint [rad, m] (n,) in positions q (n, K), averaged over 0.1 s, which jitter does not outlast."""
    length = max(1, min(round(AVERAGED_S / step), q.shape[1] // 4))
    sums = np.cumsum(np.pad(q, ((0, 0), (1, 0))), axis=1)
    means: Array = (sums[:, length:] - sums[:, :-length]) / length
    return np.ptp(means, axis=1)


def held_joints(ranges: Array) -> NDArray[np.bool_]:
    """Joints (n,) that stand still, by their ranges of positions [rad, m] (n,)."""
    return ranges < max(LEAST_TRAVEL, min(HELD * float(ranges.max()), MOST_HELD))


def choose_cutoff(data: Dataset) -> float:
    """A cut-off [Hz] from the motion alone (`Motion.cutoff_hz`); a fit looks closer (`identify.estimation.cutoff`)."""
    return Motion.of(data).cutoff_hz


def coarse(data: Dataset, sampling: Sampling, number: int) -> tuple[Array, float]:
    """Positions of a piece, averaged to about 200 per second: (n, K), and their step [s]."""
    piece = sampling.pieces[number]
    factor = max(1, int(1 / (COARSE_HZ * sampling.step_s)))
    factor = min(factor, max(1, piece.count // 16))
    count = piece.count // factor * factor
    parts = []
    for start in range(0, count, CHUNK * factor):
        stop = min(count, start + CHUNK * factor)
        if piece.even:
            part = np.ascontiguousarray(
                data.turned[piece.first + start : piece.first + stop], dtype=np.float64
            )
            means = np.empty((data.joints, len(part) // factor))
            _average(part, factor, means)
            parts.append(means)
        else:
            turned = data.turning(piece, sampling.step_s, start, stop)
            grid = data.motion(piece, sampling.step_s, start, stop)[0] if turned is None else turned
            parts.append(grid.reshape(data.joints, -1, factor).mean(axis=2))
    return np.concatenate(parts, axis=1), factor * sampling.step_s


@compiled()
def _average(values: Array, factor: int, means: Array) -> None:
    """Means (n, K) of every `factor` rows of values (factor K, n)."""
    for k in range(means.shape[1]):
        for j in range(means.shape[0]):
            whole = 0.0
            for i in range(k * factor, (k + 1) * factor):
                whole += values[i, j]
            means[j, k] = whole / factor
