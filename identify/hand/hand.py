"""What the wrist sensor carries, with its delay, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from identify.alignment.delay import Delay
from identify.arrays import Array
from identify.hand.noise import attenuation, wrench_noise
from identify.hand.wrench_information import TEN, WrenchInformation, wrench_information
from identify.intervals.delay_windows import delay_windows, moves
from identify.intervals.interval import Interval, quantile
from identify.intervals.long_run import long_run_variance
from identify.source import Source
from identify.triangle import triangle

__all__ = ["Hand", "identify_hand"]

NAMES = ("m", "mx", "my", "mz", "xx", "xy", "yy", "xz", "yz", "zz")
LEAST_ROWS = 40
ROUNDS = 8
SETTLED_S = 1e-8
REACH = 0.03  # delay times cut-off that one expansion is good for
UNEXPLAINED = 0.05  # of forces or torques, biases taken off: a sensor's axes are true to a degree or two
LOUD = 5.0  # times the sensor's noise: crosstalk and hysteresis are less
LEAST_SIGMA = 1e-5  # of forces or torques: none is known better
KNOWN = 1e-10  # of the largest eigenvalue, columns in units of their size: less is not determined


@dataclass(frozen=True)
class Hand:
    """Everything beyond the sensor, in the sensor's frame.

    ten         m, mx my mz, xx xy yy xz yz zz about the sensor's origin, shape (10,)
    precision   what the wrenches know of them: inverse of their covariance, shape (10, 10); singular where they do not
    covariance  of them, shape (10, 10); infinite where the wrenches say nothing
    bias        of the sensor in the middle of the data [N, N m], shape (6,), and its drift per second
    delay       of the wrench against positions
    intervals   by name: `hand.mass`, `hand.com.x`, `hand.inertia.xx`, ...
    attenuated  what noise of the positions moved the ten numbers by, shape (10,); the covariance allows for it
    doubt       what to say if the six equations do not hold, else empty
    """

    ten: Array
    precision: Array
    covariance: Array
    bias: Array
    drift: Array
    delay: Delay
    intervals: dict[str, Interval]
    attenuated: Array
    doubt: str = ""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know about it."""
        return (*([self.doubt] if self.doubt else []), *moves(self.delay))


@dataclass(frozen=True)
class _Solution:
    """Ten numbers, weights of the six equations, and the delay that is left beside `lag_s` [s]."""

    ten: Array
    weights: Array
    lag_s: float
    rest_s: float

    @property
    def value(self) -> Array:
        """The wrench's three columns to the wrench at its own time."""
        return np.array([1.0, self.rest_s, self.rest_s**2 / 2])

    @property
    def slope(self) -> Array:
        """The same to its derivative with respect to the delay."""
        return np.array([0.0, 1.0, self.rest_s])


def identify_hand(source: Source) -> Hand | None:
    """From the wrenches in the data; None without a sensor, or with too few rows."""
    step, reach = source.surveys[0].sampling.step_s, REACH / source.processing.cutoff_hz
    lag, found = 0.0, None
    for _ in range(ROUNDS):
        information = wrench_information(source, lag)
        if information is None or information.rows < LEAST_ROWS:
            break
        solution = _solved(information, lag, reach)
        found = information, solution
        if abs(solution.rest_s) <= reach:
            break
        lag = step * round((lag + solution.rest_s) / step)
    return None if found is None else _judged(source, *found)


def _solved(information: WrenchInformation, lag: float, reach: float) -> _Solution:
    """Weights by each equation's own residual and the delay, in turn until they settle."""
    found = _Solution(np.zeros(TEN), np.ones(6), lag, 0.0)
    freedom = max(information.rows - information.unknowns / 6, 1.0)
    factors = information.factors
    squares = (factors[:, :, TEN] ** 2).sum(axis=1).reshape(2, 3).max(axis=1) / information.rows
    least = np.maximum(np.repeat(LEAST_SIGMA**2 * squares, 3), 1e-18)
    for _ in range(ROUNDS):
        rows = (np.sqrt(found.weights)[:, None, None] * factors).reshape(-1, factors.shape[2])
        ten = np.asarray(np.linalg.lstsq(rows[:, :TEN], rows[:, TEN:] @ found.value, rcond=KNOWN)[0])
        residual = factors[:, :, TEN:] @ found.value - factors[:, :, :TEN] @ ten
        weights = 1 / np.maximum((residual**2).sum(axis=1) / freedom, least)
        step = _step(information, weights, found, reach)
        found = _Solution(ten, weights, lag, found.rest_s + step)
        if abs(step) < SETTLED_S:
            break
    return found


