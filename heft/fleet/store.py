"""The fleet's table on disk: Parquet files, one folder for each robot. DuckDB, Polars and pandas read it as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from heft.daq.errors import ConfigError, ImportFileError
from heft.daq.whole_file import whole_file
from heft.identify.fleet.table import SCHEMA_VERSION, schema, to_table

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TABLE", "read_table", "write_table"]

#: Folder of the table below that of a run.
TABLE = "table"
FILE = "sessions.parquet"


def write_table(folder: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write the table below a run's folder, each robot's file whole or not at all; its folder."""
    import pyarrow.parquet as pq

    by_robot: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_robot.setdefault(str(row["robot"]), []).append(row)
    place = folder / TABLE
    place.mkdir(parents=True, exist_ok=True)
    for robot, own in by_robot.items():
        part = place / f"robot={quote(robot, safe='')}"
        part.mkdir(exist_ok=True)
        with whole_file(part / FILE) as draft:
            # The robot is in the name of the folder, as Hive has it: readers put it back as a column.
            pq.write_table(to_table(own).drop_columns(["robot"]), draft, compression="zstd")
    for old in place.glob(f"robot=*/{FILE}"):
        if unquote(old.parent.name.removeprefix("robot=")) not in by_robot:
            old.unlink()
    return place


def read_table(folder: Path, where: Sequence[str] = (), columns: Sequence[str] | None = None) -> pa.Table:
    """The table of a run's folder, or of the table's own; rows that all of `where` hold for, as `arm=a7`.

    `=`, `!=`, `<`, `<=`, `>`, `>=` compare; `=` and `!=` of texts take patterns with `*`.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    place = folder / TABLE if (folder / TABLE).is_dir() else folder
    files = sorted(place.glob("robot=*/*.parquet"))
    if not files:
        raise ConfigError(f"{folder}: no table of a fleet there; make one with heft fleet identify")
    parts = []
    for file in files:
        try:
            part = pq.ParquetFile(file).read()
        except (OSError, pa.ArrowInvalid) as exc:
            raise ImportFileError(
                f"{file}: not a table ({exc}); make it anew with heft fleet identify"
            ) from exc
        said = (part.schema.metadata or {}).get(b"heft.fleet.schema", b"").decode()
        if said != str(SCHEMA_VERSION):
            raise ImportFileError(
                f"{file}: schema {said or 'none'} of the table, must be {SCHEMA_VERSION}; make it anew"
            )
        robot = unquote(file.parent.name.removeprefix("robot="))
        part = part.add_column(0, "robot", pa.array([robot] * len(part), pa.string()))
        parts.append(part.select(schema().names))
    table = pa.concat_tables(parts)
    for condition in where:
        table = table.filter(_condition(condition, table, pc))
    return table if columns is None else table.select(list(columns))


def _condition(text: str, table: pa.Table, pc: Any) -> Any:
    """Which rows a condition holds for."""
    match = re.fullmatch(r"\s*(\w+)\s*(!=|<=|>=|=|<|>)\s*(.*?)\s*", text)
    if match is None or match[1] not in table.column_names:
        raise ConfigError(f"--where {text}: give COLUMN=VALUE with one of {', '.join(table.column_names)}")
    import pyarrow as pa

    name, sign, wanted = match.groups()
    column = table[name]
    if pa.types.is_string(column.type):
        if sign not in ("=", "!="):
            raise ConfigError(f"--where {text}: {name} is a text; compare it with = or !=, * for anything")
        pattern = "^" + ".*".join(re.escape(part) for part in wanted.split("*")) + "$"
        held = pc.match_substring_regex(column, pattern)
        return held if sign == "=" else pc.invert(held)
    try:
        if pa.types.is_timestamp(column.type):
            instant = datetime.fromisoformat(wanted)
            value = pa.scalar(instant if instant.tzinfo else instant.replace(tzinfo=UTC), column.type)
        else:
            value = pa.scalar(wanted).cast(column.type)
    except (pa.ArrowInvalid, ValueError) as exc:
        raise ConfigError(f"--where {text}: {wanted!r} is no {column.type}") from exc
    compare = {
        "=": pc.equal,
        "!=": pc.not_equal,
        "<": pc.less,
        "<=": pc.less_equal,
        ">": pc.greater,
        ">=": pc.greater_equal,
    }
    return compare[sign](column, value)
