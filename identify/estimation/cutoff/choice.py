"""The choice of the cut-off from spectra of motion, residual and noise.

For a low-pass H and T seconds of data, with S_j(f) the regressor's density in joint j, s_j that of the residual and
w_j weights by the residual below the cut-off, least squares has

    A = sum_j w_j int |H|^2 S_j df,   B = sum_j w_j^2 int |H|^4 s_j S_j df,   covariance = A^-1 B A^-1 / (2 T)

and noise of the positions biases it by -A^-1 N b (`heft.identify.certainty.position_noise`). T is what filters and gaps
leave of the data. The rule: of all cut-offs whose errors, both together, are within 5 % of the least, and what the look
itself is uncertain by, the highest: it has the most rows, by which residuals and delays are judged. But none at which
more than a twentieth of any joint's residual is noise of the positions, or a residual is 25 % louder, against its
sensor's noise, than at a lower cut-off and than chance has it: what comes in there is not the rigid arm. And none above
the frequency at which arms bend. Where noise is felt at all of them, the lowest. Joints that are held do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.data import Dataset, Motion, Processing
from heft.identify.data.bridging import MISSING
from heft.identify.data.motion import EDGES, PER_BANDWIDTH, STIFF_HZ
from heft.identify.data.survey import BELIEVED, BRIDGED
from heft.identify.errors import DataError
from heft.identify.estimation.cutoff.spectra import RIDGE, Spectra, estimate_spectra
from heft.identify.estimation.cutoff.tradeoff import CutoffCandidate, Spectrum, Tradeoff
from heft.identify.robot import Robot
from heft.identify.robot.base import base_parameters

__all__ = ["choose"]

CANDIDATES = 8
PER_STEP = 2**0.5
LEAST_MOTION = 2.0  # times the motion's bandwidth: below, much of it is lost
MOST_LOST = 0.5  # of what the filters' ends and gaps leave at the best of the candidates
WORSE = 1.05  # errors over the least
POSITIONS = 0.05  # of a residual's power from noise of the positions
LOUDER = 1.25  # a residual over the sensor's noise, against lower cut-offs
CHANCE = 3.0  # standard deviations of a residual's size by chance, on top
WINDOWED = 0.5  # of the look's seconds count: its windows fade in and out
MOST_BASE = 160  # base parameters: spectra of all pairs of them take memory and time as the square
SILENT = 1e-14  # of the largest density of torque: rounding, not noise
UNKNOWN = 1e-2  # of a variance from the ridge alone


@dataclass(frozen=True)
class _Gaps:
    """Data lost at gaps and at ends of pieces: `lengths` of the gaps [s], and the filters' ends times the cut-off."""

    duration_s: float
    lengths: Array
    ends: float

    @classmethod
    def of(cls, data: Dataset, processing: Processing) -> Self:
        """Of a dataset, with filters of a kind."""
        steps = np.diff(data.t)
        step = float(np.median(steps))
        reach = 2 * processing.differentiator(1 / step).half + len(processing.taps(1 / step)) - 1
        return cls(data.duration_s, steps[steps > MISSING * step], reach * step * processing.cutoff_hz)

    def left(self, cutoff_hz: float) -> float:
        """What is left of the data with a cut-off [s]."""
        wide, narrow = (self.lengths[self.lengths > share / cutoff_hz] for share in (BRIDGED, BELIEVED))
        guards = (len(narrow) - len(wide)) / cutoff_hz
        lost = float(narrow.sum()) + guards + self.ends / cutoff_hz * (1 + len(wide))
        return max(self.duration_s - lost, 0.0)


@dataclass(frozen=True)
class _Errors:
    """With one cut-off.

    variance, bias    of the base parameters, shape (k,)
    known             which of them the spectra determine, shape (k,)
    kept              share of a joint's modelled torque that passes, of the u joints that move, shape (u,)
    position_noise    share of a joint's residual that noise of the positions makes, shape (u,)
    loud              a joint's residual over the sensor's noise, shape (u,)
    sensed            whether every sensor shows noise
    """

    variance: Array
    bias: Array
    known: NDArray[np.bool_]
    kept: Array
    position_noise: Array
    loud: Array
    sensed: bool


