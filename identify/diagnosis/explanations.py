"""What would explain the torques better than log and file as they are: scale, sign, order, gravity, zero, rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from heft.identify.certainty.causes import find_causes
from heft.identify.certainty.reason import CAUSE, Reason
from heft.identify.data import Dataset, Processing
from heft.identify.diagnosis.finding import Finding, Place, Severity
from heft.identify.diagnosis.log import Log
from heft.identify.diagnosis.regression import Regression
from heft.identify.estimation.problem import Problem
from heft.identify.information.fit_data import FitData
from heft.identify.information.reduction import Information
from heft.identify.robot import Robot

__all__ = ["find_explanations"]

FEW_TURNS = 2  # reversals of the usual joint
LARGE = 0.7  # of log factor: twice
SURE_SCALE = (
    6.0  # nats of one factor of all torques: below, the masses of one in some twenty files are as far off
)
NEAR, NEARER = 0.25, 0.12  # of the logarithm of a factor: of a thousand, of one that others resemble
FORCES = (1 / 9.80665, 1 / 0.0980665)  # kgf m, kgf cm
#: Finding of each reason, and what it means.
IDS = {
    "torque-scale": ("torque_scale", "all masses and inertias come out by this factor too large or small"),
    "torque-sign": ("torque_sign", "masses and friction come out negative"),
    "joint-gain": ("torque_scale", "parameters of this joint come out by this factor too large or small"),
    "time-scale": (
        "rate_mismatch",
        "inertias go with the square of the rate, viscous friction with the rate",
    ),
    "too-fast": ("rate_mismatch", "inertias go with the square of the rate, viscous friction with the rate"),
    "too-slow": ("slow_motion", "gravity and friction can be identified, inertias hardly"),
    "joints-exchanged": ("joint_order", "every joint is given another joint's motion or torque"),
    "position-unit": ("angle_unit", "gravity and inertia are functions of angles in radians"),
    "gravity-direction": (
        "gravity_direction",
        "weights pull elsewhere: masses and centres of mass come out wrong",
    ),
    "gravity-compensated": (
        "gravity_compensated_effort",
        "masses come out as nothing: the arm's weight is not in the data",
    ),
    "joint-offset": ("joint_offset", "weights pull at another angle: centres of mass come out wrong"),
    "gain-unknown": ("unidentifiable", "a wrong torque constant there would not show"),
    "scale-unknown": ("unidentifiable", "a factor of all torques would not show"),
    "time-unknown": ("slow_motion", "a wrong rate would not show either"),
}


def find_explanations(log: Log, data: Dataset, rows: Regression) -> list[Finding]:
    """The causes that a fit looks for, found on the log before any fit; `DataError` where it cannot be.

    A motion that hardly turns round tells gravity from friction badly: nothing is called fatal by it.
    """
    robot, cutoff_hz = rows.robot, rows.cutoff_hz
    still = {joint for joint, kept in zip(robot.joints, rows.kept.T, strict=True) if not kept.any()}
    poor = bool(np.median(rows.reversals) < FEW_TURNS)
    fit_data = FitData.of(robot, [data], Processing(cutoff_hz=cutoff_hz))
    problem = Problem.of(robot, Information.merged(fit_data.reduced()))
    causes = [one for one in find_causes(fit_data, problem) if one.id in IDS and not still & set(one.where)]
    return [_finding(log, robot, one, poor) for one in causes]


def _finding(log: Log, robot: Robot, one: Reason, poor: bool) -> Finding:
    name, meaning = IDS[one.id]
    severity: Severity = "fatal" if one.severity == "unfit" else "serious" if one.cause else "note"
    if severity == "fatal" and (poor or not _large(one)):
        severity = "serious"
    fix: Mapping[str, Any] | None = one.fix
    if one.id in ("too-fast", "too-slow"):
        severity = "serious" if one.severity == "unfit" else "note"
    if one.id == "torque-scale" and one.weight - CAUSE < SURE_SCALE:  # worth a word, but no correction
        severity, fix = "note", None
    evidence, _, remedy = one.text.rpartition("; ")
    evidence, remedy = (evidence, remedy) if evidence else (remedy, "correct the log or the robot's file")
    if fix is not None:
        name, fix = _named(log, robot, name, dict(fix))
    columns = tuple(log.joints.index(joint) for joint in one.where if joint in log.joints) or (0,)
    table = "q" if name in ("angle_unit", "joint_offset", "rate_mismatch", "slow_motion") else "tau"
    where = ", ".join(one.where) or ("time" if name == "rate_mismatch" else "all joints")
    weight = one.weight - CAUSE if one.cause else 0.0
    return Finding(
        name, severity, where, evidence, meaning, remedy, fix, weight, Place(table, columns), rival=True
    )


def _likewise(position: Mapping[str, Any]) -> dict[str, Any]:
    """The fix of velocities that goes with one of positions."""
    return {key: "deg/s" if value == "deg" else value for key, value in position.items()}


def _large(one: Reason) -> bool:
    """Whether a factor of torques is too large for a poor file, or of the wrong sign; True of all other causes."""
    scale = (one.fix or {}).get("torque", {}).get("scale")
    if scale is None:
        return True
    factors = np.atleast_1d(np.asarray(scale, dtype=np.float64))
    return bool(np.any(factors < 0) or np.abs(np.log(np.abs(factors))).max() > LARGE)


def _named(log: Log, robot: Robot, name: str, fix: dict[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The id that a factor speaks for, and the fix in the log's own names."""
    if "time" in fix:
        factor = float(fix["time"]["factor"])
        return name, {"rate_hz": float(f"{1 / (log.tables['q'].step_s * factor):.6g}")}
    if "dq" in log.tables and "position" in fix and "offset" not in fix["position"]:
        fix = {
            **fix,
            "velocity": _likewise(fix["position"]),
        }  # velocities agree with positions: what is wrong is so of both
    for key, table in (("torque", "tau"), ("position", "q"), ("velocity", "dq")):
        if "columns" in fix.get(key, {}) and table in log.tables:
            own = log.tables[table].names
            fix = {**fix, key: {"columns": [own[robot.joints.index(joint)] for joint in fix[key]["columns"]]}}
    if "scale" not in fix.get("torque", {}):
        return name, fix
    scale = np.asarray(fix["torque"]["scale"], dtype=np.float64)
    gain = float(1 / (scale if scale.ndim == 0 else scale[int(np.argmax(np.abs(np.log(np.abs(scale)))))]))
    if scale.ndim and np.any(scale < 0):
        gain = float(1 / scale[scale < 0][0])
    if -1.5 < gain < -0.67:
        return "torque_sign", {"torque": {"sign": np.sign(scale).tolist() if scale.ndim else -1.0}}
    if scale.ndim == 0:
        if gain > 0 and abs(np.log(gain / 1e3)) < NEAR:
            return "torque_unit", {"torque": {"unit": "N mm"}}
        for factor in (*FORCES, 1e-3):
            if gain > 0 and abs(np.log(gain / factor)) < (NEAR if factor == 1e-3 else NEARER):
                return "torque_unit", {"torque": {"scale": 1 / factor}}
    gears = np.abs(robot.gear)
    used = gears > 1.5
    j = int(np.argmax(np.abs(np.log(np.abs(scale))))) if scale.ndim else None
    own_gears = gears[used] if j is None else gears[[j]][used[[j]]]
    if len(own_gears) and abs(abs(np.log(abs(gain))) - float(np.log(np.median(own_gears)))) < NEAR:
        ratio = np.where(scale > 1, gears, 1 / gears) if scale.ndim == 0 else np.ones(len(gears))
        if j is not None:
            ratio[j] = gears[j] if scale[j] > 1 else 1 / gears[j]
        return "gear_ratio", {"torque": {"gear": ratio.tolist()}}
    return name, fix
