"""Simulated months: the shortcut tells what whole sessions tell; planted events are found and named."""

from __future__ import annotations

import numpy as np
import pytest

from heft.daq.config.shipped import CONFIGS
from heft.identify.data import Dataset, Processing
from heft.identify.fit import Signals, fit
from heft.identify.fleet.drift import find_drift
from heft.identify.fleet.friction import friction_intervals, friction_rows
from heft.identify.fleet.page import render
from heft.identify.fleet.series import series_of
from heft.identify.fleet.simulated.events import EVENTS, PlantedEvent
from heft.identify.fleet.simulated.months import Climate, Months, Reference
from heft.identify.fleet.simulated.whole_session import WholeSession
from heft.identify.result import Result
from heft.identify.robot import Robot

SESSIONS = 12


@pytest.fixture(scope="module")
def wam() -> Robot:
    return Robot.load(CONFIGS / "robots" / "wam7.yaml")


def session(robot: Robot, seed: int, friction: float = 1.0) -> Result:
    """A whole session of 20 s, with all friction of joint 2 times a factor."""
    assert robot.prior is not None
    factor = [
        friction if name in ("joint2.viscous", "joint2.coulomb") else 1.0 for name in robot.parameter_names
    ]
    t, q, tau = WholeSession(robot, "a", robot.prior * np.array(factor), 0, 20.0, seed=seed).torques()
    data = Dataset.from_arrays(t, q, tau)
    return fit(
        robot,
        data,
        "wls",
        friction="file",
        signals=Signals(processing=Processing(cutoff_hz=8.0), delay_s=0.0),
    )


@pytest.fixture(scope="module")
def reference(wam: Robot) -> Reference:
    return Reference.of(session(wam, 0))


@pytest.mark.slow
def test_the_shortcut_tells_what_whole_sessions_tell(wam: Robot, reference: Reference) -> None:
    """Means of friction and offsets are the truth's, also 10 % up; their scatter is that of the drawn errors."""
    results = [session(wam, 1 + seed, 1.1 if seed % 2 else 1.0) for seed in range(SESSIONS)]
    places = {name: i for i, name in enumerate(reference.names)}
    assert wam.prior is not None
    truth = friction_rows(wam) @ wam.prior
    ratios = []
    for j, joint in enumerate(wam.joints):
        std = reference.std[places[f"{joint}.friction"]]
        values = np.array([friction_intervals(one)[f"{joint}.friction"].value for one in results])
        expected = truth[j] * np.array([1.1 if joint == "joint2" and i % 2 else 1.0 for i in range(SESSIONS)])
        assert np.abs((values - expected).mean()) < 4 * std / np.sqrt(SESSIONS) + 2e-3 * truth[j]
        ratios.append(np.sqrt(((values - expected) ** 2).mean()) / std)
    assert 0.4 < np.median(ratios) < 1.6


def test_a_year_is_seeded_and_moves_with_temperature(reference: Reference) -> None:
    months = Months(reference, arms=2, nights=100, seed=4)
    columns = months.columns()
    assert columns["value"] == Months(reference, arms=2, nights=100, seed=4).columns()["value"]
    assert columns["value"] != Months(reference, arms=2, nights=100, seed=5).columns()["value"]
    (one, *_) = [s for s in series_of(columns) if s.parameter == "joint1.friction"]
    assert np.corrcoef(one.temperature, one.value)[0, 1] < -0.8


def test_planted_events_are_told_and_named(reference: Reference) -> None:
    """One arm for each kind of event, and one without: by default sizes at night 150."""
    sizes = {
        "wear": 0.015,
        "gearbox-replaced": -0.15,
        "gripper-changed": 0.2,
        "load-forgotten": 0.5,
        "torque-sensor": 0.02,
    }
    events = tuple(
        PlantedEvent(
            f"arm{i:03d}",
            kind,
            -1 if kind in ("gripper-changed", "load-forgotten") else 1 + i,
            150,
            sizes[kind],
            160 if kind == "load-forgotten" else -1,
        )
        for i, kind in enumerate(EVENTS)
    )
    months = Months(reference, arms=6, nights=250, seed=21, events=events)
    found, reports = find_drift(series_of(months.columns()))
    causes = {event.arm: event.causes[0].id for event in reversed(found)}
    assert causes == {event.arm: event.kind for event in events}
    page = render(found, reports, lambda name: f"{name}/report.html")
    assert page.index("fleet-arm") < page.index(">arm005 <small>")
    assert "http://" not in page
    assert 'href="arm005/night249/report.html"' in page
    assert page == render(found, reports, lambda name: f"{name}/report.html")


def test_healthy_arms_with_much_scatter_are_quiet(reference: Reference) -> None:
    months = Months(reference, arms=10, nights=200, seed=33, events=(), climate=Climate(scatter=0.03))
    found, _ = find_drift(series_of(months.columns()))
    assert len(found) <= 2
