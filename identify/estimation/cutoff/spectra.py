"""Spectra of motion, residual and noise, from a bounded part of the data.

Windows of a few seconds of the rows, hardly filtered, are taken to frequencies, regressor and torque alike, and
gathered in bands. Least squares below a guessed cut-off, with the torques' delay as a phase, leaves the residual. As in
the fit, offsets and delays are each recording's own, unless they are to be in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.fft import prev_fast_len, rfft, rfftfreq

from heft.identify.bodies.arrays import Array
from heft.identify.data import Dataset, Processing, RowBlock, filtered_rows, survey
from heft.identify.data.bridging import MISSING
from heft.identify.data.measured_rows import row_noise
from heft.identify.data.survey import still_joints
from heft.identify.data.white_noise import white_noise
from heft.identify.errors import DataError
from heft.identify.information.own_offsets import RowSums, recording_numbers
from heft.identify.robot import Robot
from heft.identify.robot.base import base_parameters

__all__ = ["Spectra", "estimate_spectra"]

PARTS = 4
PART_S = 3.0
SHORTEST = 64  # rows of a window
FADE_S = 0.15  # beside what is left out
ABOVE = 1.5  # a low-pass stops at this times its cut-off
UNTOUCHED = 2.0  # a low-pass passes half its cut-off unchanged
NOISE_SAMPLES = 10_000  # that show white noise
PER_BAND = 1.2  # ratio of a band's ends
ROUNDS = 5
SETTLED_S = 1e-5
LONGEST_S, APART_S = (
    0.25,
    0.0125,
)  # delays that are tried before the rounds: a basin is twice as wide in fast motion
WELL = 1e-3  # share of the torques' power: where less is left without a delay, it is in the basin
HALVED = 0.5  # of what is left without a delay: one that leaves less than this is begun from
INSTANTS = 16  # at which the regressor's derivative is looked at
RIDGE = 1e-10  # of a column's square: what the part does not show
ROUNDING = 1e-24  # of the power of a joint's largest column


@dataclass(frozen=True, eq=False)
class Spectra:
    """Densities are one-sided, in F bands of frequency; n joints, k base parameters.

    frequency   middle of each band [Hz], shape (F,)
    squares     power of the regressor's rows in each band, per joint, shape (n, F, k, k)
    torque      power of the modelled torque in each band [N2 m2], shape (n, F)
    residual    density of what is left of the torque [N2 m2 / Hz], shape (n, F)
    floor       density of white noise on the torques [N2 m2 / Hz], shape (n,)
    base        base parameters estimated from the part, shape (k,)
    pushed      mean squares of the regressor's change by one joint's acceleration: joint, that joint, (n, n, k, k)
    noise       density of the accelerations that noise of the positions makes [rad2 / s4 / Hz], shape (n, F)
    positions   density of the torques that this noise makes [N2 m2 / Hz], shape (n, F)
    width       of each band [Hz], shape (F,)
    used        joints that move somewhere in the part, shape (n,)
    delays_s    of the torques against the positions [s]: of each recording, or one of all
    duration_s  of all data, `looked_s` of the part
    rate_hz     of the samples
    """

    frequency: Array
    squares: Array
    torque: Array
    residual: Array
    floor: Array
    base: Array
    pushed: Array
    noise: Array
    positions: Array
    width: Array
    used: NDArray[np.bool_]
    delays_s: tuple[float, ...]
    duration_s: float
    looked_s: float
    rate_hz: float


@dataclass(frozen=True, eq=False)
class _Joint:
    """Bins of all windows one after the other, scaled so that their squares are powers.

    rows (B, c) complex, of base parameters `to` (c,); rate of torque (B,) complex; band (B,); frequency (B,) [Hz];
    window that each is of (B,)
    """

    rows: NDArray[np.complex128]
    to: NDArray[np.int64]
    rate: NDArray[np.complex128]
    band: NDArray[np.int64]
    frequency: Array
    window: NDArray[np.int64]


def estimate_spectra(
    robot: Robot,
    datasets: Sequence[Dataset],
    guess: Processing,
    highest_hz: float,
    common: Sequence[str] = (),
) -> Spectra | None:
    """Frequencies up to 1.5 `highest_hz`, with a fit by `guess`; None where no window is long enough.

    common   what several recordings have in common, of `offsets` and `delay`
    """
    rate_hz = min(float(1 / np.median(np.diff(data.t))) for data in datasets)
    wide = Processing(cutoff_hz=min(UNTOUCHED * ABOVE * highest_hz, 0.4 * rate_hz))
    windows: list[RowBlock] = []
    still = np.all([still_joints(data, guess) for data in datasets], axis=0)
    for number, part in _parts(datasets, _shortest_s(wide, rate_hz)):
        try:
            surveyed = survey(robot, part, guess)
            holes = _holes(part.t, 0.5 / wide.cutoff_hz)
            surveyed = replace(surveyed, gaps=holes, still=still)
            rows = list(filtered_rows(robot, part, wide, surveyed))
            windows += [replace(window, dataset=number) for window in _windows(rows)]
        except DataError:  # too short, or nothing moves there
            continue
    if not windows:
        return None
    highest_hz = min(ABOVE * highest_hz, 0.45 * rate_hz)
    edges = _bands(min(float(np.ptp(window.time)) for window in windows), highest_hz)
    used = np.array([any(window.keep[:, j].any() for window in windows) for j in range(len(robot.rows))])
    if not used.any():
        return None
    recordings = recording_numbers(datasets)
    if max(recordings) > 0 and "offsets" not in common:
        windows = _without_own_offsets(robot, windows, recordings)
    delayed = (0,) * len(recordings) if "delay" in common else recordings
    joints = _spectra(robot, windows, edges)
    frequency, count = (edges[1:] + edges[:-1]) / 2, len(edges) - 1
    passed = guess.gain(frequency, rate_hz)
    base, lefts, delays_s = _fitted(robot, windows, joints, passed, float(edges[-1]), delayed)
    squares = np.zeros((len(joints), count, len(base), len(base)))
    residual = np.zeros((len(joints), count))
    for j, (one, left) in enumerate(zip(joints, lefts, strict=True)):
        residual[j] = np.bincount(one.band, np.abs(left) ** 2, count)
        place = np.ix_(one.to, one.to)
        order = np.argsort(one.band, kind="stable")
        starts = np.searchsorted(one.band[order], np.arange(count + 1))
        for band in range(count):
            here = one.rows[order[starts[band] : starts[band + 1]]]
            real = np.concatenate([here.real, here.imag])
            squares[j, band][place] = real.T @ real
    torque = _modelled(robot, windows, base, edges)
    width = np.diff(edges)
    first, pushed = datasets[0], _pushed(robot, datasets)
    noise = _accelerations(first, frequency, rate_hz)
    noise[still] = 0.0
    return Spectra(
        frequency=frequency,
        squares=squares,
        torque=torque,
        residual=residual / width,
        floor=2 / rate_hz * row_noise(robot, first, NOISE_SAMPLES) ** 2,
        base=base,
        pushed=pushed,
        noise=noise,
        positions=np.einsum("jikl,k,l->ji", pushed, base, base, optimize=True) @ noise,
        width=width,
        used=used,
        delays_s=delays_s,
        duration_s=sum(data.duration_s for data in datasets),
        looked_s=float(f"{sum(float(np.ptp(window.time)) for window in windows):.3g}"),
        rate_hz=rate_hz,
    )


def _shortest_s(processing: Processing, rate_hz: float) -> float:
    """Seconds that leave one and a half of the shortest windows between the filters' ends."""
    ends = 2 * processing.differentiator(rate_hz).half + len(processing.taps(rate_hz))
    return (1.5 * SHORTEST * processing.decimation(rate_hz) + ends) / rate_hz


