"""What a wrist sensor carries, in the report and in the sentence about certainty."""

from __future__ import annotations

from dataclasses import replace

from heft.identify import Result
from heft.identify.certainty.interval import Interval
from heft.identify.result.report.evidence import Evidence
from heft.identify.result.report.parameter_tables import parameters_section


def test_the_hand_has_a_table_of_its_own(result: Result) -> None:
    hand = {
        "hand.mass": Interval.of(0.936, 0.001, unit="kg"),
        "hand.com.z": Interval.of(0.0517, 0.0001, unit="m"),
        "hand.inertia.xx": Interval.of(0.00358, 0.00001, unit="kg m2"),
    }
    told = replace(result, intervals={**result.intervals, **hand})
    page = parameters_section(told, Evidence())
    assert "all that the wrist sensor carries" in page
    for words, value, unit in (
        ("mass", "0.9360", "kg"),
        ("centre of mass z", "51.70", "mm"),
        ("inertia xx", "3.580", "g\u00b7m\u00b2"),
    ):
        assert f">{words}</th>" in page
        assert value in page
        assert unit in page
    assert "wrist sensor" not in parameters_section(result, Evidence())
    assert "what the wrist sensor carries to +-0.21 % of its mass" in told.certainty
