"""A map bound to the columns of a file: which streams they become, with scales and offsets to SI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.daq.errors import ConfigError
from heft.daq.importing.import_map import ImportMap, Signal, WrenchMap
from heft.daq.importing.table import Batch, Column, Table
from heft.daq.importing.units import to_si
from heft.drivers import stream as streams

__all__ = ["BoundStream", "bind", "own_columns"]


@dataclass(frozen=True, eq=False)
class BoundStream:
    """A stream and the columns of one table that fill it, in order.

    rotation  (6, 6), applied to SI values, or None
    turns     of columns that start anew after a turn, how much one is in the file's unit, else 0; or None
    """

    stream: streams.Stream
    table: str
    columns: tuple[Column, ...]
    rotation: NDArray[np.float64] | None = None
    turns: NDArray[np.float64] | None = None

    @property
    def arrays(self) -> tuple[str, ...]:
        """Names of the table's arrays that are needed."""
        return tuple(dict.fromkeys(column.array for column in self.columns))

    def values(self, batch: Batch) -> NDArray[Any]:
        """The stream's numbers (N, k) of a batch, in its type."""
        values = np.empty((len(batch), len(self.columns)), self.stream.dtype)
        k = 0
        while k < len(self.columns):
            first = self.columns[k]
            end = k + 1
            while end < len(self.columns) and _follows(self.columns[end - 1], self.columns[end]):
                end += 1
            array = batch.arrays[first.array]
            if first.place is None:
                values[:, k] = array
            elif array.ndim == 1:  # a run without this array: NaN
                values[:, k:end] = array[:, None]
            else:
                values[:, k:end] = array[:, first.place : first.place + end - k]
            k = end
        return values if self.rotation is None else values @ self.rotation.T


def bind(mapped: ImportMap, tables: Sequence[Table], rate_of: dict[str, float]) -> list[BoundStream]:
    """The streams of a map; `ConfigError` where it names what the file has not. Rates [Hz] by table."""
    joints = _joints(mapped, tables)
    by_table: dict[str, list[tuple[Column, streams.Column]]] = {}
    slides = _slides(mapped.position, len(joints))
    for quantity in ("position", "velocity", "torque", "temperature"):
        signal: Signal | None = getattr(mapped, quantity)
        if signal is None:
            continue
        table, columns = _resolve(tables, signal.columns, quantity)
        if len(columns) != len(joints):
            raise ConfigError(
                f"{quantity}.columns: {len(columns)} columns for {len(joints)} joints ({', '.join(joints[:8])}); "
                "give one each"
            )
        described = _described(quantity, signal, joints, slides)
        by_table.setdefault(table, []).extend(zip(columns, described, strict=True))
    bound = []
    for table, pairs in by_table.items():
        known = {one.quantity for _, one in pairs}
        name = "arm.joint_states" if "position" in known else f"arm.{'_'.join(sorted(known))}"
        own = tuple(column for column, _ in pairs)
        stream = streams.Stream(
            name, tuple(one for _, one in pairs), rate_of[table], dtype=_dtype(tables, table, own)
        )
        bound.append(BoundStream(stream, table, own, turns=_turns(mapped.position, stream)))
    if mapped.wrench is not None:
        bound.append(_wrench(mapped.wrench, tables, rate_of))
    if mapped.imu is not None:
        bound.append(_imu(mapped, tables, rate_of))
    return bound


def own_columns(mapped: ImportMap, tables: Sequence[Table]) -> dict[str, list[str]]:
    """By quantity of the joints: names of the single columns, as a map can say them, where it names a whole array."""
    found = {}
    for quantity in ("position", "velocity", "torque"):
        signal: Signal | None = getattr(mapped, quantity)
        if signal is not None:
            table, columns = _resolve(tables, signal.columns, quantity)
            found[quantity] = [f"{table}:{one.name}" if len(tables) > 1 else one.name for one in columns]
    return found