def _parts(datasets: Sequence[Dataset], shortest_s: float) -> Iterator[tuple[int, Dataset]]:
    """Stretches of PART_S, or what a window needs, evenly over all data; fewer, or all of it, where that is less.

    Each with the number of its dataset.
    """
    ends = np.cumsum([data.duration_s for data in datasets])
    count = max(1, min(PARTS, int(ends[-1] / shortest_s)))
    length = min(max(PART_S, shortest_s), float(ends[-1]) / count)
    for k in range(count):
        at = (k + 0.5) * float(ends[-1]) / count
        number = int(np.searchsorted(ends, at))
        data = datasets[number]
        middle = float(data.t[0]) + at - (float(ends[number]) - data.duration_s)
        try:
            yield number, data.between(middle - length / 2, middle + length / 2)
        except DataError:  # a gap
            continue


def _without_own_offsets(robot: Robot, windows: list[RowBlock], recordings: Sequence[int]) -> list[RowBlock]:
    """The windows with the biases that are each recording's own taken out."""
    sums = RowSums(robot, max(recordings) + 1)
    for window in windows:
        sums.add(window, recordings[window.dataset], window.keep.astype(np.float64))
    means = sums.means()
    return [means.shifted(window, recordings[window.dataset]) for window in windows]


def _holes(t: Array, margin_s: float) -> tuple[tuple[float, float], ...]:
    """Where samples are missing, and a margin [s]: at high frequencies no bridge is to be believed."""
    steps = np.diff(t)
    at = np.flatnonzero(steps > MISSING * np.median(steps))
    return tuple((float(t[i]) - margin_s, float(t[i + 1]) + margin_s) for i in at)


