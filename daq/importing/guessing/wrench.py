"""Which six columns are the wrench of a wrist sensor, and which are an inertial sensor's."""

from __future__ import annotations

from collections.abc import Sequence

from heft.daq.importing.guessing.names import COMMAND, MODEL, words_of
from heft.daq.importing.table import Column, Table

__all__ = ["find_imu", "find_wrench"]

_TORQUE_WORDS = frozenset(("torque", "moment", "tau", "t", "m", "mom"))


def find_wrench(table: Table) -> tuple[tuple[Column, ...], str] | None:
    """Six columns, force before torque, and why; None: there are none."""
    places: dict[str, Column] = {}
    for column in table.columns:
        words = words_of(column.label or column.name)
        if set(words) & (COMMAND | MODEL):
            continue
        if (place := _component(words)) is not None:
            places.setdefault(place, column)
    wanted = [f"{kind}{axis}" for kind in "ft" for axis in "xyz"]
    if set(wanted) <= places.keys():
        return tuple(places[one] for one in wanted), "forces and torques about x, y, z by name"
    for name in dict.fromkeys(column.array for column in table.columns if column.place is not None):
        called = set(words_of(name))
        columns = tuple(column for column in table.columns if column.array == name)
        if (
            len(columns) == 6
            and called & {"wrench", "ft", "fts", "forcetorque"}
            and not called & (COMMAND | MODEL)
        ):
            return columns, "six numbers, named a wrench; force taken to come first"
    return None


def find_imu(table: Table) -> tuple[tuple[Column, ...], tuple[Column, ...]] | None:
    """Columns of angular velocity and of linear acceleration, three each; None: not both are there."""
    groups = []
    for first in (("angular", "velocity"), ("linear", "acceleration")):
        axes = {words_of(c.name)[-1]: c for c in table.columns if words_of(c.name)[:-1][-2:] == first}
        groups.append(tuple(axes[axis] for axis in "xyz" if axis in axes))
    gyro, accel = groups
    return (gyro, accel) if len(gyro) == len(accel) == 3 else None


def _component(words: Sequence[str]) -> str | None:
    """`fx` ... `tz` of a name's words; None: it is no component of a wrench."""
    if not words:
        return None
    last = words[-1] if words[-1] not in ("n", "nm") else (words[-2] if len(words) > 1 else "")
    if len(last) == 2 and last[1] in "xyz" and last[0] in "ftm":
        return f"{'f' if last[0] == 'f' else 't'}{last[1]}"
    if last in ("x", "y", "z") and len(words) > 1:
        rest = set(words[:-1])
        if rest & _TORQUE_WORDS:
            return f"t{last}"
        if rest & {"force", "f", "forces"}:
            return f"f{last}"
    return None