def choose(
    robot: Robot, datasets: Sequence[Dataset], given: Processing | None = None, common: Sequence[str] = ()
) -> tuple[Processing, Tradeoff]:
    """Processing with a cut-off, and the trade-off; it has no candidates, and says why, where spectra cannot be had.

    The cut-off of a `given` processing is kept, and shown beside others. `common` is what several recordings have in
    common (`FitData.common`).
    """
    try:
        motions = [Motion.of(data) for data in datasets]
    except DataError as exc:
        if given is None:
            raise
        return given, Tradeoff(given.cutoff_hz, True, f"no look at other cut-offs: {exc}")
    rate_hz = min(motion.rate_hz for motion in motions)
    if given is not None and (given.derivative == "fourier" or given.cutoff_hz > 0.4 * rate_hz):
        fourier = "whole periods are averaged, which no cut-off competes with"
        why = fourier if given.derivative == "fourier" else f"{rate_hz:g} samples/s are too few for it"
        return given, Tradeoff(given.cutoff_hz, True, f"no look at other cut-offs: {why}")
    guess = given or Processing(max(motion.cutoff_hz for motion in motions))
    bandwidth = max(motion.bandwidth_hz for motion in motions)
    longest_s = max(motion.duration_s for motion in motions)
    highest = min(max(STIFF_HZ, PER_BANDWIDTH[0] * bandwidth, EDGES / longest_s), 0.2 * rate_hz)
    gaps = [_Gaps.of(data, guess) for data in datasets]
    left = {}
    for k in range(CANDIDATES):
        cutoff = float(f"{highest / PER_STEP**k:.3g}")
        if cutoff >= LEAST_MOTION * bandwidth:
            left[cutoff] = sum(one.left(cutoff) for one in gaps)
    most = max(left.values(), default=0.0)
    left = {cutoff: seconds for cutoff, seconds in left.items() if seconds > MOST_LOST * most}
    if given is not None:
        left[given.cutoff_hz] = max(sum(one.left(given.cutoff_hz) for one in gaps), 1 / given.cutoff_hz)
    elif left and not any(one <= guess.cutoff_hz <= PER_STEP * one for one in left):
        # What the motion alone would have leaves too little between the gaps.
        guess = replace(guess, cutoff_hz=min(left, key=lambda one: abs(np.log(one / guess.cutoff_hz))))
    if not left:
        return _unseen(guess, given, "gaps and the filters' ends leave nothing of the data")
    if base_parameters(robot).rank > MOST_BASE:
        return _unseen(guess, given, f"{base_parameters(robot).rank} base parameters are too many for it")
    spectra = estimate_spectra(robot, datasets, guess, max([*left, guess.cutoff_hz]), common)
    if spectra is None:
        return _unseen(guess, given, "no stretch without gap and rest is long enough for spectra")
    cutoffs = sorted(left)
    errors = _errors(
        spectra, [replace(guess, cutoff_hz=cutoff) for cutoff in cutoffs], [left[c] for c in cutoffs]
    )
    known = np.all([one.known for one in errors], axis=0)
    if not known.any():
        return _unseen(
            guess, given, f"{spectra.looked_s:g} s of the data determine no base parameter by itself"
        )
    number, reason = _rule(cutoffs, errors, known, spectra.looked_s)
    if given is not None:
        number, reason = cutoffs.index(given.cutoff_hz), "given"
    spectrum = Spectrum(
        frequency=spectra.frequency,
        torque=np.sqrt(spectra.torque / spectra.width),
        residual=np.sqrt(spectra.residual),
        floor=np.sqrt(spectra.floor),
        positions=np.sqrt(spectra.positions),
    )
    candidates = tuple(
        _candidate(cutoff, one, errors[number], known) for cutoff, one in zip(cutoffs, errors, strict=True)
    )
    chosen = cutoffs[number]
    made = Tradeoff(
        chosen, given is not None, reason, candidates, number, spectra.looked_s, spectrum, spectra.delays_s
    )
    return replace(guess, cutoff_hz=chosen), made


def _unseen(guess: Processing, given: Processing | None, why: str) -> tuple[Processing, Tradeoff]:
    """What the motion alone says, or what was given, where spectra cannot be had."""
    return guess, Tradeoff(guess.cutoff_hz, given is not None, f"no look at other cut-offs: {why}")


def _candidate(cutoff_hz: float, one: _Errors, chosen: _Errors, known: NDArray[np.bool_]) -> CutoffCandidate:
    return CutoffCandidate(
        cutoff_hz=cutoff_hz,
        kept=float(one.kept.min()),
        std=_mean(np.sqrt(one.variance[known] / chosen.variance[known])),
        bias=float((np.abs(one.bias[known]) / np.sqrt(one.variance[known])).max()),
        position_noise=float(one.position_noise.max()),
        residual=float(one.loud.max()) if one.sensed else None,
    )


