"""Cures: what a fix, a part of a map, does to a log in memory; and fixes merged into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from heft.daq.importing.turns import TurnCounter
from heft.daq.importing.units import UNITS, to_si
from heft.identify.bodies.arrays import Array
from heft.identify.diagnosis.log import QUANTITIES, Log

__all__ = ["SIGNALS", "cured", "merged", "of_map"]

FACTORS = ("scale", "sign", "constant")  # of maps: they multiply, as `gear` of torques does
PER_JOINT = (*FACTORS, "gear", "offset", "unit", "columns")
SIGNALS = ("position", "velocity", "torque")
KEYS = {name: key for key, name in QUANTITIES.items()}


def cured(log: Log, fix: Mapping[str, Any]) -> Log:
    """The log as it would have been read with a fix in its map; what goes to the robot changes nothing here.

    The log is taken to be in SI units: a unit that the fix names is that of its numbers.
    """
    if "rate_hz" in fix:
        tables = {}
        for key, table in log.tables.items():
            even = np.arange(len(table)) / float(fix["rate_hz"]) * (table.step_s / log.tables["q"].step_s)
            tables[key] = replace(table, t=even)
        log = replace(log, tables=tables, rate_hz=float(fix["rate_hz"]))
    if "unit" in fix.get("time", {}):
        log = log.retimed(to_si("time", fix["time"]["unit"])[0])
    for name, part in fix.items():
        if name in KEYS and KEYS[name] in log.tables:
            log = _quantity(log, KEYS[name], part)
    if "joints" in fix and tuple(fix["joints"]) != log.joints:
        order = [list(fix["joints"]).index(joint) for joint in log.joints]
        for key in ("q", "dq", "tau"):
            if key in log.tables:
                log = log.with_values(**{key: log.tables[key].values[:, order]})
    return log


def _quantity(log: Log, key: str, part: Mapping[str, Any]) -> Log:
    table = log.tables[key]
    values = table.values
    if "columns" in part and set(part["columns"]) == set(table.names):
        values = values[:, [table.names.index(name) for name in part["columns"]]]
    if key == "wrench":
        return log.with_values(wrench=_wrench(values, part))
    unit = to_si(QUANTITIES[key], part["unit"])[0] if "unit" in part else 1.0
    factor = np.full(values.shape[1], unit)
    for what in ("scale", "sign", "constant"):
        factor = factor * np.asarray(part.get(what, 1.0), dtype=np.float64)
    gear = np.asarray(part.get("gear", 1.0), dtype=np.float64)
    factor = factor * gear if key == "tau" else factor / gear
    values = values * factor + np.asarray(part.get("offset", 0.0), dtype=np.float64)
    if part.get("wrapped"):
        values = TurnCounter(np.full(values.shape[1], 2 * np.pi))(values)
    return log.with_values(**{key: values})


def _wrench(values: Array, part: Mapping[str, Any]) -> Array:
    if part.get("reaction"):
        values = -values
    if "rotation" in part:
        turn = np.asarray(part["rotation"], dtype=np.float64)
        values = np.concatenate([values[:, :3] @ turn.T, values[:, 3:] @ turn.T], axis=1)
    return values


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """A map with a fix merged into it: what the map makes of a log is what the fix then mends.

    Numbers of a fix are of SI values: its factors apply to the map's offset, too, its rotation follows the map's, and a
    reaction's reaction is the action. What is said of a time, a rate or a robot replaces what was said before.
    """
    out = dict(old)
    for key, value in new.items():
        before = out.get(key)
        if not isinstance(value, Mapping):
            out[key] = value
        elif key in SIGNALS:
            out[key] = _signal(key, before or {}, value)
        elif key == "wrench":
            out[key] = _sensor(before or {}, value)
        elif key == "time" and "unit" in value:
            out[key] = {
                **(before or {}),
                **value,
                "unit": _time_unit((before or {}).get("unit", "s"), value["unit"]),
            }
        else:
            out[key] = merged(before if isinstance(before, Mapping) else {}, value)
    return out


def of_map(
    fix: Mapping[str, Any],
    mapped: Mapping[str, Any],
    joints: Sequence[str],
    columns: Mapping[str, Sequence[str]],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A fix, and the map that it is to be merged into, both in the map's own order of joints.

    joints   of the log that the fix was found on, in the order of its lists
    columns  by quantity: the file's own, one for each joint of the map
    """
    own, log = list(mapped.get("joints") or joints), list(joints)
    if sorted(own) != sorted(log):
        return dict(fix), dict(mapped)
    places = [log.index(joint) for joint in own]
    fix, mapped = dict(fix), dict(mapped)
    for quantity in SIGNALS:
        if quantity not in fix:
            continue
        part = {key: _picked(key, value, places) for key, value in fix[quantity].items()}
        if "columns" in part:
            source = [own.index(joint) for joint in part["columns"]]
            part["columns"] = [columns[quantity][k] for k in source]
            before = {**mapped[quantity], "columns": list(columns[quantity])}
            mapped[quantity] = {key: _picked(key, value, source) for key, value in before.items()}
        fix[quantity] = part
    if "joints" in fix:
        fix["joints"] = [fix["joints"][k] for k in places]
    return fix, mapped


