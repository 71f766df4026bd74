"""From a log, and a robot where it is known, to findings, worst first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.data import Dataset
from heft.identify.data.white_noise import white_noise
from heft.identify.diagnosis.aligned import dataset_of
from heft.identify.diagnosis.disturbances import COUPLED, check_disturbances
from heft.identify.diagnosis.excitation import check_excitation
from heft.identify.diagnosis.explanations import find_explanations
from heft.identify.diagnosis.finding import Finding
from heft.identify.diagnosis.fixes import corrected
from heft.identify.diagnosis.holds import check_holds
from heft.identify.diagnosis.identifiability import check_identifiability
from heft.identify.diagnosis.log import Log
from heft.identify.diagnosis.model_checks import check_bodies
from heft.identify.diagnosis.model_output import QUIET, check_model_output
from heft.identify.diagnosis.regression import Regression
from heft.identify.diagnosis.runs import runs_of
from heft.identify.diagnosis.smoothing import check_smoothing
from heft.identify.diagnosis.stamps import check_stamps
from heft.identify.diagnosis.turns import check_turns
from heft.identify.diagnosis.values import check_signals, check_values, without_garbage
from heft.identify.diagnosis.velocity_checks import check_velocities
from heft.identify.diagnosis.weak_torques import (
    KINEMATICS,
    check_kinematics,
    check_weak_torques,
    coarse_torques,
)
from heft.identify.diagnosis.wrench_checks import check_wrench
from heft.identify.errors import DataError, HeftError
from heft.identify.robot import Robot

__all__ = ["diagnose", "glance", "look_over"]

MODEL_FREE: tuple[Callable[[Log], list[Finding]], ...] = (
    check_stamps,
    check_holds,
    check_values,
    check_smoothing,
)
#: Of these, what can be fatal or goes into a verdict; holds, spikes and smoothing are not among it.
GLANCE = (check_stamps, check_signals)

#: A free base moves in a way that positions of joints do not tell: what needs the model is looked at by the fit.
_NOT_HELD_AGAINST = Finding(
    "not_checked",
    "note",
    "model",
    "the base moves freely: torques and wrenches were not held against the model here",
    "wrong units, signs and frames of them are not among these findings",
    "`heft identify` tells sensors that are turned, silent or of the other sign, and contacts that move",
)


def glance(log: Log, robot: Robot | None = None) -> list[Finding]:
    """The cheapest looks, for what makes identification meaningless: stamps, signals, velocities, excitation."""
    return _looked(log, robot, GLANCE)


def look_over(log: Log, robot: Robot | None = None) -> list[Finding]:
    """The looks that need no model: stamps, holds, values, velocities against positions, excitation."""
    return _looked(log, robot, MODEL_FREE)


def _looked(
    log: Log, robot: Robot | None, checks: tuple[Callable[[Log], list[Finding]], ...]
) -> list[Finding]:
    turns = check_turns(log)
    log, _ = corrected(log, None, turns)
    found = [one for check in checks for one in check(log)]
    log = _readable(log, found)
    units = check_velocities(log, robot)
    log, _ = corrected(log, None, units)
    turns = turns or check_turns(log)  # of degrees, they show once these are known to be some
    return _sorted([*turns, *found, *units, *check_excitation(corrected(log, None, turns)[0], robot)])


def diagnose(log: Log, robot: Robot | None = None) -> list[Finding]:
    """All looks. What one of them cures is cured before the next looks, so that a fault is told once."""
    found = look_over(log, robot)
    log, _ = corrected(_readable(log, found), None, found)
    if robot is None:
        return found
    log = _without_placed(log, robot)
    found += check_bodies(robot)
    if robot.tree.free:
        found.append(_NOT_HELD_AGAINST)
    if "tau" not in log.tables or robot.tree.free or len(robot.joints) != log.n:
        return _sorted(found)
    try:
        data = dataset_of(log)
        rows = Regression.of(robot, data)
    except (HeftError, np.linalg.LinAlgError) as exc:
        return _sorted([*found, *_unusable(found, exc)])
    computed = _computed_torques(log, robot, data, rows)
    found += computed
    if any(one.severity == "fatal" for one in computed):  # what else is odd about such torques is the model's
        return _sorted(found)
    causes = _causes(log, data, rows, found)
    units = [replace(one, rival=False) for one in causes if one.id == "angle_unit"]
    if any(one.fix is None for one in units):  # a model of such positions tells nothing
        return _sorted([*found, *units])
    try:
        if units:  # all else was seen with positions in another unit
            motion = {(one.id, one.where) for one in check_excitation(log, robot)}
            log, _ = corrected(log, None, units)
            data = dataset_of(log)
            rows = Regression.of(robot, data)
            found = [one for one in found if (one.id, one.where) not in motion]
            found += [*units, *check_excitation(log, robot)]
            causes = [one for one in _causes(log, data, rows, found) if one.id != "angle_unit"]
        found += causes
        log, mended = corrected(log, robot, causes)
        assert mended is not None
        rows = Regression.of(mended, dataset_of(log))
    except (HeftError, np.linalg.LinAlgError):
        return _sorted(found)
    found += [*check_disturbances(rows), *check_identifiability(rows), *check_wrench(rows)]
    found += check_weak_torques(rows, log)
    wrong = {one.where: one for one in check_kinematics(rows)}
    for one in [one for one in found if one.id == "coupled_joints"]:  # of the two, what explains more
        rival = wrong.get(one.where.partition(",")[0])
        if rival is not None and rival.weight - KINEMATICS > one.weight - COUPLED:
            found.remove(one)
        elif rival is not None:
            del wrong[rival.where]
    found += wrong.values()
    return _sorted(_beside([], found))


def _causes(log: Log, data: Dataset, rows: Regression, found: list[Finding]) -> list[Finding]:
    """What explains the data better than the robot's file does, beside what was found."""
    dead = {log.joints[j] for j in coarse_torques(rows, log)}
    doubted = any(one.place is not None and one.place.table == "dq" and one.fix is None for one in found)
    try:
        measured = data if doubted or "dq" not in log.tables else dataset_of(log, velocities=True)
        causes = [one for one in find_explanations(log, measured, rows) if one.where not in dead]
    except (DataError, np.linalg.LinAlgError):
        return []
    return _beside(found, causes)


