"""What measured velocities tell of rate, units, gears, order and delay, without any model."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from heft.identify.bodies.arrays import Array
from heft.identify.diagnosis.finding import Finding, Place, Severity
from heft.identify.diagnosis.log import Log
from heft.identify.diagnosis.plausible import too_far, too_short
from heft.identify.diagnosis.velocity_agreement import PARTS, SHIFT_S, VelocityAgreement
from heft.identify.robot import Robot

__all__ = ["check_velocities"]

NEAR = 0.04  # of log k: a known factor
ALIKE = 0.03  # of log k among joints that share it
OFF = 0.007  # of log k that is worth a word; 2 % is serious
SERIOUS = 0.02
SURE = 5.0  # standard deviations
GEAR = 1.5  # k or 1/k, from which it is a gear ratio and not a rate
CROSSED = 0.1  # by which another joint's correlation must be larger
DEGREES = 180 / np.pi
RPM = 60 / (2 * np.pi)
DELAY_S, LONG_S = 2e-3, 0.02
TIME = {1e3: "ms", 1e6: "us", 1e9: "ns"}


def check_velocities(log: Log, robot: Robot | None) -> list[Finding]:
    """Nothing where no velocities were measured."""
    agreement = VelocityAgreement.of(log)
    if agreement is None or not agreement.moving.any():
        return []
    crossed = _crossed(log, agreement)
    if crossed:
        return crossed
    k, std = agreement.ratios()
    told = np.isfinite(k)
    delayed = _delay(log, agreement)
    if not told.any():
        return delayed or _unrelated(log, agreement)
    negative = np.flatnonzero(told & (k < 0))
    found = [_sign(log, negative)] if len(negative) else []
    size = np.log(np.abs(np.where(told, k, 1.0)))
    common = float(np.median(size[told]))
    alike = np.abs(size - common) < ALIKE
    if told.sum() >= 2 and alike[told].mean() > 0.75:
        found += _common(log, robot, float(np.exp(common)), std[told & alike], told)
        odd = told & ~alike & (np.abs(size - common) > np.maximum(SURE * std, ALIKE))
        rest = np.where(odd, size - common, 0.0)
    else:
        odd = told & (np.abs(size) > np.maximum(SURE * std, ALIKE))
        rest = np.where(odd, size, 0.0)
    if odd.any():
        found += _each(log, robot, np.exp(rest), odd)
    return found + delayed


def _common(log: Log, robot: Robot | None, k: float, std: Array, told: NDArray[np.bool_]) -> list[Finding]:
    """A factor that all joints share: a unit, or the rate."""
    size, sure = abs(np.log(k)), SURE * float(np.median(std)) / np.sqrt(len(std))
    if size < max(OFF, sure):
        return []
    text = f"the integral of measured velocities is {k:.4g} times the change of positions, should be 1 (all joints)"
    far, short = too_far(log, robot), too_short(log, robot)
    for factor, unit in ((DEGREES, "deg/s"), (RPM, "rpm"), (1 / (2 * np.pi), "rev/s")):
        if abs(np.log(k / factor)) < NEAR:
            if factor == DEGREES and short:
                return [
                    _angle(
                        text, {"position": {"gear": 1 / DEGREES}}, "positions look converted to radians twice"
                    )
                ]
            stated = {"velocity": {"unit": unit}}
            return [_velocity("all joints", f"{text}: velocities are in {unit}", stated)]
    if abs(np.log(k * DEGREES)) < NEAR:
        if far or not short:
            return [_angle(text, {"position": {"unit": "deg"}}, "positions are in degrees")]
        fix = {"velocity": {"gear": 1 / DEGREES}}
        return [_velocity("all joints", f"{text}: velocities look converted to rad/s twice", fix)]
    if far and k < 1 and robot is not None and _gears(robot, 1 / k):
        return _each(log, robot, np.full(log.n, k), told)
    rate = 1 / log.tables["q"].step_s
    for factor, unit in TIME.items():
        if abs(np.log(k / factor)) < NEAR:
            return [_rate(f"{text}: t is in {unit}", {"time": {"unit": unit}}, 3.0)]
    severity: Severity = "note" if size < SERIOUS else "fatal" if size > 0.2 else "serious"
    text += f": the rate is {k * rate:.5g} samples/s, not the {rate:.5g} of the stamps"
    return [_rate(text, {"rate_hz": float(f"{k * rate:.6g}")}, size, severity)]


def _each(log: Log, robot: Robot | None, k: Array, odd: NDArray[np.bool_]) -> list[Finding]:
    """Factors of single joints: gears, or units of single columns."""
    joints = [log.joints[j] for j in np.flatnonzero(odd)]
    listed = ", ".join(f"{log.joints[j]} {k[j]:.4g}" for j in np.flatnonzero(odd)[:4])
    text = f"the integral of measured velocities over the change of positions should be 1, and is of {listed}"
    where, columns = ", ".join(joints), tuple(int(j) for j in np.flatnonzero(odd))
    for factor, unit in ((DEGREES, "deg/s"), (RPM, "rpm")):
        if np.all(np.abs(np.log(k[odd] / factor)) < NEAR):
            gear = np.where(odd, factor, 1.0).tolist()
            return [_velocity(where, f"{text}: in {unit}", {"velocity": {"gear": gear}}, columns)]
    if np.all(np.abs(np.log(k[odd] * DEGREES)) < NEAR):
        gear = np.where(odd, DEGREES, 1.0).tolist()
        return [_angle(text, {"position": {"gear": gear}}, "their positions are in degrees", where, columns)]
    slow = bool(np.all(np.abs(np.log(k[odd])) < np.log(GEAR)))
    if slow:
        return [_velocity(where, text, {"velocity": {"gear": np.where(odd, k, 1.0).tolist()}}, columns)]
    motor_velocity = float(np.median(np.log(k[odd]))) > 0
    ratio = np.where(odd, k if motor_velocity else 1 / k, 1.0)
    if robot is not None:
        ratio = np.where(odd & (np.abs(np.log(ratio / np.abs(robot.gear))) < NEAR), np.abs(robot.gear), ratio)
    side = "velocities" if motor_velocity else "positions"
    fix = {"velocity" if motor_velocity else "position": {"gear": ratio.tolist()}}
    return [
        Finding(
            "gear_ratio",
            "fatal",
            where,
            f"{text}: {side} are of the motors, before the gear",
            "positions and velocities of two sides of a gear make no motion of the arm",
            f"divide {side} by the gear ratio",
            fix,
            300.0,
            Place("dq" if motor_velocity else "q", columns),
        )
    ]


def _gears(robot: Robot, ratio: float) -> bool:
    return bool(np.all(np.abs(np.log(np.abs(robot.gear) / ratio)) < NEAR))


def _angle(
    text: str, fix: Mapping[str, object], why: str, where: str = "all joints", columns: tuple[int, ...] = (0,)
) -> Finding:
    return Finding(
        "angle_unit",
        "fatal",
        where,
        f"{text}: {why}",
        "gravity and inertia are functions of angles in radians",
        "state the unit of positions",
        fix,
        400.0,
        Place("q", columns),
    )


def _velocity(where: str, text: str, fix: Mapping[str, object], columns: tuple[int, ...] = (0,)) -> Finding:
    return Finding(
        "velocity_unit",
        "serious",
        where,
        text,
        "friction and centrifugal torques go with velocities in rad/s",
        "state the unit of velocities, or leave them out: they are computed from positions",
        fix,
        250.0,
        Place("dq", columns),
    )


def _rate(text: str, fix: Mapping[str, object], size: float, severity: Severity = "fatal") -> Finding:
    return Finding(
        "rate_mismatch",
        severity,
        "time",
        text,
        "inertias go with the square of the rate, viscous friction with the rate",
        "correct the rate, or the unit of the stamps",
        fix,
        350 + size,
        Place("dq"),
    )


def _sign(log: Log, negative: NDArray[np.int64]) -> Finding:
    sign = np.ones(log.n)
    sign[negative] = -1.0
    return Finding(
        "velocity_sign",
        "serious",
        ", ".join(log.joints[j] for j in negative),
        "velocities have the opposite sign of the change of positions",
        "friction would drive the joint",
        "turn the sign of velocities round, or leave them out",
        {"velocity": {"sign": sign.tolist()}},
        260.0,
        Place("dq", tuple(int(j) for j in negative)),
    )


def _crossed(log: Log, agreement: VelocityAgreement) -> list[Finding]:
    """Velocities whose columns stand in another order than the positions'."""
    match = np.abs(agreement.correlations)
    rows, order = linear_sum_assignment(-match)
    if np.array_equal(order, np.arange(len(order))):
        return []
    wrong = rows[order != rows]
    wrong = wrong[agreement.moving[wrong]]
    if len(wrong) < 2 or any(
        match[i, order[i]] < 0.9 or match[i, order[i]] < match[i, i] + CROSSED for i in wrong
    ):
        return []
    names = log.tables["dq"].names
    columns = [""] * len(order)
    for i, j in enumerate(order):
        columns[j] = names[i]
    listed = ", ".join(f"{log.joints[i]} follows the position of {log.joints[order[i]]}" for i in wrong[:4])
    return [
        Finding(
            "joint_order",
            "fatal",
            ", ".join(log.joints[i] for i in wrong),
            f"velocity of {listed} (correlation {match[wrong[0], order[wrong[0]]]:.3f}, with its own "
            f"{match[wrong[0], wrong[0]]:.2f})",
            "every joint is given another joint's motion",
            "reorder the columns of velocities",
            {"velocity": {"columns": columns}},
            380.0,
            Place("dq", tuple(int(i) for i in wrong[:2])),
        )
    ]