def _picked(key: str, value: Any, places: Sequence[int]) -> Any:
    """A value of one per joint, in another order; all else as it is."""
    listed = key in PER_JOINT and isinstance(value, list | tuple)
    return [value[k] for k in places] if listed else value


def _signal(quantity: str, old: Mapping[str, Any], fix: Mapping[str, Any]) -> dict[str, Any]:
    out = dict(old)
    factor: Array = np.ones(())
    for key in FACTORS:
        if key in fix:
            factor = factor * np.asarray(fix[key], dtype=np.float64)
            out[key] = _plain(np.asarray(old.get(key, 1.0), dtype=np.float64) * np.asarray(fix[key]))
    if "gear" in fix:
        gear = np.asarray(fix["gear"], dtype=np.float64)
        factor = factor * gear if quantity == "torque" else factor / gear
        out["gear"] = _plain(np.asarray(old.get("gear", 1.0), dtype=np.float64) * gear)
    if "unit" in fix:
        size, _, si = to_si(quantity, fix["unit"])
        factor = factor * size
        before = old.get("unit") or si
        if all(
            to_si(quantity, one) == (1.0, 0.0, si)
            for one in ([before] if isinstance(before, str) else before)
        ):
            out["unit"] = fix["unit"]
        else:  # of numbers that had another one
            out["scale"] = _plain(np.asarray(out.get("scale", 1.0), dtype=np.float64) * size)
    if "offset" in old or "offset" in fix:
        before = np.asarray(old.get("offset", 0.0), dtype=np.float64)
        out["offset"] = _plain(before * factor + np.asarray(fix.get("offset", 0.0), dtype=np.float64))
    return {**out, **{key: value for key, value in fix.items() if key in ("columns", "wrapped")}}


def _sensor(old: Mapping[str, Any], fix: Mapping[str, Any]) -> dict[str, Any]:
    out = {**old, **fix}
    if fix.get("reaction"):
        out["reaction"] = not old.get("reaction", False)
    if "rotation" in fix and old.get("rotation") is not None:
        out["rotation"] = (np.asarray(fix["rotation"]) @ np.asarray(old["rotation"])).tolist()
    return out


def _time_unit(old: str, fix: str) -> str:
    """The unit of stamps that were taken for `old`, and are too long by the unit `fix` for a second."""
    size = to_si("time", old)[0] * to_si("time", fix)[0]
    return next(
        (name for name, (one, _, _) in UNITS["time"].items() if np.isclose(one, size, rtol=1e-9)), fix
    )


def _plain(values: Array) -> Any:
    return values.tolist() if values.ndim else float(values)
