"""Rows of the table: of a session that was identified, and of an estimate from kept triangles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.certainty.interval import Interval
from heft.identify.fleet.friction import friction_intervals
from heft.identify.fleet.session_facts import SessionFacts
from heft.identify.fleet.table import SESSION, Row
from heft.identify.fleet.together import TogetherEstimate
from heft.identify.fleet.triangles import KeptTriangles
from heft.identify.result import Result
from heft.identify.robot import Robot

__all__ = ["UNJUDGED", "rows_of", "rows_of_estimate"]

#: The verdict of an estimate from kept triangles: what it is judged by is in the recordings.
UNJUDGED = "unjudged"
NAN = float("nan")


@dataclass(frozen=True)
class _Rows:
    """What all rows of a session have in common, and the temperature of each joint [K] (n,)."""

    common: Mapping[str, Any]
    joints: Mapping[str, int]
    kelvin: Array

    @classmethod
    def of(cls, robot: Robot, facts: SessionFacts, temperature: Array, **common: Any) -> _Rows:
        where = {
            "time": 0 if not np.isfinite(facts.utc_s) else round(facts.utc_s * 1e6),
            "robot": robot.name,
            "arm": facts.arm or robot.name,
            "reason": "",
        }
        joints = {joint: j for j, joint in enumerate(robot.joints)}
        return cls(where | common, joints, np.asarray(temperature, dtype=np.float64))

    def row(
        self,
        name: str,
        unit: str,
        value: float,
        std: float = NAN,
        ends: tuple[float, float] = (NAN, NAN),
        prior: bool = False,
    ) -> Row:
        joint, kelvin = self.joints.get(name.partition(".")[0]), self.kelvin
        mean = float(np.nanmean(kelvin)) if np.isfinite(kelvin).any() else NAN
        return Row(
            parameter=name,
            unit=unit,
            value=value,
            std=std,
            low=ends[0],
            high=ends[1],
            prior_dominated=prior,
            temperature=mean if joint is None or joint >= len(kelvin) else float(kelvin[joint]),
            **self.common,
        )

    def intervals(self, found: Mapping[str, Interval]) -> list[Row]:
        return [
            self.row(name, one.unit, one.value, one.std, (one.low, one.high), one.prior_dominated)
            for name, one in found.items()
        ]


def rows_of(
    result: Result,
    facts: SessionFacts,
    *,
    session: str,
    source: str,
    digest: str,
    path: str,
    temperature: Array,
) -> list[Row]:
    """All quantities of a session that was identified."""
    of = _Rows.of(
        result.robot,
        facts,
        temperature,
        session=session,
        source=source,
        digest=digest,
        verdict=result.verdict.grade,
        method=result.method,
        level=result.level,
        cutoff_hz=result.processing.cutoff_hz,
        software=result.provenance.versions.get("heft", "unknown"),
        load=float(sum(one.load[0] for one in result.provenance.recordings if one.load is not None)),
        result=path,
    )
    rows = [of.row(SESSION, "", 1.0), *of.intervals(dict(result.intervals) | friction_intervals(result))]
    for stream, delay in result.delays.items():
        ends = (delay.low_s, delay.high_s)
        rows.append(of.row(f"delay.{stream}", "s", delay.value_s, delay.std_s, ends))
    error = result.validation or result.fit
    rows.append(of.row("torque_error", "", error.total))
    rows += [
        of.row(f"{joint}.torque_error", "", float(share))
        for joint, share, count in zip(
            of.joints, error.per_joint, error.rows, strict=False
        )  # wrenches come after
        if count > 0
    ]
    rows += [of.row(f"{joint}.tracking_error", "rad", value) for joint, value in facts.tracking.items()]
    rows += [of.row(f"loss.{stream}", "", share, std) for stream, (share, std) in facts.loss.items()]
    rows += [of.row(f"clock_skew.{device}", "ppm", skew) for device, skew in facts.skew_ppm.items()]
    return rows


def rows_of_estimate(
    found: TogetherEstimate,
    first: KeptTriangles,
    facts: SessionFacts,
    *,
    temperature: Array,
    **common: Any,
) -> list[Row]:
    """What an estimate from kept triangles knows by itself: joint terms, friction, error.

    first    its first session; `common` as of `Row`: session, source, digest, level, software, result
    """
    of = _Rows.of(
        first.robot,
        facts,
        temperature,
        verdict=UNJUDGED,
        method=found.estimate.method,
        cutoff_hz=first.processing.cutoff_hz,
        load=NAN,
        **common,
    )
    rows = [of.row(SESSION, "", 1.0), *of.intervals(found.intervals)]
    rows.append(of.row("torque_error", "", found.error.total))
    return rows
