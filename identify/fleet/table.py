"""The fleet's table: one row per session and quantity. Names and types are a promise (`docs/fleet.md`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from heft.identify.fleet.friction import friction_intervals
from heft.identify.fleet.session_facts import SessionFacts

if TYPE_CHECKING:
    import pyarrow as pa

    from heft.identify.result import Result

__all__ = [
    "COLUMNS",
    "SCHEMA_VERSION",
    "SESSION",
    "Row",
    "failed_row",
    "rows_of",
    "schema",
    "to_table",
    "utc_text",
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
    verdict       of the session: good, care, unfit, or failed
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
            name: None if isinstance(one, float) and not np.isfinite(one) else one
            for name, one in asdict(self).items()
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


def rows_of(
    result: Result,
    facts: SessionFacts,
    *,
    session: str,
    source: str,
    digest: str,
    path: str,
    temperature: np.ndarray[Any, np.dtype[np.float64]],
) -> list[Row]:
    """All quantities of a session that was identified."""
    joints = {joint: j for j, joint in enumerate(result.robot.joints)}
    kelvin = np.asarray(temperature, dtype=np.float64)
    mean = float(np.nanmean(kelvin)) if np.isfinite(kelvin).any() else float("nan")
    load = sum(one.load[0] for one in result.provenance.recordings if one.load is not None)
    time = 0 if not np.isfinite(facts.utc_s) else round(facts.utc_s * 1e6)
    nan = float("nan")

    def row(
        name: str,
        unit: str,
        value: float,
        std: float = nan,
        ends: tuple[float, float] = (nan, nan),
        prior: bool = False,
    ) -> Row:
        joint = joints.get(name.partition(".")[0])
        return Row(
            session=session,
            source=source,
            digest=digest,
            time=time,
            robot=result.robot.name,
            arm=facts.arm or result.robot.name,
            parameter=name,
            unit=unit,
            value=value,
            std=std,
            low=ends[0],
            high=ends[1],
            prior_dominated=prior,
            verdict=result.verdict.grade,
            reason="",
            method=result.method,
            level=result.level,
            cutoff_hz=result.processing.cutoff_hz,
            software=result.provenance.versions.get("heft", "unknown"),
            temperature=mean if joint is None or joint >= len(kelvin) else float(kelvin[joint]),
            load=float(load),
            result=path,
        )

    rows = [row(SESSION, "", 1.0)]
    intervals = dict(result.intervals) | friction_intervals(result)
    for name, one in intervals.items():
        rows.append(row(name, one.unit, one.value, one.std, (one.low, one.high), one.prior_dominated))
    for stream, delay in result.delays.items():
        ends = (delay.low_s, delay.high_s)
        rows.append(row(f"delay.{stream}", "s", delay.value_s, delay.std_s, ends))
    error = result.validation or result.fit
    rows.append(row("torque_error", "", error.total))
    rows += [
        row(f"{joint}.torque_error", "", float(share))
        for joint, share in zip(joints, error.per_joint, strict=True)
    ]
    rows += [row(f"{joint}.tracking_error", "rad", value) for joint, value in facts.tracking.items()]
    rows += [row(f"loss.{stream}", "", share, std) for stream, (share, std) in facts.loss.items()]
    rows += [row(f"clock_skew.{device}", "ppm", skew) for device, skew in facts.skew_ppm.items()]
    return rows


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


def utc_text(time_us: int) -> str:
    """A time of the table for people; empty for 0, which stands for unknown."""
    return "" if not time_us else f"{datetime.fromtimestamp(time_us * 1e-6, UTC):%Y-%m-%d %H:%M}"