def _delay(log: Log, agreement: VelocityAgreement) -> list[Finding]:
    """A delay of velocities against positions, and whether it drifts."""
    shift = 0.0
    if float(np.nanmedian(np.abs(np.diag(agreement.correlations))[agreement.moving])) < 0.995:
        tried = {}
        for late in np.linspace(-SHIFT_S, SHIFT_S, 61):
            one = VelocityAgreement.of(log, float(late))
            if one is not None and one.moving.any():
                tried[float(late)] = float(np.median(np.diag(one.correlations)[one.moving]))
        if tried:
            best = max(tried, key=lambda late: tried[late])
            if tried[best] > tried.get(0.0, 0.0) + 1e-3 and tried[best] > 0.95:
                shift = best
                agreement = VelocityAgreement.of(log, shift) or agreement
    d, std = agreement.delays()
    told = np.isfinite(d) & (std < 0.05)
    if not told.any():
        return []
    weights = 1 / np.maximum(std[told], 1e-5) ** 2
    delay = shift + float(np.average(d[told], weights=weights))
    scatter = max(float(1 / np.sqrt(weights.sum())), float(np.std(d[told])) / np.sqrt(told.sum()))
    found = _drift(agreement, told)
    least = max(DELAY_S, 0.75 * agreement.step_s, SURE * scatter)
    if abs(delay) > least:
        severity: Severity = "serious" if abs(delay) > LONG_S else "note"
        found.append(
            Finding(
                "stream_delay",
                severity,
                "velocity against position",
                f"velocities lag positions by {1e3 * delay:.3g} +- {1e3 * scatter:.2g} ms (bound "
                f"{1e3 * least:.2g} ms)",
                "friction is taken at another velocity than the joint has",
                "correct the stamps, or leave velocities out",
                None,
                40 + 1e3 * abs(delay),
                Place("dq"),
            )
        )
    return found


