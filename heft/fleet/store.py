"""The fleet's table: Parquet files, one folder for each robot. DuckDB, Polars and pandas read it as it is."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from heft.daq.errors import ConfigError, ImportFileError
from heft.fleet.results import Results
from heft.identify.fleet.table import SCHEMA_VERSION, schema, to_table

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TABLE", "read_table", "write_table"]

#: Folder of the table below that of a run.
TABLE = "table"
FILE = "sessions.parquet"


def write_table(results: Results, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write the table of a run, each robot's file whole or not at all; those of robots that are gone are removed."""
    import pyarrow.parquet as pq

    by_robot: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_robot.setdefault(str(row["robot"]), []).append(row)
    names = {f"{TABLE}/robot={quote(robot, safe='')}/{FILE}": own for robot, own in by_robot.items()}
    for name, own in names.items():
        file = io.BytesIO()
        # The robot is in the name of the folder, as Hive has it: readers put it back as a column.
        pq.write_table(to_table(own).drop_columns(["robot"]), file, compression="zstd")
        results.write(name, file.getvalue())
    for old in results.find(FILE):
        if old.startswith(f"{TABLE}/") and old not in names:
            results.remove(old)


def read_table(results: Results, where: Sequence[str] = (), columns: Sequence[str] | None = None) -> pa.Table:
    """The table of a run, or of its table's own folder; rows that all of `where` hold for, as `arm=a7`.

    `=`, `!=`, `<`, `<=`, `>`, `>=` compare; `=` and `!=` of texts take patterns with `*`.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    names = [name for name in results.find(FILE) if re.fullmatch(rf"({TABLE}/)?robot=[^/]*/{FILE}", name)]
    if not names:
        raise ConfigError(f"{results.place()}: no table of a fleet there; make one with heft fleet identify")
    parts = []
    for name in names:
        file = results.place(name)
        try:
            part = pq.ParquetFile(io.BytesIO(results.read(name) or b"")).read()
        except (OSError, pa.ArrowInvalid) as exc:
            raise ImportFileError(
                f"{file}: not a table ({exc}); make it anew with heft fleet identify"
            ) from exc
        said = (part.schema.metadata or {}).get(b"heft.fleet.schema", b"").decode()
        if said != str(SCHEMA_VERSION):
            raise ImportFileError(
                f"{file}: schema {said or 'none'} of the table, must be {SCHEMA_VERSION}; make it anew"
            )
        robot = unquote(name.split("/")[-2].removeprefix("robot="))
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
