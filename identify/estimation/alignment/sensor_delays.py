"""Delays of six-axis sensors, each its own, beside that of everything else that was measured.

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
from heft.identify.information.triangle import triangle
from heft.identify.robot import Robot

__all__ = ["settled_sensors", "sought"]

SURE = 3.0  # standard deviations by which a sensor must differ from the rest to get a delay of its own
JOINTS = "joints"
ROUNDS = 12


def settled_sensors(alignment: Alignment, again: Callable[[Robot], Alignment]) -> Alignment:
    """The alignment with a delay of its own for each sensor that is not as old as the rest; the same where none is.

    again   aligns the data anew for the robot with other delays of its sensors
    """
    sensors, found = sought(alignment.data.robot), tuple[SensorDelay, ...]()
    for _ in range(ROUNDS if sensors else 0):
        steps = _delays(alignment, sensors)
        if not steps:
            break
        found = steps
        alignment = again(_with_delays(alignment.data.robot, found))
    return replace(alignment, sensors=found)


def sought(robot: Robot) -> tuple[str, ...]:
    """Sensors whose delay is not known and can be told from that of others: there must be two sources at least."""
    used = robot.sources or (JOINTS,)
    unknown = tuple(name for name in used if name in robot.sensors and robot.sensors[name].delay_s is None)
    return unknown if len(used) > 1 else ()


def _delays(alignment: Alignment, sensors: Sequence[str]) -> tuple[SensorDelay, ...]:
    """Delays of these sensors, one step nearer; none where no one differs surely from the rest.

    What has no delay of its own (joints, sensors whose delay is given) stays with the common one. Where there is
    nothing of the kind, the common one becomes a part of each; one that is given stays as it is.
    """
    data, robot = alignment.data, alignment.data.robot
    rest = tuple(name for name in robot.sources or () if name not in sensors) if alignment.estimated else ()
    groups = ([rest] if rest else []) + [(name,) for name in sensors]
    step, std = _profile(alignment, groups)
    own, doubt = step[-len(sensors) :], std[-len(sensors) :]
    sure = doubt <= UNSURE / data.processing.cutoff_hz
    if rest:
        own, doubt = own - step[0], np.hypot(doubt, std[0])
    others = 0.0 if rest or not sure.any() else float(np.average(own[sure], weights=doubt[sure] ** -2.0))
    if not np.any(sure & (np.abs(own - others) > SURE * doubt)):
        return ()
    common = float(np.mean(data.delays_s)) if alignment.estimated and not rest else 0.0
    return tuple(
        SensorDelay(
            name,
            float(
                np.clip(
                    (robot.sensors[name].delay_s or 0.0) + (one + common if known else 0.0),
                    -LONGEST_S,
                    LONGEST_S,
                )
            ),
            float(each) if known else np.inf,
        )
        for name, one, each, known in zip(sensors, own, doubt, sure.tolist(), strict=True)
    )


def _profile(alignment: Alignment, groups: Sequence[tuple[str, ...]]) -> tuple[Array, Array]:
    """How much later each group of sources should be read [s], and the standard deviations [s], shapes (G,)."""
    data, problem = alignment.data, alignment.problem
    layout, n = data.robot.regressor.layout, 2 * len(groups)
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
        rates.append(np.concatenate(columns, axis=2))
    slopes = np.concatenate(rates)
    table, keep = np.concatenate([b.table for b in blocks]), np.concatenate([b.keep for b in blocks])
    if data.own_offsets:  # as the rows: each recording's own mean is no part of them
        numbers = np.concatenate([np.full(len(b.index), data.recordings[b.dataset]) for b in blocks])
        for number in range(data.recording_count):
            here = numbers == number
            slopes[here] -= slopes[here].mean(axis=0)
    columns_of, p = list(problem.base.independent), len(layout.names)
    parts = []
    for j, weight in enumerate(problem.joint_weights[0]):
        used = keep[:, j]
        if weight <= 0 or not used.any():
            continue
        part = layout.row(j)
        own = triangle(np.hstack([table[used, part], slopes[used, j]]))
        full = np.zeros((len(own), p + 1 + n))
        full[:, layout.parameters[part]] = own[:, : part.stop - part.start]
        full[:, p + 1 :] = own[:, part.stop - part.start :]
        parts.append(np.sqrt(weight) * full[:, [*columns_of, *range(p, p + 1 + n)]])
    left = triangle(np.concatenate(parts))[-1 - n :, -1 - n :]
    at, curvature = several(left.T @ left, REACH / data.processing.cutoff_hz)
    return at, 1 / np.sqrt(curvature)


def _with_delays(robot: Robot, found: Sequence[SensorDelay]) -> Robot:
    """The robot with these delays of its sensors."""
    own = {one.sensor: one.own_s for one in found}
    sensors = {
        name: replace(one, delay_s=own[name]) if name in own else one for name, one in robot.sensors.items()
    }
    return replace(robot, sensors=sensors)