def _drift(agreement: VelocityAgreement, told: NDArray[np.bool_]) -> list[Finding]:
    edges = np.linspace(0, len(agreement.x), PARTS + 1).astype(int)
    late, spread, when = [], [], []
    for a, b in pairwise(edges):
        d, std = agreement.delays(slice(int(a), int(b)))
        good = told & np.isfinite(d) & (std > 0)
        if good.any():
            weights = 1 / np.maximum(std[good], 1e-5) ** 2
            late.append(float(np.average(d[good], weights=weights)))
            spread.append(float(1 / np.sqrt(weights.sum())))
            when.append(float(agreement.time[int(a) : int(b)].mean()))
    if len(late) < 5:
        return []
    line = np.polyfit(when, late, 1)
    rest = float(np.std(np.array(late) - np.polyval(line, when)))
    moved = abs(line[0]) * (when[-1] - when[0])
    if moved < max(DELAY_S, agreement.step_s, 6 * rest, SURE * float(np.median(spread))):
        return []
    return [
        Finding(
            "clock_drift",
            "serious",
            "velocity against position",
            f"the delay of velocities moves by {1e3 * moved:.3g} ms over the log ({1e6 * line[0]:.3g} "
            f"ppm, scatter {1e3 * rest:.2g} ms)",
            "streams of two clocks come apart with time",
            "stamp all streams by one clock",
            None,
            55.0,
            Place("dq"),
        )
    ]


def _unrelated(log: Log, agreement: VelocityAgreement) -> list[Finding]:
    best = float(np.abs(np.diag(agreement.correlations)).max())
    if best > 0.5:
        return []
    return [
        Finding(
            "velocity_unit",
            "serious",
            "velocity",
            f"velocities do not follow positions (correlation at most {best:.2f}, should be near 1)",
            "velocities are another quantity, or of another time",
            "leave the column out",
            None,
            200.0,
            Place("dq"),
        )
    ]
