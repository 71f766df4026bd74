"""Weather that nobody measured is read from the other joints; what happens to one joint stays its own."""

from __future__ import annotations

import numpy as np
import pytest

from heft.identify.fleet.drift import find_drift
from heft.identify.fleet.series import series_of
from heft.identify.fleet.shared import with_shared
from heft.identify.fleet.simulated.events import PlantedEvent
from heft.identify.fleet.simulated.months import Climate, Months, Reference

JOINTS = tuple(f"joint{j}" for j in range(1, 8))
#: Sessions at any hour in a hall without a thermometer: friction falls and rises by a tenth from one to the next.
WEATHER = Climate(thermometer=False, hour_K=8.0)


@pytest.fixture(scope="module")
def reference() -> Reference:
    names = tuple(f"{joint}.{what}" for joint in JOINTS for what in ("friction", "offset"))
    values = np.tile([1.0, 0.1], len(JOINTS))
    return Reference("robot", JOINTS, names, ("N m",) * len(names), values, 0.002 * np.abs(values))


def test_other_joints_tell_the_weather(reference: Reference) -> None:
    months = Months(reference, arms=1, nights=200, seed=1, events=(), climate=WEATHER)
    series = with_shared(list(series_of(months.columns())))
    (one,) = [one for one in series if one.parameter == "joint3.friction"]
    assert one.shared is not None
    y, _ = one.scaled
    assert np.std(y) > 0.05
    assert np.corrcoef(y, one.shared)[0, 1] > 0.97
    assert one.covariates()[0] == ("shared",)


def test_joints_share_nothing_where_their_temperatures_say_all(reference: Reference) -> None:
    months = Months(reference, arms=1, nights=200, seed=1, events=())
    assert all(one.shared is None for one in with_shared(list(series_of(months.columns()))))


def test_events_are_told_in_unmeasured_weather_and_only_they(reference: Reference) -> None:
    """Two joints of one arm, two weeks apart: each is an event of its own, and no other joint's."""
    events = (
        PlantedEvent("arm000", "gearbox-replaced", 6, 150, 0.2),
        PlantedEvent("arm000", "wear", 2, 164, 0.02),
    )
    months = Months(reference, arms=3, nights=280, seed=4, events=events, climate=WEATHER)
    found, _ = find_drift(series_of(months.columns()))
    assert {(one.arm, one.main.parameter.partition(".")[0], one.causes[0].id) for one in found} == {
        ("arm000", "joint7", "gearbox-replaced"),
        ("arm000", "joint3", "wear"),
    }


def test_a_step_of_all_joints_is_told_where_temperatures_are_known(reference: Reference) -> None:
    events = tuple(PlantedEvent("arm000", "gearbox-replaced", joint, 100, -0.1) for joint in range(7))
    months = Months(reference, arms=1, nights=140, seed=4, events=events)
    (one,), _ = find_drift(series_of(months.columns()))
    assert {f"{joint}.friction" for joint in JOINTS} <= {change.parameter for change in one.changes}


def test_few_joints_share_nothing() -> None:
    names = ("joint1.friction", "joint2.friction")
    reference = Reference("r", ("joint1", "joint2"), names, ("N m",) * 2, np.ones(2), np.full(2, 0.002))
    months = Months(reference, arms=1, nights=60, seed=1, events=(), climate=WEATHER)
    assert all(one.shared is None for one in with_shared(list(series_of(months.columns()))))