def _bands(window_s: float, highest_hz: float) -> Array:
    """Edges of bands [Hz], shape (F + 1,): as wide as the shortest window resolves, or a share of the frequency."""
    edges = [0.0]
    while edges[-1] < highest_hz:
        edges.append(max(edges[-1] + 2 / window_s, edges[-1] * PER_BAND))
    return np.array(edges)


def _windows(blocks: list[RowBlock]) -> Iterator[RowBlock]:
    """Stretches of rows without a gap, long enough to show frequencies."""
    if not blocks:
        return
    time = np.concatenate([block.time for block in blocks])
    table = np.concatenate([block.table for block in blocks])
    keep = np.concatenate([block.keep for block in blocks])
    rates = np.concatenate([block.rates for block in blocks])
    steps = np.diff(time)
    breaks = np.flatnonzero(steps > 1.5 * np.median(steps)) if len(steps) else np.zeros(0, dtype=np.int64)
    for low, high in pairwise([0, *(breaks + 1).tolist(), len(time)]):
        if high - low >= SHORTEST:
            count = prev_fast_len(high - low, real=True)
            part = slice(low, low + count)
            yield RowBlock(
                blocks[0].layout, np.arange(count), time[part], table[part], keep[part], rates[part]
            )


def _taper(window: RowBlock, delay_s: float = 0.0) -> Array:
    """A Hann window over the rows, `delay_s` later, shape (K,)."""
    count = len(window.time)
    step = float(window.time[-1] - window.time[0]) / (count - 1)
    at = (np.arange(1, count + 1) - delay_s / step) / (count + 1)
    return np.sin(np.pi * np.clip(at, 0.0, 1.0)) ** 2


def _faded(window: RowBlock, joint: int, delay_s: float) -> Array:
    """Zero where a joint's rows are left out, one away from there, `delay_s` later, shape (K,).

    It fades, so that what a delay moves at its edges stays slow.
    """
    keep, count = window.keep[:, joint], len(window.time)
    if keep.all():
        return np.ones(count)
    rows, never = np.arange(count), 2 * count
    before = rows - np.maximum.accumulate(np.where(keep, -never, rows))
    after = np.minimum.accumulate(np.where(keep, never, rows)[::-1])[::-1] - rows
    step = float(window.time[-1] - window.time[0]) / (count - 1)
    near = np.clip(np.minimum(before, after) * step / FADE_S, 0.0, 1.0)
    return np.interp(rows - delay_s / step, rows, np.sin(np.pi / 2 * near) ** 2)


def _masks(windows: list[RowBlock], delays_s: Sequence[float]) -> list[Array]:
    """What the rows of each joint count in each window, `delays_s` later by window: shapes (K, n)."""
    return [
        _taper(window, delay_s)[:, None]
        * np.stack([_faded(window, j, delay_s) for j in range(window.keep.shape[1])], axis=1)
        for window, delay_s in zip(windows, delays_s, strict=True)
    ]


def _bins(
    windows: list[RowBlock],
    masks: list[Array],
    values: list[Array],
    highest_hz: float,
    delays_s: Sequence[float],
) -> tuple[NDArray[np.complex128], Array]:
    """Values (K, c) in each window at their frequencies, one after the other: (B, c), and [Hz] (B,).

    Scaled so that squares are powers. What is `delays_s` old, by window, is seen through masks (K, c) or (K, 1) as late
    (`_masks`), and turned back.
    """
    whole = np.sum([(mask**2).sum(axis=0) for mask in masks], axis=0)
    bins, frequencies = [], []
    for window, mask, value, delay_s in zip(windows, masks, values, delays_s, strict=True):
        count = len(window.time)
        frequency = rfftfreq(count, float(window.time[-1] - window.time[0]) / (count - 1))
        frequency = frequency[frequency < highest_hz]
        spectrum = rfft(value * mask, axis=0)[: len(frequency)]
        spectrum *= np.sqrt(2 / (count * np.maximum(whole, 1e-300)))
        spectrum[0] /= np.sqrt(2)
        if delay_s != 0.0:
            spectrum *= np.exp(2j * np.pi * delay_s * frequency)[:, None]
        bins.append(spectrum)
        frequencies.append(frequency)
    return np.concatenate(bins), np.concatenate(frequencies)


