"""What the wrist sensor carries, with its delay, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.bodies.least_norm import least_norm
from heft.identify.bodies.parameters import LINK_TERMS
from heft.identify.certainty.delay_windows import delay_windows, drift_warnings
from heft.identify.certainty.interval import Interval, quantile
from heft.identify.certainty.position_noise import INSTANTS, acceleration_noise
from heft.identify.data import Dataset
from heft.identify.data.white_noise import MOST_SAMPLES
from heft.identify.estimation.alignment.delay import Delay
from heft.identify.information.fit_data import FitData
from heft.identify.information.long_run import long_run_variance
from heft.identify.information.triangle import triangle
from heft.identify.payload.bare_hand.hand import Hand
from heft.identify.payload.bare_hand.hand_alone import hand_alone
from heft.identify.payload.bare_hand.wrench_information import TEN, WrenchInformation, wrench_information
from heft.identify.payload.estimation.wrist_sensor import UNALIGNED_STD_S, WristSensor

__all__ = ["IdentifiedHand", "identify_hand"]


@dataclass(frozen=True)
class IdentificationRules:
    """Of the hand from an arm's identification. Set by hand; `tests/identify/payload/bare_hand` tries them.

    least_rows     instants, with six equations each, for ten numbers and twelve of bias and drift
    least_samples  that noise is read off
    rounds         at most, of weights and delay in turn
    settled_s      [s]: a delay that moves by less has settled
    reach          delay times cut-off that one expansion is good for
    unexplained    of forces or torques, biases taken off: a sensor's axes are true to a degree or two
    loud           times the sensor's noise: crosstalk and hysteresis are less
    least_sigma    of forces or torques: none is known better
    known          of the largest eigenvalue, columns in units of their size: less is not determined
    """

    least_rows: int = 40
    least_samples: int = 16
    rounds: int = 8
    settled_s: float = 1e-8
    reach: float = 0.03
    unexplained: float = 0.05
    loud: float = 5.0
    least_sigma: float = 1e-5
    known: float = 1e-10


RULES = IdentificationRules()


@dataclass(frozen=True, kw_only=True)
class IdentifiedHand(Hand):
    """A hand with what an arm's identification needs of it.

    precision   what the wrenches know of the ten numbers: inverse of their covariance, shape (10, 10); singular where
                they know nothing
    bias        of the sensor in the middle of the data [N, N m], shape (6,), and its drift per second
    delay       of the wrench against positions, with its interval and its course over time
    intervals   by name: `hand.mass`, `hand.com.x`, `hand.inertia.xx`, ...
    attenuated  what noise of the positions moved the ten numbers by, shape (10,); the covariance allows for it
    doubt       what to say if the six equations do not hold, else empty
    """

    precision: Array
    bias: Array
    drift: Array
    delay: Delay
    intervals: dict[str, Interval]
    attenuated: Array
    doubt: str = ""


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


def identify_hand(fit_data: FitData) -> IdentifiedHand | None:
    """From the wrenches in the data; None without a sensor, or with too few rows."""
    step, reach = fit_data.surveys[0].sampling.step_s, RULES.reach / fit_data.processing.cutoff_hz
    lag, best = 0.0, None
    for _ in range(RULES.rounds):
        information = wrench_information(fit_data, lag)
        if information is None or information.rows < RULES.least_rows:
            break
        solution = _solved(information, lag, reach)
        best = information, solution
        if abs(solution.rest_s) <= reach:
            break
        lag = step * round((lag + solution.rest_s) / step)
    return None if best is None else _assessed(fit_data, *best)


def _solved(information: WrenchInformation, lag: float, reach: float) -> _Solution:
    """Weights by each equation's own residual and the delay, in turn until they settle."""
    solution = _Solution(np.zeros(TEN), np.ones(6), lag, 0.0)
    freedom = max(information.rows - information.unknowns / 6, 1.0)
    factors = information.factors
    squares = (factors[:, :, TEN] ** 2).sum(axis=1).reshape(2, 3).max(axis=1) / information.rows
    least = np.maximum(np.repeat(RULES.least_sigma**2 * squares, 3), 1e-18)
    for _ in range(RULES.rounds):
        rows = (np.sqrt(solution.weights)[:, None, None] * factors).reshape(-1, factors.shape[2])
        ten = least_norm(rows[:, :TEN], rows[:, TEN:] @ solution.value, RULES.known)
        residual = factors[:, :, TEN:] @ solution.value - factors[:, :, :TEN] @ ten
        weights = 1 / np.maximum((residual**2).sum(axis=1) / freedom, least)
        step = _step(information, weights, solution, reach)
        solution = _Solution(ten, weights, lag, solution.rest_s + step)
        if abs(step) < RULES.settled_s:
            break
    return solution