def _rule(
    cutoffs: list[float], errors: list[_Errors], known: NDArray[np.bool_], looked_s: float
) -> tuple[int, str]:
    """The number of the cut-off to take, and why none above it."""
    size = np.array([_mean(np.sqrt(one.variance + one.bias**2)[known]) for one in errors])
    best = int(np.argmin(size))
    loud = np.maximum([one.loud for one in errors], 1.0)
    # Of f hertz and T seconds, 2 f T numbers show a residual's size.
    chance = 1 / np.sqrt(4 * np.array(cutoffs) * WINDOWED * looked_s)
    worse = (WORSE + chance) * size[best]
    against: dict[int, str] = {}
    for i, one in enumerate(errors):
        rises = loud[i] / (loud[: i + 1] * (1 + CHANCE * chance[: i + 1, None]))
        rise = float(rises.max())
        noise = float(one.position_noise.max())
        if size[i] > worse[i]:
            against[i] = f"errors are {100 * (size[i] / size[best] - 1):.0f} % larger"
        elif noise > POSITIONS:
            against[i] = f"noise of the positions makes {100 * noise:.0f} % of a residual"
        elif rise > LOUDER:
            against[i] = f"a residual is {rise:.1f} times as loud, against its sensor, as below"
    good = [i for i in range(len(errors)) if i not in against]
    if not good:
        number = int(np.flatnonzero(size <= worse)[0])
        return number, "the lowest whose errors are near the least; noise is felt at every cut-off"
    number = max(good)
    if number == len(errors) - 1:
        return number, "as good as any lower one, and arms bend above"
    return number, f"at {cutoffs[number + 1]:g} Hz {against[number + 1]}"


def _errors(spectra: Spectra, processings: list[Processing], left_s: list[float]) -> list[_Errors]:
    joints, bands, size, _ = spectra.squares.shape
    least = max(SILENT * float((spectra.torque / spectra.width).max()), 1e-30)
    sensor = np.maximum(spectra.floor, least)
    floor = np.maximum(spectra.residual, sensor[:, None])
    gains = [processing.gain(spectra.frequency, spectra.rate_hz) ** 2 for processing in processings]
    passes = [gain * spectra.width for gain in gains]
    weights = [passed.sum() / (floor @ passed) for passed in passes]
    factors = [np.outer(w, gain) for w, gain in zip(weights, gains, strict=True)]
    factors += [np.outer(w, gain) ** 2 * floor for w, gain in zip(weights, gains, strict=True)]
    stacked = np.reshape(factors, (-1, joints * bands)) @ spectra.squares.reshape(joints * bands, size * size)
    both = stacked.reshape(2, len(gains), size, size)
    # What the model says and the residual undoes is noise of the regressor, not excitation.
    excited = np.maximum(spectra.torque - spectra.residual * spectra.width, 0.0)[:, 1:]
    moving = excited.sum(axis=1)
    used = spectra.used
    errors = []
    for gain, passed, w, information, noise, seconds in zip(
        gains, passes, weights, both[0], both[1], left_s, strict=True
    ):
        seen = np.diag(information) > 0
        scale = np.sqrt(np.where(seen, np.diag(information), 1.0))
        information = information / np.outer(scale, scale)
        inverse = np.linalg.inv(information + RIDGE * np.eye(size))
        known = (np.diag(inverse) * RIDGE < UNKNOWN) & seen
        shown = inverse @ information  # nothing of directions that the ridge alone holds
        inverse = shown @ inverse @ shown.T
        inverse /= np.outer(scale, scale)
        pushes = np.outer(w, spectra.noise @ passed).reshape(-1)
        attenuated = (pushes @ spectra.pushed.reshape(len(pushes), -1)).reshape(size, size) @ spectra.base
        errors.append(
            _Errors(
                variance=np.maximum(((inverse @ noise) * inverse).sum(axis=1), 0.0) / (2 * seconds),
                bias=-inverse @ attenuated,
                known=known,
                kept=np.divide(excited @ gain[1:], moving, out=np.ones(joints), where=moving > 0)[used],
                position_noise=((spectra.positions @ passed) / (floor @ passed))[used],
                loud=np.sqrt((spectra.residual @ passed) / (sensor * passed.sum()))[used],
                sensed=bool((spectra.floor > least)[used].all()),
            )
        )
    return errors


def _mean(values: Array) -> float:
    """Geometric."""
    return float(np.exp(np.log(np.maximum(values, 1e-300)).mean()))
