"""The map of a file as far as it can be guessed, each column with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heft.daq.errors import ImportFileError
from heft.daq.importing.guessing.guessed import UNKNOWN_ROBOT, Guess, RobotFacts, column_name
from heft.daq.importing.guessing.joint_table import JointTable
from heft.daq.importing.guessing.names import HOST, hints_of
from heft.daq.importing.guessing.wrench import find_imu, find_wrench
from heft.daq.importing.table import Table

__all__ = ["guess", "require"]


def guess(
    tables: Sequence[Table],
    robot: RobotFacts = UNKNOWN_ROBOT,
    comments: Sequence[str] = (),
    named: bool = True,
) -> Guess:
    """What the columns mean. The tables of a bag are looked at one by one for joints, then for a wrench."""
    best: tuple[tuple[float, ...], JointTable] | None = None
    for table in tables:
        looked = JointTable(table, robot, comments, named, prefix=len(tables) > 1)
        key = looked.score
        if best is None or key > best[0]:
            best = key, looked
    assert best is not None
    found = best[1].guess()
    for table in tables:
        _sensors(found, table, len(tables) > 1)
    _rest(found, tables)
    return found


def _sensors(found: Guess, table: Table, prefix: bool) -> None:
    """A wrench and an inertial sensor, in whichever table."""
    taken = {one.column for one in found.columns}
    wrench = find_wrench(table)
    if wrench is not None and "wrench" not in found.map:
        names = [column_name(table, column.name, prefix) for column in wrench[0]]
        if not taken & set(names):
            found.map["wrench"] = {"columns": names, "unit": ["N", "N m"]}
            found.tell(names, "wrench", "N, N m", wrench[1])
    imu = find_imu(table)
    if imu is not None and "imu" not in found.map:
        gyro, accel = ([column_name(table, column.name, prefix) for column in one] for one in imu)
        found.map["imu"] = {"angular_velocity": gyro, "linear_acceleration": accel}
        found.tell([*gyro, *accel], "imu", "rad/s, m/s2", "angular velocity and linear acceleration by name")


def _rest(found: Guess, tables: Sequence[Table]) -> None:
    """What is not used, and why."""
    told = {one.column for one in found.columns}
    ignored = []
    for table in tables:
        for array in dict.fromkeys(column.array for column in table.columns):
            names = [column_name(table, c.name, len(tables) > 1) for c in table.columns if c.array == array]
            whole = column_name(table, array, len(tables) > 1)
            left = [name for name in names if name not in told]
            if whole in told or not left:
                continue
            hints = hints_of(array)
            key = "torque" if hints.quantity == "current" else hints.quantity
            lone = key in ("position", "velocity", "torque", "temperature") and key not in found.map
            second = "not one column for each joint" if lone else "a second one"
            if key == "acceleration":
                second = "accelerations are computed from positions"
            why = {
                "command": "a command by its name, not a measurement",
                "model": "a model's output by its name, not a measurement",
                "derived": "made from others by its name",
            }.get(hints.role, second if hints.quantity else "not known by its name")
            shown = [whole] if len(left) == len(names) and len(names) > 1 else left
            ignored += shown
            found.tell(shown, "ignored", "", why if not set(hints.words) & HOST else "not known by its name")
    found.map["ignore"] = ignored
    if not ignored:
        del found.map["ignore"]


def require(mapped: Mapping[str, Any], where: str, notes: Sequence[str]) -> None:
    """`ImportFileError` where a map lacks what every recording needs: a time, and something that is measured."""
    lacking = [] if {"time", "rate_hz"} & mapped.keys() else ["time"]
    if not {"position", "wrench"} & mapped.keys():
        lacking.append("position")
    if lacking:
        told = f" ({'; '.join(notes[:3])})" if notes else ""
        raise ImportFileError(
            f"{where}: which column is {' and which is '.join(lacking)} cannot be told{told}; "
            f"say so in a map (--map MAP.yaml){', or give --rate HZ' if lacking[0] == 'time' else ''}"
        )