def _step(information: WrenchInformation, weights: Array, solution: _Solution, reach: float) -> float:
    """Newton step of the delay, the ten numbers profiled out (see `alignment.torque_delay`)."""
    rows = (np.sqrt(weights)[:, None, None] * information.factors).reshape(-1, TEN + 3)
    columns = rows[:, TEN:] @ np.column_stack([solution.value, solution.slope, [0.0, 0.0, 1.0]])
    left = triangle(np.column_stack([rows[:, :TEN], columns]))[-3:, -3:]
    G = left.T @ left
    bend = G[1, 1] + G[0, 2]
    return float(np.clip(-G[0, 1] / bend, -reach, reach)) if bend > 0 else 0.0


def _assessed(fit_data: FitData, information: WrenchInformation, solution: _Solution) -> IdentifiedHand:
    """Covariance from the scatter of the scores, the delay one more unknown; intervals by the delta method."""
    # Columns of ten numbers and delay (shape (13, 11)), and the residual as a combination of the same (13,).
    columns = np.zeros((TEN + 3, TEN + 1))
    columns[:TEN, :TEN] = np.eye(TEN)
    columns[TEN:, TEN] = -solution.slope
    residual = np.concatenate([-solution.ten, solution.value])
    weighted = np.einsum("i,giab->gab", solution.weights, information.squares)
    pulls = weighted @ residual @ columns
    A = columns.T @ weighted.sum(axis=0) @ columns
    A[TEN, TEN] += residual @ weighted.sum(axis=0)[:, -1]
    rows = 6 * information.rows
    freedom = max(rows - information.unknowns - 1, 1)
    alike = max(fit_data.processing.alikeness(1 / each.sampling.step_s) for each in fit_data.surveys)
    variance = alike * float(residual @ weighted.sum(axis=0) @ residual) / freedom

    size = np.sqrt(np.abs(np.diag(A)))
    seen = size > RULES.known * size[:TEN].max()  # a column of rounding errors says nothing
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
    bias = _attenuation(fit_data, solution.ten, solution.weights, information.rows, plain)
    pushed = precision @ bias
    precision = precision - np.outer(pushed, pushed) / (1 + bias @ pushed)
    covariance = _covariance(precision)

    timed = known[TEN] and A[TEN, TEN] > 0 and formal[TEN] > 0
    std = float(widening[TEN] * np.sqrt(formal[TEN]) / size[TEN]) if timed else np.inf
    delay, half = solution.lag_s + solution.rest_s, quantile(degrees) * std
    data = next(one.data for one in fit_data.surveys if one.data.wrench is not None)
    bends = np.einsum("a,gab,b->g", columns[:, TEN], weighted, columns[:, TEN]) + weighted[:, -1] @ residual
    windows = delay_windows(delay, influence[:, TEN] / size[TEN], bends, information.starts) if timed else ()
    late = Delay(
        data.wrench_stream, data.motion_stream, delay, std, delay - half, delay + half, windows=windows
    )
    offsets = information.offsets @ residual
    sensor = _sensor(data, std)
    doubt = _doubt(fit_data, sensor, information, solution)
    return IdentifiedHand(
        frozen(solution.ten),
        frozen(covariance),
        delay,
        std,
        sensor,
        notes=(*([doubt] if doubt else []), *drift_warnings(late)),
        precision=frozen(precision),
        bias=offsets[:, 0],
        drift=offsets[:, 1],
        delay=late,
        intervals=_intervals(solution.ten, covariance, degrees),
        attenuated=bias,
        doubt=doubt,
    )


