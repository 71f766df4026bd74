"""Delays of six-axis sensors and of the IMU, each its own, beside that of everything else that was measured.

What a row explains is a sum over sources, y = sum_s y_s(t + d_s), with d_s how old the samples of source s are. To
second order y_s(t + d) = y_s + d y_s' + d^2/2 y_s'', and the squared residual that least squares leaves is a polynomial
in all delays, as in `torque_delay`: two columns for each of them beside the regressor, and the links' parameters in
common.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.data.rows import source_rates
from heft.identify.estimation.alignment.delay import SensorDelay
from heft.identify.estimation.alignment.torque_delay import LONGEST_S, REACH, UNSURE, Alignment, several
from heft.identify.estimation.least_squares import closest_to_prior, weights_of
from heft.identify.information.fit_data import FitData
from heft.identify.information.long_run import long_run_variance
from heft.identify.information.triangle import triangle
from heft.identify.robot import Robot

__all__ = ["settled_sensors"]

SURE = 3.0  # standard deviations by which a sensor must differ from the rest to get a delay of its own
JOINTS = "joints"
ROUNDS = 12
SETTLED = 0.1  # of a standard deviation
LATER_S = 5e-4  # for the derivative by an IMU's delay


def settled_sensors(alignment: Alignment, again: Callable[[Robot], Alignment]) -> Alignment:
    """The alignment with a delay of its own for each sensor that is not as old as the rest; the same where none is.

    again   aligns the data anew for the robot with other delays of its sensors
    """
    (sensors, imu), found = sought(alignment.data), tuple[SensorDelay, ...]()
    for _ in range(ROUNDS if sensors or imu else 0):
        steps = _delays(alignment, sensors, imu, SETTLED if found else SURE)
        if not steps:
            break
        found = steps
        alignment = again(_with_delays(alignment.data.robot, found))
    return replace(alignment, sensors=found)


def sought(data: FitData) -> tuple[tuple[str, ...], str | None]:
    """Sensors whose delay is not known and can be told from that of others, and the IMU of the same kind, if any.

    What the root does is what all else is measured against, beside the joints: of one sensor and an IMU the sensor's
    delay is the common one.
    """
    robot, names = data.robot, {one.imu_name for one in data.datasets if one.base is None}
    used = robot.sources or (JOINTS,)
    unknown = tuple(name for name in used if name in robot.sensors and robot.sensors[name].delay_s is None)
    imu = next(iter(names), "") if len(names) == 1 and robot.tree.free else ""
    return unknown if len(used) > 1 else (), imu if imu and imu not in robot.imu_delays else None


def _delays(
    alignment: Alignment, sensors: Sequence[str], imu: str | None, more: float
) -> tuple[SensorDelay, ...]:
    """Delays of these sensors, one step nearer; none where no one differs from the rest by `more` standard deviations.

    What has no delay of its own (joints, sensors whose delay is given) stays with the common one. Where there is
    nothing of the kind, the common one becomes a part of each; one that is given stays as it is.
    """
    data, robot = alignment.data, alignment.data.robot
    rest = (
        tuple(name for name in robot.sources or (JOINTS,) if name not in sensors)
        if alignment.estimated
        else ()
    )
    groups = ([rest] if rest else []) + [(name,) for name in sensors]
    step, std = _profile(alignment, groups, imu)
    found: list[tuple[str, float, float]] = []
    differ = False
    least = UNSURE / data.processing.cutoff_hz
    if imu is not None and std[-1] <= least:
        found.append((imu, robot.imu_delays.get(imu, 0.0) + float(step[-1]), float(std[-1])))
        differ = bool(abs(step[-1]) > more * std[-1])
    first = 1 if rest else 0
    own, doubt = step[first : first + len(sensors)], std[first : first + len(sensors)]
    sure = doubt <= least
    if rest:
        own, doubt = own - step[0], np.hypot(doubt, std[0])
    alike = rest or more < SURE or not sure.any()
    others = 0.0 if alike else float(np.average(own[sure], weights=doubt[sure] ** -2.0))
    differ |= bool(np.any(sure & (np.abs(own - others) > more * doubt)))
    common = float(np.mean(data.delays_s)) if alignment.estimated and not rest else 0.0
    for name, one, each, known in zip(sensors, own.tolist(), doubt.tolist(), sure.tolist(), strict=True):
        before = robot.sensors[name].delay_s or 0.0
        found.append((name, before + (one + common if known else 0.0), each if known else np.inf))
    return (
        tuple(
            SensorDelay(name, float(np.clip(own_s, -LONGEST_S, LONGEST_S)), each)
            for name, own_s, each in found
        )
        if differ
        else ()
    )


def _profile(alignment: Alignment, groups: Sequence[tuple[str, ...]], imu: str | None) -> tuple[Array, Array]:
    """How much later each group of sources should be read [s], and the standard deviations [s], shapes (G,).

    An IMU is the last: its readings move the root, and so the rows times the parameters. What is left of one row
    resembles that of its neighbours and of others at the same instant (noise of an IMU is in all of them): standard
    deviations are those of the sums of scores over time.
    """
    data, problem = alignment.data, alignment.problem
    layout, n = data.robot.regressor.layout, 2 * (len(groups) + (imu is not None))
    blocks = list(data.blocks())
    rates = []
    for block in blocks:
        group = data.delay_group(block.dataset)
        made_s = data.rows_delays_s[group]
        rest_s = data.delays_s[group] - made_s
        columns = [
            source_rates(data.robot, data.surveys[block.dataset], data.processing, block.time, made_s, one)
            for one in groups
        ]
        for one in columns:
            one[:, :, 0] += rest_s * one[:, :, 1]
        rates.append(np.concatenate(columns, axis=2) if columns else np.zeros((*block.keep.shape, 0)))
    slopes = np.concatenate(rates)
    if imu is not None:
        slope = _by_imu(alignment, imu)
        slopes = np.concatenate([slopes, np.stack([slope, np.zeros_like(slope)], axis=2)], axis=2)
    table, keep = np.concatenate([b.table for b in blocks]), np.concatenate([b.keep for b in blocks])
    if data.own_offsets:  # as the rows: each recording's own mean is no part of them
        numbers = np.concatenate([np.full(len(b.index), data.recordings[b.dataset]) for b in blocks])
        for number in range(data.recording_count):
            here = numbers == number
            slopes[here] -= slopes[here].mean(axis=0)
    p = len(layout.names)
    near = np.linalg.inv(problem.metric)  # else noise of the IMU biases delays through what data tell badly
    parts, rows = [np.column_stack([near, near @ problem.start, np.zeros((p, n))])], []
    for j, weight in enumerate(problem.joint_weights[0]):
        used, part = keep[:, j], layout.row(j)
        if weight <= 0 or not used.any():
            continue
        own = np.sqrt(weight) * np.hstack([table[used, part], slopes[used, j]])
        places = np.append(layout.parameters[part], np.arange(p + 1, p + 1 + n))
        rows.append((used, own, places))
        small = triangle(own)
        full = np.zeros((len(small), p + 1 + n))
        full[:, places] = small
        parts.append(full)
    whole = triangle(np.concatenate(parts))
    left = whole[p:, p:]
    at, _ = several(left.T @ left, REACH / data.processing.cutoff_hz)
    beside = np.zeros(
        (p + 1 + n, 1 + n // 2)
    )  # measured at these delays, and each slope, beside the regressor
    beside[p, 0], beside[p + 1 :: 2, 0] = 1.0, at
    beside[np.arange(p + 1, p + 1 + n, 2), np.arange(1, 1 + n // 2)] = 1.0
    beside[:p] = -np.linalg.solve(whole[:p, :p], whole[:p, p:] @ beside[p:])
    scores = np.zeros((len(keep), n // 2))
    for used, own, places in rows:
        seen = own @ beside[places]
        scores[used] += seen[:, 1:] * seen[:, :1]
    stiffness = left[:, 1::2].T @ left[:, 1::2]
    influence = np.linalg.solve(stiffness + 1e-12 * np.trace(stiffness) * np.eye(n // 2), scores.T).T
    told = np.diag(stiffness) > 1e-12 * max(float(np.trace(stiffness)), 1e-300)
    return at, np.where(told, np.sqrt(long_run_variance(influence)[0]), np.inf)


def _by_imu(alignment: Alignment, imu: str) -> Array:
    """What reading an IMU later changes of measured less modelled, per second, shape (K, rows)."""
    data, problem = alignment.data, alignment.problem
    robot, parameters = data.robot, closest_to_prior(problem, weights_of(problem))
    delays = {**robot.imu_delays, imu: robot.imu_delays.get(imu, 0.0) + LATER_S}
    later = FitData.of(replace(robot, imu_delays=delays), data.datasets, data.processing, data.common)
    later = later.delayed(data.rows_delays_s)
    modelled = [
        np.concatenate([one.predict(parameters) for one in each.plain_blocks()]) for each in (data, later)
    ]
    return (modelled[0] - modelled[1]) / LATER_S


def _with_delays(robot: Robot, found: Sequence[SensorDelay]) -> Robot:
    """The robot with these delays of its sensors and of its IMU."""
    own = {one.sensor: one.own_s for one in found}
    sensors = {
        name: replace(one, delay_s=own[name]) if name in own else one for name, one in robot.sensors.items()
    }
    imus = {**robot.imu_delays, **{name: own_s for name, own_s in own.items() if name in robot.imus}}
    return replace(robot, sensors=sensors, imu_delays=imus)