def _spectra(robot: Robot, windows: list[RowBlock], edges: Array) -> list[_Joint]:
    """All joints' rows at the frequencies of the bands; zeros for a joint that has none."""
    layout, place = robot.regressor.layout, {c: i for i, c in enumerate(base_parameters(robot).independent)}
    joints, in_time = [], [0.0] * len(windows)
    masks = _masks(windows, in_time)
    for j in range(len(robot.rows)):
        part = layout.row(j)
        named = enumerate(layout.parameters[part].tolist(), part.start)
        pairs = [(c, place[k]) for c, k in named if k in place]
        columns = [c for c, _ in pairs]
        values = [np.column_stack([window.table[:, columns], window.rates[:, j, 0]]) for window in windows]
        own = [mask[:, [j]] for mask in masks]
        spectrum, frequency = _bins(windows, own, values, float(edges[-1]), in_time)
        power = (np.abs(spectrum[:, :-1]) ** 2).sum(axis=0)
        # What only a joint that is held would show is zero but for rounding, which would be fitted to noise.
        spectrum[:, :-1][:, power <= ROUNDING * power.max(initial=0.0)] = 0.0
        band = np.clip(np.searchsorted(edges, frequency, side="right") - 1, 0, len(edges) - 2)
        to = np.array([i for _, i in pairs], dtype=np.int64)
        window = np.cumsum(frequency == 0) - 1  # each begins with its mean
        joints.append(_Joint(spectrum[:, :-1], to, spectrum[:, -1], band, frequency, window))
    return joints


def _modelled(robot: Robot, windows: list[RowBlock], base: Array, edges: Array) -> Array:
    """Power of the modelled torque in each band [N2 m2], at rest and beside gaps too, shape (n, F)."""
    parameters = np.zeros(len(robot.parameter_names))
    parameters[list(base_parameters(robot).independent)] = base
    density, whole = np.zeros((len(robot.rows), len(edges) - 1)), 0.0
    for window in windows:
        taper, count = _taper(window), len(window.time)
        whole += float(taper @ taper)
        frequency = rfftfreq(count, float(window.time[-1] - window.time[0]) / (count - 1))
        power = np.abs(rfft(window.predict(parameters) * taper[:, None], axis=0)) ** 2 * 2 / count
        power[0] /= 2
        band = np.searchsorted(edges, frequency, side="right") - 1
        for k in range(len(edges) - 1):
            density[:, k] += power[band == k].sum(axis=0)
    return density / whole


def _fitted(
    robot: Robot,
    windows: list[RowBlock],
    joints: list[_Joint],
    gain: Array,
    highest_hz: float,
    delayed: Sequence[int],
) -> tuple[Array, list[NDArray[np.complex128]], tuple[float, ...]]:
    """Base parameters by least squares below a cut-off, joints by their residuals; what is left of each torque; delays.

    The torques' delays are more unknowns (Gauss-Newton); `delayed` says which of them is each dataset's.
    """
    size, layout = len(base_parameters(robot).independent), robot.regressor.layout
    rows = [_real(one.rows * gain[one.band, None]) for one in joints]
    squares = [own.T @ own for own in rows]
    measured = [window.table[:, layout.torques] for window in windows]
    of = [delayed[window.dataset] for window in windows]
    seen = sorted(set(of))
    rates = [
        np.stack([_real(one.rate * gain[one.band] * (np.array(of)[one.window] == k)) for k in seen], axis=1)
        for one in joints
    ]

    def read(delays_s: Array) -> NDArray[np.complex128]:
        late = [float(delays_s[seen.index(k)]) for k in of]
        return _bins(windows, _masks(windows, late), measured, highest_hz, late)[0].T

    weights, base, delays_s = np.ones(len(joints)), np.zeros(size), np.zeros(len(seen))
    torques = read(delays_s)
    start = _nearest_delay(
        joints, rows, squares, [torque * gain[one.band] for one, torque in zip(joints, torques, strict=True)]
    )
    delays_s += start
    for number in range(ROUNDS):
        if number > 0 or start != 0.0:
            torques = read(delays_s)
        system, moments = np.zeros((size + len(seen),) * 2), np.zeros(size + len(seen))
        passed = [_real(torque * gain[one.band]) for one, torque in zip(joints, torques, strict=True)]
        for w, one, own, square, torque, rate in zip(
            weights, joints, rows, squares, passed, rates, strict=True
        ):
            system[np.ix_(one.to, one.to)] += w * square
            across = -w * (own.T @ rate)
            system[one.to, size:] += across
            system[size:, one.to] += across.T
            system[size:, size:] += w * (rate.T @ rate)
            moments[one.to] += w * (own.T @ torque)
            moments[size:] -= w * (rate.T @ torque)
        scale = np.sqrt(np.maximum(np.diag(system), 1e-300))
        solution = np.linalg.solve(
            system / np.outer(scale, scale) + RIDGE * np.eye(len(scale)), moments / scale
        )
        base, step = solution[:size] / scale[:size], solution[size:] / scale[size:]
        for j, (one, own, torque, rate) in enumerate(zip(joints, rows, passed, rates, strict=True)):
            left = torque + rate @ step - own @ base[one.to]
            weights[j] = 1 / max(float(left @ left), 1e-12 * float(torque @ torque), 1e-30)
        delays_s = delays_s + step
        if np.abs(step).max() < SETTLED_S:
            break
    lefts = [torque - one.rows @ base[one.to] for one, torque in zip(joints, torques, strict=True)]
    every = np.full(
        max(delayed) + 1, float(np.median(delays_s))
    )  # a recording without a window: as the others
    every[seen] = delays_s
    return base, lefts, tuple(every.tolist())