def _step(information: WrenchInformation, weights: Array, found: _Solution, reach: float) -> float:
    """Newton step of the delay, the ten numbers profiled out (see `alignment.torque_delay`)."""
    rows = (np.sqrt(weights)[:, None, None] * information.factors).reshape(-1, TEN + 3)
    columns = rows[:, TEN:] @ np.column_stack([found.value, found.slope, [0.0, 0.0, 1.0]])
    left = triangle(np.column_stack([rows[:, :TEN], columns]))[-3:, -3:]
    G = left.T @ left
    bend = G[1, 1] + G[0, 2]
    return float(np.clip(-G[0, 1] / bend, -reach, reach)) if bend > 0 else 0.0


def _judged(source: Source, information: WrenchInformation, found: _Solution) -> Hand:
    """Covariance from the scatter of the scores, the delay one more unknown; intervals by the delta method."""
    # Columns of ten numbers and delay (shape (13, 11)), and the residual as a combination of the same (13,).
    columns = np.zeros((TEN + 3, TEN + 1))
    columns[:TEN, :TEN] = np.eye(TEN)
    columns[TEN:, TEN] = -found.slope
    residual = np.concatenate([-found.ten, found.value])
    weighted = np.einsum("i,giab->gab", found.weights, information.squares)
    pulls = weighted @ residual @ columns
    A = columns.T @ weighted.sum(axis=0) @ columns
    A[TEN, TEN] += residual @ weighted.sum(axis=0)[:, -1]
    rows = 6 * information.rows
    freedom = max(rows - information.unknowns - 1, 1)
    alike = max(source.processing.alikeness(1 / each.sampling.step_s) for each in source.surveys)
    variance = alike * float(residual @ weighted.sum(axis=0) @ residual) / freedom

    size = np.sqrt(np.abs(np.diag(A)))
    seen = size > KNOWN * size[:TEN].max()  # a column of rounding errors says nothing
    A, pulls, size = A * np.outer(seen, seen), pulls * seen, np.where(seen, size, 1.0)
    inverse, known = _inverse(A / np.outer(size, size))
    influence = (pulls / size) @ inverse
    own, lag = long_run_variance(influence)
    formal = variance * np.diag(inverse)
    ratio = np.divide(own * rows / freedom, formal, out=np.ones(TEN + 1), where=formal > 0)
    degrees = 1.5 * len(information.starts) / (lag + 1)
    widening = _widening(ratio, degrees)
    scale = size / (widening * np.sqrt(variance))
    whole = A / np.outer(size, size) * np.outer(scale, scale)
    precision = whole[:TEN, :TEN]
    if known[TEN] and whole[TEN, TEN] > 0:
        precision = precision - np.outer(whole[:TEN, TEN], whole[TEN, :TEN]) / whole[TEN, TEN]
    plain = inverse[:TEN, :TEN] / np.outer(size[:TEN], size[:TEN])
    bias = attenuation(source, found.ten, found.weights, information.rows, plain)
    pushed = precision @ bias
    precision = precision - np.outer(pushed, pushed) / (1 + bias @ pushed)
    covariance = _covariance(precision)

    told = known[TEN] and A[TEN, TEN] > 0 and formal[TEN] > 0
    std = float(widening[TEN] * np.sqrt(formal[TEN]) / size[TEN]) if told else np.inf
    delay, half = found.lag_s + found.rest_s, quantile(degrees) * std
    data = next(one.data for one in source.surveys if one.data.wrench is not None)
    bends = np.einsum("a,gab,b->g", columns[:, TEN], weighted, columns[:, TEN]) + weighted[:, -1] @ residual
    windows = delay_windows(delay, influence[:, TEN] / size[TEN], bends, information.starts) if told else ()
    late = Delay(
        data.wrench_stream, data.motion_stream, delay, std, delay - half, delay + half, windows=windows
    )
    offsets = (information.offsets @ residual).mean(axis=0)
    return Hand(
        found.ten,
        precision,
        covariance,
        offsets[:, 0],
        offsets[:, 1],
        late,
        _intervals(found.ten, covariance, degrees),
        bias,
        _doubt(source, information, found),
    )


