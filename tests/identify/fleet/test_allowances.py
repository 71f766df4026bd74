"""How the false alarms that an arm may give in a year are shared out to its series."""

from __future__ import annotations

import numpy as np
import pytest

from heft.identify.fleet.drift import allowances, find_drift
from heft.identify.fleet.series import Series, series_of
from heft.identify.fleet.simulated.events import PlantedEvent
from heft.identify.fleet.simulated.months import Months, Reference


def series(*names: str, events: tuple[PlantedEvent, ...] = ()) -> list[Series]:
    """Of one arm, these and those that every arm has."""
    reference = Reference(
        "r", ("a", "b"), names, ("N m",) * len(names), np.ones(len(names)), np.full(len(names), 2e-3)
    )
    return list(series_of(Months(reference, arms=1, nights=150, seed=8, events=events).columns()))


@pytest.mark.parametrize(
    "names", [("a.friction", "b.friction", "a.offset"), ("a.offset",), ("hand.mass", "a.friction")]
)
def test_all_series_together_have_what_was_allowed(names: tuple[str, ...]) -> None:
    found = allowances(series(*names), 0.8)
    assert sum(sum(one.values()) for one in found) == pytest.approx(0.8)


def test_friction_alone_has_all_trends() -> None:
    friction = [one for one in series("a.friction", "b.friction") if one.parameter.endswith(".friction")]
    assert sum(sum(one.values()) for one in allowances(friction, 1.0)) == pytest.approx(1.0)


def test_trends_of_friction_are_allowed_more_than_others() -> None:
    own = series("a.friction", "b.friction", "a.offset")
    trends = {one.parameter: alarms["trend"] for one, alarms in zip(own, allowances(own, 0.8), strict=True)}
    assert trends["a.friction"] == trends["b.friction"] > 5 * trends["a.offset"]
    assert len({alarms["step"] for alarms in allowances(own, 0.8)}) == 1


def test_how_sure_follows_the_share() -> None:
    events = (PlantedEvent("arm000", "gearbox-replaced", 0, 100, 0.3),)
    (event,), reports = find_drift(series("a.friction", "b.friction", "a.offset", events=events))
    assert event.main.sure > 0.999
    assert {one.series.parameter for one in reports} >= {change.parameter for change in event.changes}