def _attenuation(fit_data: FitData, ten: Array, weights: Array, rows: int, spread: Array) -> Array:
    """The bias of the ten numbers by noise of the positions, with `weights` on the squares of the six equations (6,).

    As in the joint equations (`certainty.position_noise`): it comes by the accelerations, and draws estimates towards
    zero by -P^-1 (sum over rows E[dA' W dA]) phi, with dA = (dA/dq'') dq'' linear in the noise. Shape (10,).

    `spread`, shape (10, 10), is their covariance for residuals of variance 1 / weights at `rows` instants.
    """
    robot = hand_alone(fit_data.robot)
    hand = slice(TEN * (len(robot.links) - 1), TEN * len(robot.links))
    surveys = [one for one in fit_data.surveys if one.data.wrench is not None]
    whole = sum(one.data.duration_s for one in surveys)
    squares = np.zeros((10, 10))
    for one in surveys:
        data = one.data
        variance = acceleration_noise(fit_data.processing, data, 1 / one.sampling.step_s)
        picked = np.linspace(0, len(data) - 1, INSTANTS).astype(int)
        q = np.asarray(data.q[picked], dtype=np.float64)
        for i, change in enumerate(robot.regressor.by_acceleration(q)[:, :, -6:, hand]):
            change = change * np.sqrt(weights)[None, :, None]
            share = variance[i] * rows * data.duration_s / whole / INSTANTS
            squares += share * np.einsum("kia,kib->ab", change, change)
    return -spread @ (squares @ ten)


def _doubt(
    fit_data: FitData, sensor: WristSensor, information: WrenchInformation, solution: _Solution
) -> str:
    """Residuals that are both a large part of the wrench and far louder than its noise are no noise."""
    surveys = [one for one in fit_data.surveys if one.data.wrench is not None]
    taps = fit_data.processing.taps(1 / surveys[0].sampling.step_s)
    noise = np.repeat([sensor.force_noise, sensor.torque_noise], 3) * float(np.linalg.norm(taps))
    measured = information.factors[:, :, TEN:] @ solution.value
    left = measured - information.factors[:, :, :TEN] @ solution.ten
    loud = np.sqrt((left**2).sum(axis=1) / information.rows) > RULES.loud * noise
    three = (slice(0, 3), slice(3, 6))
    shares = [
        float(np.linalg.norm(left[axes])) / max(float(np.linalg.norm(measured[axes])), 1e-15)
        for axes in three
    ]
    if not any(
        share > RULES.unexplained and loud[axes].any() for share, axes in zip(shares, three, strict=True)
    ):
        return ""
    stream = surveys[0].data.wrench_stream
    return (
        f"a hand explains {stream} badly: {100 * shares[0]:.0f} % of the forces and {100 * shares[1]:.0f} % of the "
        f"torques are left, at most {100 * RULES.unexplained:.0f} % may be if it is not noise. It has no part in the "
        "links: compare the sensor's frame in the robot's file, its axes and signs, and what touched the hand"
    )


def _sensor(data: Dataset, delay_std: float) -> WristSensor:
    """The wrist sensor, as its known samples show it."""
    assert data.wrench is not None
    values = np.asarray(data.wrench[:MOST_SAMPLES], dtype=np.float64)
    known = np.isfinite(values).all(axis=1)
    delay_std = min(delay_std, UNALIGNED_STD_S)
    if known.sum() < RULES.least_samples:
        return WristSensor(delay_std=delay_std)
    return WristSensor.from_samples(data.t[:MOST_SAMPLES][known], values[known], delay_std=delay_std)


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
    good = values > RULES.known * values[-1]
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
    intervals = {"hand.mass": Interval.of(mass, float(np.sqrt(covariance[0, 0])), degrees, "kg")}
    for k, axis in enumerate("xyz", start=1):
        part = covariance[np.ix_([0, k], [0, k])]
        gradient = np.array([-ten[k] / mass**2, 1 / mass])
        std = float(np.sqrt(gradient @ part @ gradient)) if np.isfinite(part).all() else np.inf
        intervals[f"hand.com.{axis}"] = Interval.of(float(ten[k] / mass), std, degrees, "m")
    for k, name in enumerate(LINK_TERMS[4:], start=4):
        std = float(np.sqrt(covariance[k, k]))
        intervals[f"hand.inertia.{name}"] = Interval.of(float(ten[k]), std, degrees, "kg m2")
    return intervals
