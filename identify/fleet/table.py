"""The fleet's table: one row per session and quantity. Names and types are a promise (`docs/fleet.md`)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "COLUMNS",
    "SCHEMA_VERSION",
    "SESSION",
    "Row",
    "failed_row",
    "schema",
    "to_table",
]

#: Raised when a column is taken away or means something else; a new column does not raise it.
SCHEMA_VERSION = 1
#: The quantity of the row that every session has, also one that could not be identified; its value is 1 or 0.
SESSION = "session"


@dataclass(frozen=True)
class Row:
    """One quantity of one session; NaN is what is not known.

    session       the session's name: the recording's path without its ending, or the group's
    source        where the recording is
    digest        SHA-256 of the recording's bytes (of several: of theirs, joined)
    time          UTC [us since 1970]
    robot, arm    the model, and which one of them
    parameter     `joint3.friction`, `link7.mass`, `hand.mass`, `loss.arm.motion`, ...
    value, std, low, high   in `unit`; 95 % interval
    prior_dominated   the data hardly narrow what was known before
    verdict       of the session: good, care, unfit, failed, or unjudged (an estimate from triangles)
    reason        why it failed
    software      version of Heft
    temperature   of the joint, or the mean of all [K]
    load          known load on the flange [kg]
    result        the session's result.json, below the folder of the run
    """

    session: str
    source: str
    digest: str
    time: int
    robot: str
    arm: str
    parameter: str
    unit: str
    value: float
    std: float
    low: float
    high: float
    prior_dominated: bool
    verdict: str
    reason: str
    method: str
    level: str
    cutoff_hz: float
    software: str
    temperature: float
    load: float
    result: str

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values; NaN and infinite are null."""
        return {
            name: None if isinstance(one, float) and not math.isfinite(one) else one
            for name in COLUMNS
            for one in (getattr(self, name),)
        }


COLUMNS = tuple(Row.__dataclass_fields__)


@cache
def schema() -> pa.Schema:
    """The columns as Parquet has them."""
    import pyarrow as pa

    kinds = {"str": pa.string(), "float": pa.float64(), "bool": pa.bool_(), "int": pa.int64()}
    fields = []
    for name, column in Row.__dataclass_fields__.items():
        kind = pa.timestamp("us", tz="UTC") if name == "time" else kinds[str(column.type)]
        fields.append(pa.field(name, kind, nullable=str(column.type) == "float"))
    return pa.schema(fields, metadata={"heft.fleet.schema": str(SCHEMA_VERSION)})


def to_table(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """A table of rows as `Row.to_dict` has them, sorted by arm, time and quantity."""
    import pyarrow as pa

    listed = list(rows)
    columns = {}
    for field in schema():
        values: Sequence[Any] = [row[field.name] for row in listed]
        columns[field.name] = pa.array(values, type=pa.int64() if field.name == "time" else field.type)
    columns["time"] = columns["time"].cast(pa.timestamp("us", tz="UTC"))
    table = pa.table(columns, schema=schema())
    return table.sort_by([("arm", "ascending"), ("time", "ascending"), ("parameter", "ascending")])


def failed_row(
    *,
    session: str,
    source: str,
    digest: str,
    reason: str,
    software: str,
    robot: str = "",
    arm: str = "",
    time_s: float,
) -> Row:
    """The row of a session that could not be identified."""
    nan = float("nan")
    return Row(
        session=session,
        source=source,
        digest=digest,
        time=0 if not np.isfinite(time_s) else round(time_s * 1e6),
        robot=robot or "unknown",
        arm=arm or "unknown",
        parameter=SESSION,
        unit="",
        value=0.0,
        std=nan,
        low=nan,
        high=nan,
        prior_dominated=False,
        verdict="failed",
        reason=reason,
        method="",
        level="",
        cutoff_hz=nan,
        software=software,
        temperature=nan,
        load=nan,
        result="",
    )