def _doubt(source: Source, information: WrenchInformation, found: _Solution) -> str:
    """Residuals that are both a large part of the wrench and far louder than its noise are no noise."""
    surveys = [one for one in source.surveys if one.data.wrench is not None]
    taps = source.processing.taps(1 / surveys[0].sampling.step_s)
    noise = wrench_noise(surveys[0].data) * float(np.linalg.norm(taps))
    measured = information.factors[:, :, TEN:] @ found.value
    left = measured - information.factors[:, :, :TEN] @ found.ten
    loud = np.sqrt((left**2).sum(axis=1) / information.rows) > LOUD * noise
    three = (slice(0, 3), slice(3, 6))
    shares = [
        float(np.linalg.norm(left[axes])) / max(float(np.linalg.norm(measured[axes])), 1e-15)
        for axes in three
    ]
    if not any(share > UNEXPLAINED and loud[axes].any() for share, axes in zip(shares, three, strict=True)):
        return ""
    stream = surveys[0].data.wrench_stream
    return (
        f"a hand explains {stream} badly: {100 * shares[0]:.0f} % of the forces and {100 * shares[1]:.0f} % of the "
        f"torques are left, at most {100 * UNEXPLAINED:.0f} % may be if it is not noise. It has no part in the links: "
        "compare the sensor's frame in the robot's file, its axes and signs, and what touched the hand"
    )


def _widening(ratio: Array, degrees: float) -> Array:
    """Factors on standard deviations, from variances by the residuals' own scatter over those of white noise.

    A ratio above 1 is believed as far as chance does not explain it: its own variance is 2 / degrees, and of an excess
    e that much over e is taken off (Stein). Taking every ratio above 1 as it is makes white noise 3 % too wide.
    """
    excess = np.maximum(ratio - 1.0, 1e-12)
    return np.sqrt(1.0 + np.maximum(excess - 2 / (degrees * excess), 0.0))


def _inverse(matrix: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Of a symmetric matrix with ones on its diagonal, in the directions that it determines, and whose those are."""
    values, vectors = np.linalg.eigh(matrix)
    good = values > KNOWN * values[-1]
    inverse = (vectors[:, good] / values[good]) @ vectors[:, good].T
    return inverse, (vectors[:, ~good] ** 2).sum(axis=1) < 1e-6


def _covariance(precision: Array) -> Array:
    """Inverse of a precision; infinite where it says nothing."""
    size = np.sqrt(np.diag(precision))
    size = np.where(size > 0, size, 1.0)
    inverse, known = _inverse(precision / np.outer(size, size))
    covariance = inverse / np.outer(size, size)
    covariance[~known, :] = covariance[:, ~known] = 0.0
    covariance[~known, ~known] = np.inf
    return covariance


def _intervals(ten: Array, covariance: Array, degrees: float) -> dict[str, Interval]:
    mass = float(ten[0])
    found = {"hand.mass": Interval.of(mass, float(np.sqrt(covariance[0, 0])), degrees, "kg")}
    for k, axis in enumerate("xyz", start=1):
        part = covariance[np.ix_([0, k], [0, k])]
        gradient = np.array([-ten[k] / mass**2, 1 / mass])
        std = float(np.sqrt(gradient @ part @ gradient)) if np.isfinite(part).all() else np.inf
        found[f"hand.com.{axis}"] = Interval.of(float(ten[k] / mass), std, degrees, "m")
    for k, name in enumerate(NAMES[4:], start=4):
        std = float(np.sqrt(covariance[k, k]))
        found[f"hand.inertia.{name}"] = Interval.of(float(ten[k]), std, degrees, "kg m2")
    return found
