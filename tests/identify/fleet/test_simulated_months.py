"""Simulated months: the shortcut tells what whole sessions tell; planted events are found and named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from heft.daq.config.shipped import CONFIGS
from heft.identify.data import Dataset, Processing
from heft.identify.data.known_load import KnownLoad
from heft.identify.fit import Signals, fit
from heft.identify.fleet.drift import find_drift
from heft.identify.fleet.page import render
from heft.identify.fleet.series import series_of
from heft.identify.fleet.simulated.events import EVENTS, PlantedEvent
from heft.identify.fleet.simulated.months import Climate, Months, Reference
from heft.identify.fleet.simulated.whole_session import WholeSession
from heft.identify.result import Result
from heft.identify.robot import Robot

SESSIONS = 8


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


@pytest.fixture(scope="module")
def whole(wam: Robot) -> Callable[..., Reference]:
    """What a whole session of 20 s tells whose drives may be off by 5 %; other parameters, or a load on the flange."""
    known = replace(wam, spread=replace(wam.spread, gain=0.05))

    def of(seed: int, change: Mapping[str, Callable[[float], float]] = {}, load_kg: float = 0.0) -> Reference:
        assert known.prior is not None
        truth = known.prior + KnownLoad.of(load_kg, (0.0, 0.0, 0.08)).parameters(known)
        for name, how in change.items():
            at = known.parameter_names.index(name)
            truth[at] = how(truth[at])
        data = Dataset.from_arrays(*WholeSession(known, "a", truth, 0, 20.0, seed=seed).torques())
        signals = Signals(processing=Processing(cutoff_hz=8.0), delay_s=0.0)
        return Reference.of(fit(known, data, friction="file", signals=signals))

    return of


@pytest.mark.slow
def test_the_shortcut_tells_what_whole_sessions_tell(whole: Callable[..., Reference]) -> None:
    """Friction, offsets, gains and masses: what they scatter, and what another gearbox and gripper move."""
    first, *others = [whole(seed) for seed in range(SESSIONS)]
    reference = first.compared(others, whole(99, load_kg=0.5), 0.5)
    kinds = [name.rpartition(".")[2] for name in reference.names]
    assert {"friction", "offset", "gain", "mass"} == set(kinds)
    events = (
        PlantedEvent("arm000", "gearbox-replaced", 1, 60, 0.1),
        PlantedEvent("arm000", "gripper-changed", -1, 60, 0.3),
    )
    still = Climate(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    months = Months(reference, arms=1, nights=120, seed=6, events=events, missed=0.0, climate=still)
    columns = {name: np.array(column) for name, column in months.columns().items()}
    drawn = np.column_stack([columns["value"][columns["parameter"] == name] for name in reference.names])
    before, after = drawn[:60], drawn[60:]

    nominal = np.array([whole(200 + seed).at(reference.names) for seed in range(SESSIONS)])
    ratios = nominal.std(axis=0, ddof=1) / before.std(axis=0, ddof=1)
    for kind in set(kinds):
        own = ratios[[one == kind for one in kinds]]
        assert 0.6 < np.median(own) < 1.6, (kind, own)

    offset = (after - before).mean(axis=0)[reference.names.index("joint2.offset")]
    replaced: dict[str, Callable[[float], float]] = {
        "joint2.viscous": lambda friction: 1.1 * friction,
        "joint2.coulomb": lambda friction: 1.1 * friction,
        "joint2.offset": lambda was: was + offset,
    }
    changed = np.array([whole(300 + seed, replaced, 0.3).at(reference.names) for seed in range(SESSIONS)])
    # Arms of one model differ by some per cent, so that a step of a tenth is one of a share.
    share = np.array([after[:, i].mean() / before[:, i].mean() - 1.0 for i in range(len(kinds))])
    moved = np.where(
        [one == "friction" for one in kinds], share * nominal.mean(axis=0), (after - before).mean(axis=0)
    )
    found, error = (
        changed.mean(axis=0) - nominal.mean(axis=0),
        np.hypot(changed.std(axis=0), nominal.std(axis=0)),
    )
    known = 4.0 * error / np.sqrt(SESSIONS) + 4.0 * before.std(axis=0) / np.sqrt(60.0)
    assert reference.scatter is not None
    # The reference's own session with a load has an error, too; and a load of 0.3 kg is not quite 0.6 of one of 0.5 kg.
    known += np.where(
        [one in ("mass", "gain") for one in kinds], 3.0 * reference.scatter + 0.05 * np.abs(moved), 0.0
    )
    np.testing.assert_array_less(np.abs(found - moved), known)


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
