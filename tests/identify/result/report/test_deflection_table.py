"""How far joints bend, in the report and in the result's file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from heft.identify import Result
from heft.identify.data.deflection import Deflection
from heft.identify.result.report.evidence import Evidence
from heft.identify.result.report.recording_tables import recordings_section

BENDS = Deflection(
    joints=("joint1", "joint2"),
    stream="encoders.position",
    motors="arm.motion",
    delay_s=0.0008,
    offset=(0.0031, 0.0),
    rms=(0.0012, 0.0),
    largest=(0.0025, 0.0),
    stiffness=(5013.0, np.inf),
    stiffness_std=(77.0, np.inf),
)


def test_the_table_names_streams_and_stiffness(result: Result) -> None:
    page = recordings_section(replace(result, deflections=(BENDS,)), Evidence())
    assert "Links (encoders.position, 0.80 ms older) against motors (arm.motion)" in page
    for value in ("3.1", "1.2", "2.5", "5013 \u00b1 1.5e+02"):
        assert f">{value}<" in page
    assert "older" not in recordings_section(result, Evidence())


def test_a_result_keeps_it(result: Result) -> None:
    again = Result.from_dict(replace(result, deflections=(BENDS,)).to_dict())
    assert again.deflections == (BENDS,)
