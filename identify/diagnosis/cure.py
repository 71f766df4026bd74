"""Cures: what a fix, a part of a map, does to a log in memory; and fixes merged into one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from heft.daq.importing.turns import TurnCounter
from heft.daq.importing.units import to_si
from heft.identify.bodies.arrays import Array
from heft.identify.diagnosis.log import QUANTITIES, Log

__all__ = ["cured", "merged"]

FACTORS = ("scale", "sign", "constant", "gear")  # of maps: they multiply when fixes are merged
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
    """A map with a fix merged into it: factors multiply, offsets add, all else is replaced."""
    out = dict(old)
    for key, value in new.items():
        before = out.get(key)
        if isinstance(value, Mapping):
            out[key] = merged(before if isinstance(before, Mapping) else {}, value)
        elif key in FACTORS and before is not None:
            out[key] = _plain(np.asarray(before, dtype=np.float64) * np.asarray(value, dtype=np.float64))
        elif key == "offset" and before is not None:
            out[key] = _plain(np.asarray(before, dtype=np.float64) + np.asarray(value, dtype=np.float64))
        else:
            out[key] = value
    return out


def _plain(values: Array) -> Any:
    return values.tolist() if values.ndim else float(values)
