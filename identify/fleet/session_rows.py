"""Rows of the table of a session that was identified."""

from __future__ import annotations

from typing import Any

import numpy as np

from heft.identify.fleet.friction import friction_intervals
from heft.identify.fleet.session_facts import SessionFacts
from heft.identify.fleet.table import SESSION, Row
from heft.identify.result import Result

__all__ = ["rows_of"]


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
