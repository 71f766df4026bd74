"""Masses are watched and named by what they are, whatever a robot calls its links."""

from __future__ import annotations

import numpy as np
import pytest

from heft.identify.fleet.drift import find_drift
from heft.identify.fleet.series import kind_of, series_of
from heft.identify.fleet.simulated.events import PlantedEvent
from heft.identify.fleet.simulated.months import Months, Reference


@pytest.mark.parametrize("link", ["link7", "panda_link7", "upper_arm_link", "shoulder"])
def test_a_gripper_and_a_forgotten_load_are_told_whatever_links_are_called(link: str) -> None:
    names = ("lift.friction", "lift.offset", f"{link}.mass")
    values = np.array([2.0, 0.1, 1.5])
    reference = Reference("r", ("lift",), names, ("N m", "N m", "kg"), values, 0.01 * values)
    events = (
        PlantedEvent("arm000", "gripper-changed", -1, 100, 0.3),
        PlantedEvent("arm001", "load-forgotten", -1, 90, 0.5, 100),
    )
    months = Months(reference, arms=3, nights=130, seed=3, events=events)
    found, _ = find_drift(series_of(months.columns()))
    assert {(one.arm, one.main.parameter, one.causes[0].id) for one in found} == {
        ("arm000", f"{link}.mass", "gripper-changed"),
        ("arm001", f"{link}.mass", "load-forgotten"),
    }


@pytest.mark.parametrize("name", ["total_mass", "shoulder.com.x", "shoulder.mx"])
def test_what_is_no_mass_of_a_link_is_not_watched(name: str) -> None:
    assert kind_of(name) is None