def _joints(mapped: ImportMap, tables: Sequence[Table]) -> tuple[str, ...]:
    """Names of the joints in the order of the columns."""
    if mapped.position is None and mapped.torque is None and mapped.wrench is None:
        raise ConfigError("the map names no positions, no torques and no wrench; say which columns they are")
    first = mapped.position or mapped.torque
    if first is None:
        return ()
    count = len(_resolve(tables, first.columns, "position")[1])
    if mapped.joints is None:
        return tuple(f"joint{k + 1}" for k in range(count))
    if len(mapped.joints) != count:
        raise ConfigError(
            f"joints: {len(mapped.joints)} names for {count} columns of positions; name the joint of each column"
        )
    return mapped.joints


def _resolve(tables: Sequence[Table], names: Sequence[str], what: str) -> tuple[str, tuple[Column, ...]]:
    """The table and the columns of some names; all of one table."""
    found: list[Column] = []
    owner: str | None = None
    for name in names:
        table_name, separator, bare = name.rpartition(":")
        options = [(t, t.find(name)) for t in tables] + [
            (t, t.find(bare)) for t in tables if separator and t.name == table_name
        ]
        options = [(t, columns) for t, columns in options if columns]
        if not options:
            known = ", ".join(dict.fromkeys(column.array for t in tables for column in t.columns))
            raise ConfigError(f"{what}.columns: no column {name!r}; there are: {known[:400]}")
        if len({t.name for t, _ in options}) > 1:
            several = ", ".join(f"{t.name}:{name}" for t, _ in options[:3])
            raise ConfigError(f"{what}.columns: {name!r} is in several topics; say which: {several}")
        table, columns = options[0]
        if owner is not None and owner != table.name:
            raise ConfigError(f"{what}.columns: of two topics, {owner} and {table.name}; take them from one")
        owner = table.name
        found += columns
    assert owner is not None
    return owner, tuple(found)


def _turns(position: Signal | None, stream: streams.Stream) -> NDArray[np.float64] | None:
    """A turn of each column that starts anew after one, in the file's unit (k,), 0 for others; None: none does."""
    if position is None or not position.wrapped:
        return None
    turning = [column.quantity == "position" and column.unit == "rad" for column in stream.columns]
    scales = np.array([abs(column.scale) for column in stream.columns])
    return np.where(turning, 2 * np.pi / scales, 0.0) if any(turning) else None


def _each(value: Any, n: int, what: str) -> NDArray[np.float64]:
    """One number for all joints, or one for each."""
    if not isinstance(value, tuple):
        return np.full(n, float(value))
    if len(value) != n:
        raise ConfigError(f"{what}: {len(value)} numbers for {n} joints; give one for all, or one each")
    return np.array(value, np.float64)


def _units(signal: Signal, n: int, what: str, usual: str) -> list[str]:
    units = [signal.unit or usual] * n if isinstance(signal.unit, str) else list(signal.unit)
    if len(units) != n:
        raise ConfigError(f"{what}.unit: {len(units)} units for {n} joints; give one for all, or one each")
    return units


def _slides(signal: Signal | None, n: int) -> list[bool]:
    """Which joints slide: their positions are lengths."""
    if signal is None:
        return [False] * n
    return [to_si("position", unit)[2] == "m" for unit in _units(signal, n, "position", "rad")]


def _described(
    quantity: str, signal: Signal, joints: Sequence[str], slides: Sequence[bool]
) -> list[streams.Column]:
    """Columns of a stream: SI = sign (raw unit) constant scale gear + offset, see `Signal`."""
    n = len(joints)
    usual = {"position": "rad", "velocity": "rad/s", "torque": "N m", "temperature": "degC"}[quantity]
    sign, gear, offset, scale = (
        _each(getattr(signal, key), n, f"{quantity}.{key}") for key in ("sign", "gear", "offset", "scale")
    )
    constant = None if signal.constant is None else _each(signal.constant, n, f"{quantity}.constant")
    described = []
    for k, unit in enumerate(_units(signal, n, quantity, usual)):
        factor, shift, si = to_si(quantity, unit)
        kind = quantity
        factor *= sign[k] * scale[k]
        if quantity == "torque":
            if si == "rated" and constant is None:
                raise ConfigError(
                    "torque: in %, but of what; give the rated torques [N m] as `constant`, one for all or one each"
                )
            if si == "A" and constant is None:
                kind = "current"
                if gear[k] != 1.0:
                    raise ConfigError(
                        "torque.gear: currents become torques by `constant` [N m/A] and gear; give both"
                    )
            else:
                factor *= gear[k] * (1.0 if constant is None else constant[k])
                si = "N" if slides[k] else "N m"
        elif quantity in ("position", "velocity"):
            factor /= gear[k]
            if slides[k]:
                si = {"rad": "m", "rad/s": "m/s"}.get(si, si)
        described.append(streams.Column(joints[k], kind, si, float(factor), float(shift + offset[k]), unit))
    return described


