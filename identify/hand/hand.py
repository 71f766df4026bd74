"""What the wrist sensor carries, with its delay, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from identify.alignment.delay import Delay
from identify.arrays import Array
from identify.hand.wrench_rows import WrenchRows, wrench_rows
from identify.intervals.interval import Interval, quantile
from identify.intervals.long_run import long_run_variance
from identify.source import Source
from identify.triangle import triangle

__all__ = ["Hand", "identify_hand"]

NAMES = ("m", "mx", "my", "mz", "xx", "xy", "yy", "xz", "yz", "zz")
UNKNOWNS = 22  # ten numbers, six biases, six drifts
LEAST_ROWS = 40
MOST_S = 600.0  # of motion: a longer session is looked at here and there, so that memory is bounded
ROUNDS = 8
SETTLED_S = 1e-8
REACH = 0.03  # delay times cut-off that one expansion is good for


@dataclass(frozen=True)
class Hand:
    """Everything beyond the sensor, in the sensor's frame.

    ten         m, mx my mz, xx xy yy xz yz zz about the sensor's origin, shape (10,)
    covariance  of them, shape (10, 10)
    bias        of the sensor in the middle of the data [N, N m], shape (6,), and its drift per second
    delay       of the wrench against positions
    intervals   by name: `hand.mass`, `hand.com.x`, `hand.inertia.xx`, ...
    """

    ten: Array
    covariance: Array
    bias: Array
    drift: Array
    delay: Delay
    intervals: dict[str, Interval]


def identify_hand(source: Source) -> Hand | None:
    """From the wrenches in the data; None without a sensor, or with too few rows."""
    lag, rows = 0.0, _rows(source, 0.0)
    if rows is None:
        return None
    for _ in range(ROUNDS):
        rows = rows if lag == 0.0 else _rows(source, lag) or rows
        design = _design(rows)
        theta, weights, rest = _solved(rows, design, REACH / source.processing.cutoff_hz)
        if abs(rest) <= REACH / source.processing.cutoff_hz:
            break
        lag = source.surveys[0].sampling.step_s * round((lag + rest) / source.surveys[0].sampling.step_s)
    alike = max(source.processing.alikeness(1 / each.sampling.step_s) for each in source.surveys)
    return _judged(source, rows, design, theta, weights, (lag, rest), alike)


def _rows(source: Source, lag_s: float) -> WrenchRows | None:
    robot = source.robot
    if robot.sensor is None:
        return None
    surveys = [found for found in source.surveys if found.data.wrench is not None]
    every = max(1, round(sum(found.data.duration_s for found in surveys) / MOST_S))
    parts = [
        part for found in surveys[::every] for part in wrench_rows(robot, source.processing, found, lag_s)
    ]
    rows = WrenchRows.joined(parts) if parts else None
    return rows if rows is not None and len(rows.time) >= LEAST_ROWS else None


def _solved(rows: WrenchRows, design: Array, reach: float) -> tuple[Array, Array, float]:
    """Unknowns (22,), weights of the six equations, and the delay that is left [s]."""
    delay, weights = 0.0, np.ones(6)
    freedom = max(len(rows.time) - UNKNOWNS / 6, 1.0)
    for _ in range(ROUNDS):
        values = rows.wrench @ np.array([1.0, delay, delay**2 / 2])
        theta, *_ = np.linalg.lstsq(
            _stacked(design, weights), (values * np.sqrt(weights)).ravel(), rcond=None
        )
        residual = values - design @ theta
        weights = 1 / np.maximum((residual**2).sum(axis=0) / freedom, 1e-18)
        step = _step(rows, design, weights, delay, reach)
        delay += step
        if abs(step) < SETTLED_S:
            break
    return theta, weights, delay


def _design(rows: WrenchRows) -> Array:
    """Columns of all unknowns, shape (K, 6, 22)."""
    count = len(rows.time)
    since = rows.time - rows.time.mean()
    eye = np.broadcast_to(np.eye(6), (count, 6, 6))
    return np.concatenate([rows.regressor, eye, eye * since[:, None, None]], axis=2)


def _stacked(design: Array, weights: Array) -> Array:
    return (design * np.sqrt(weights)[None, :, None]).reshape(-1, design.shape[2])


def _step(rows: WrenchRows, design: Array, weights: Array, delay: float, reach: float) -> float:
    """Newton step of the delay, x profiled out (see `alignment.torque_delay`)."""
    root = np.sqrt(weights)[None, :]
    first = rows.wrench @ np.array([0.0, 1.0, delay])
    value = rows.wrench @ np.array([1.0, delay, delay**2 / 2])
    columns = [(column * root).ravel() for column in (value, first, rows.wrench[:, :, 2])]
    left = triangle(np.column_stack([_stacked(design, weights), *columns]))[-3:, -3:]
    G = left.T @ left
    bend = G[1, 1] + G[0, 2]
    return float(np.clip(-G[0, 1] / bend, -reach, reach)) if bend > 0 else 0.0


def _judged(
    source: Source,
    rows: WrenchRows,
    design: Array,
    theta: Array,
    weights: Array,
    lags: tuple[float, float],
    alike: float,
) -> Hand:
    """Covariance from the scatter of the scores, the delay one more unknown; intervals by the delta method."""
    rest, delay = lags[1], sum(lags)
    first = rows.wrench @ np.array([0.0, 1.0, rest])
    residual = rows.wrench @ np.array([1.0, rest, rest**2 / 2]) - design @ theta
    whole = np.concatenate([design, -first[:, :, None]], axis=2)
    weighted = whole * weights[None, :, None]
    A = np.einsum("kia,kib->ab", weighted, whole)
    A[-1, -1] = (weights * (first**2 + residual * rows.wrench[:, :, 2])).sum()
    size = np.sqrt(np.abs(np.diag(A)))
    inverse = np.linalg.pinv(A / np.outer(size, size), hermitian=True) / np.outer(size, size)
    scores = np.einsum("kia,ki->ka", weighted, residual) @ inverse
    own, lag = long_run_variance(scores)
    rows_count = 6 * len(rows.time)
    formal = alike * inverse * float((weights * residual**2).sum()) / max(rows_count - UNKNOWNS - 1, 1)
    ratio = own * rows_count / max(rows_count - UNKNOWNS - 1, 1) / np.diag(formal)
    widening = np.sqrt(np.maximum(ratio, 1.0))
    covariance = formal * np.outer(widening, widening)
    degrees = 1.5 * len(rows.time) / (lag + 1)
    std = float(np.sqrt(covariance[-1, -1]))
    half = quantile(degrees) * std
    data = next(found.data for found in source.surveys if found.data.wrench is not None)
    told = Delay(data.wrench_stream, data.motion_stream, delay, std, delay - half, delay + half)
    ten, spread = theta[:10], covariance[:10, :10]
    return Hand(ten, spread, theta[10:16], theta[16:22], told, _intervals(ten, spread, degrees))


def _intervals(ten: Array, covariance: Array, degrees: float) -> dict[str, Interval]:
    mass = float(ten[0])
    found = {"hand.mass": Interval.of(mass, float(np.sqrt(covariance[0, 0])), degrees, "kg")}
    for k, axis in enumerate("xyz", start=1):
        gradient = np.zeros(10)
        gradient[0], gradient[k] = -ten[k] / mass**2, 1 / mass
        std = float(np.sqrt(gradient @ covariance @ gradient))
        found[f"hand.com.{axis}"] = Interval.of(float(ten[k] / mass), std, degrees, "m")
    for k, name in enumerate(NAMES[4:], start=4):
        std = float(np.sqrt(covariance[k, k]))
        found[f"hand.inertia.{name}"] = Interval.of(float(ten[k]), std, degrees, "kg m2")
    return found