def _nearest_delay(
    joints: list[_Joint],
    rows: list[Array],
    squares: list[Array],
    torques: list[NDArray[np.complex128]],
) -> float:
    """The delay [s] to begin the rounds from: that of a grid which leaves least, or none where it does not leave half.

    rows, squares   of the regressor's, real, and their products; `torques` complex, of each joint below the cut-off
    """
    size = 1 + max(int(one.to.max(initial=0)) for one in joints)
    power = [float(np.linalg.norm(torque)) ** 2 or np.inf for torque in torques]
    system = np.zeros((size, size))
    for one, square, whole in zip(joints, squares, power, strict=True):
        system[np.ix_(one.to, one.to)] += square / whole
    scale = np.sqrt(np.maximum(np.diag(system), 1e-300))
    scaled = system / np.outer(scale, scale) + RIDGE * np.eye(size)

    def left(tried: Array) -> Array:
        """Share of the torques' power that is left with each of these delays."""
        moments, turns = (
            np.zeros((size, len(tried))),
            np.exp(2j * np.pi * np.outer(joints[0].frequency, tried)),
        )
        for one, own, torque, whole in zip(joints, rows, torques, power, strict=True):
            moments[one.to] += own.T @ _real(torque[:, None] * turns) / whole
        moments /= scale[:, None]
        seen = (moments * np.linalg.solve(scaled, moments)).sum(axis=0)
        return np.asarray(1.0 - seen / max(np.isfinite(power).sum(), 1))

    without = float(left(np.zeros(1))[0])
    if without < WELL:
        return 0.0
    tried = APART_S * np.arange(-round(LONGEST_S / APART_S), round(LONGEST_S / APART_S) + 1, dtype=np.float64)
    shares = left(tried)
    best = int(np.argmin(shares))
    return float(tried[best]) if shares[best] < HALVED * without else 0.0


def _real(values: NDArray[np.complex128]) -> Array:
    """Real parts and imaginary parts, one after the other: products of sums stay products of sums."""
    return np.concatenate([values.real, values.imag])


def _accelerations(data: Dataset, frequency: Array, rate_hz: float) -> Array:
    """Density of accelerations that noise of the measured positions, or velocities, makes, shape (n, F)."""
    measured, power = (data.turned, 4) if data.dq is None else (data.dq, 2)
    density = 2 / rate_hz * white_noise(data.t[:NOISE_SAMPLES], measured[:NOISE_SAMPLES]) ** 2
    return np.outer(density, (2 * np.pi * frequency) ** power)


def _pushed(robot: Robot, datasets: Sequence[Dataset]) -> Array:
    """Mean squares of the base columns' change by a unit of one joint's acceleration, shape (rows, n, k, k)."""
    columns = list(base_parameters(robot).independent)
    picked = [(k + 0.5) / INSTANTS * len(datasets) for k in range(INSTANTS)]
    at = [(datasets[int(x)], int((x % 1) * (len(datasets[int(x)]) - 1))) for x in picked]
    q = np.array([np.asarray(data.q[i : i + 1], dtype=np.float64)[0] for data, i in at])
    change = robot.regressor.by_acceleration(q)[:, :, :, columns].transpose(2, 0, 1, 3)
    return np.asarray(change.transpose(0, 1, 3, 2) @ change) / INSTANTS