def _wrench(mapped: WrenchMap, tables: Sequence[Table], rate_of: dict[str, float]) -> BoundStream:
    table, columns = _resolve(tables, mapped.columns, "wrench")
    if len(columns) != 6:
        raise ConfigError(f"wrench.columns: {len(columns)} columns; give six, force before torque")
    sign = -1.0 if mapped.reaction else 1.0
    units = [mapped.unit[0]] * 3 + [mapped.unit[1]] * 3
    factors = [sign * to_si("torque", unit)[0] for unit in units]
    rotation = None
    if mapped.rotation is not None:
        R = np.array(mapped.rotation)
        if not np.allclose(R @ R.T, np.eye(3), atol=1e-3):
            raise ConfigError(
                "wrench.rotation: not a rotation; give three rows of unit length at right angles"
            )
        rotation = np.kron(np.eye(2), R) @ np.diag(factors)
    described = tuple(
        streams.Column(
            axis,
            quantity,
            "N" if quantity == "force" else "N m",
            factors[k] if rotation is None else 1.0,
            0.0,
            units[k] if rotation is None else "",
        )
        for k, (quantity, axis) in enumerate((q, a) for q in ("force", "torque") for a in "xyz")
    )
    dtype = "<f8" if rotation is not None else _dtype(tables, table, columns)
    stream = streams.Stream("wrist.wrench", described, rate_of[table], dtype=dtype, frame=mapped.frame)
    return BoundStream(stream, table, columns, rotation)


def _imu(mapped: ImportMap, tables: Sequence[Table], rate_of: dict[str, float]) -> BoundStream:
    assert mapped.imu is not None
    parts = (
        ("angular_velocity", mapped.imu.angular_velocity, "velocity", mapped.imu.unit[0]),
        ("acceleration", mapped.imu.linear_acceleration, "acceleration", mapped.imu.unit[1]),
    )
    table, columns, described = "", list[Column](), list[streams.Column]()
    for quantity, names, kind, unit in parts:
        if names is None:
            continue
        table, found = _resolve(tables, names, f"imu.{quantity}")
        if len(found) != 3:
            raise ConfigError(f"imu.{quantity}: {len(found)} columns; give three, about x, y, z")
        factor, _, si = to_si(kind, unit)
        columns += found
        described += [streams.Column(axis, quantity, si, factor, 0.0, unit) for axis in "xyz"]
    if not columns:
        raise ConfigError(
            "imu: names no columns; give angular_velocity or linear_acceleration, three columns each"
        )
    own = tuple(columns)
    stream = streams.Stream(
        "imu.motion",
        tuple(described),
        rate_of[table],
        dtype=_dtype(tables, table, own),
        frame=mapped.imu.frame,
    )
    return BoundStream(stream, table, own)


def _dtype(tables: Sequence[Table], table: str, columns: Sequence[Column]) -> str:
    """Floats of the file's own width."""
    head = next(one.head for one in tables if one.name == table)
    kinds = {head.arrays[column.array].dtype for column in columns}
    return "<f4" if all(kind.kind == "f" and kind.itemsize <= 4 for kind in kinds) else "<f8"


def _follows(one: Column, other: Column) -> bool:
    """Whether two columns lie side by side in one array."""
    return (
        one.array == other.array
        and one.place is not None
        and other.place is not None
        and other.place == one.place + 1
    )