def _without_placed(log: Log, robot: Robot) -> Log:
    """The log without the wrench of a sensor that the robot's file gives a place of its own: it is on no wrist."""
    table = log.get("wrench")
    if table is None or table.stream.partition(".")[0] not in robot.sensors:
        return log
    return replace(log, tables={key: one for key, one in log.tables.items() if key != "wrench"})


def _readable(log: Log, found: list[Finding]) -> Log:
    """The log without rows of garbage, where any were found."""
    return without_garbage(log) if any(one.id == "garbage_rows" for one in found) else log


def _computed_torques(log: Log, robot: Robot, data: Dataset, rows: Regression) -> list[Finding]:
    """`model_output` of the log or, where the torques have too little noise, of the first of its runs that shows it."""
    noise = _noise(data)
    found = check_model_output(rows, noise)
    quiet = bool(np.nanmedian(np.append(noise, np.inf)) < QUIET)
    for run in runs_of(log) if quiet and not found else ():
        try:
            part = dataset_of(run)
            found = check_model_output(Regression.of(robot, part), _noise(part))
        except (HeftError, np.linalg.LinAlgError):
            continue
        if found:
            span = float(run.tables["q"].t[0]), float(run.tables["q"].t[-1])
            begun = f"in the run that begins at {span[0]:.4g} s "
            return [
                replace(
                    one, evidence=begun + one.evidence, place=one.place and replace(one.place, span_s=span)
                )
                for one in found
            ]
    return found


def _noise(data: Dataset) -> Array:
    """White noise of each joint's torque over its standard deviation, shape (n,); NaN where it is constant."""
    size = data.tau.std(axis=0)
    noise = np.full(len(size), np.nan)
    np.divide(white_noise(data.t, data.tau), size, out=noise, where=size > 0)
    return noise


def _beside(known: list[Finding], found: list[Finding]) -> list[Finding]:
    """Findings without those of which the same id is told of the same place already."""
    told = {(one.id, one.where) for one in known}
    out = []
    for one in found:
        if (one.id, one.where) not in told:
            told.add((one.id, one.where))
            out.append(one)
    return out


def _unusable(found: list[Finding], exc: Exception) -> list[Finding]:
    if any(one.severity == "fatal" for one in found) or "no torques" in str(exc):
        return []
    return [
        Finding(
            "garbage_rows",
            "fatal",
            "log",
            str(exc),
            "nothing can be identified from it",
            "mend the log as said",
            None,
            10.0,
        )
    ]


def _sorted(found: list[Finding]) -> list[Finding]:
    return sorted(found, key=lambda one: one.rank)
