"""000's claims on a humanoid of 33 links that hangs on a crane: no joint torques, crane and ankles measured, an IMU."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Literal

import numpy as np
import pytest

from heft.identify import Dataset, Result, Robot, fit
from heft.identify.bodies.consistency import consistency
from heft.identify.bodies.pseudo_inertia import from_pseudo_inertia, pseudo_inertia
from heft.identify.estimation.estimators import Method
from heft.identify.fit import Signals
from heft.identify.robot.constraints import RobotConstraints
from heft.identify.robot.identifiability import identifiability

SENSORS = ("crane", "left_ankle", "right_ankle")
CRANE = tuple(f"crane.{axis}" for axis in ("fx", "fy", "fz", "tx", "ty", "tz"))


@cache
def floating() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "floating.py"
    spec = importlib.util.spec_from_file_location("benchmark_floating", path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[spec.name])
    return sys.modules[spec.name]


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot.load(floating().HUMANOID)


def motion(robot: Robot, seconds: float, seed: int) -> Dataset:
    made = floating()
    data: Dataset = made.recorded(
        robot, made.swing(robot, seconds, seed), made.drawn(robot, 0), SENSORS, seed
    )
    return data


class Results(dict[str, Result]):
    """Made when they are first asked for."""

    def __init__(self, robot: Robot) -> None:
        super().__init__()
        self._robot, self._data = robot, motion(robot, 30.0, 1)

    def __missing__(self, name: str) -> Result:
        prior: Literal["none"] | None = "none" if name == "no prior" else None
        method = Method("masspoint" if name == "no prior" else name)
        found = fit(self._robot, self._data, method, cutoff_hz=6.0, signals=Signals(delay_s=0.0), prior=prior)
        return self.setdefault(name, found)


@pytest.fixture(scope="module")
def results(robot: Robot) -> Results:
    return Results(robot)


def test_the_base_equations_tell_as_much_as_the_whole_system(robot: Robot) -> None:
    known = {one.source: one.rank for one in identifiability(robot, ("joints", "base"))}
    assert known["base"] == known["together"] == 234
    assert known["joints"] == 224


@pytest.mark.slow
def test_least_squares_gives_links_that_cannot_exist_and_others_give_none(results: Results) -> None:
    def impossible(result: Result) -> int:
        return sum(not consistency(link.ten, "full").ok for link in result.parameters.links)

    assert impossible(results["ols"]) > 3
    for name in ("masspoint", "no prior", "sdp"):
        assert impossible(results[name]) == 0, name
        assert results[name].consistency("full").ok


@pytest.mark.slow
def test_every_centre_of_mass_is_inside_its_box(robot: Robot, results: Results) -> None:
    for name in ("masspoint", "no prior", "sdp"):
        for link in results[name].parameters.links:
            low, high = robot.extents[link.name]
            assert np.all((link.com > low - 1e-6) & (link.com < high + 1e-6)), (name, link.name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sdp", "masspoint"])
def test_residuals_are_near_least_squares_and_better_on_unseen_motion(
    robot: Robot, results: Results, name: str
) -> None:
    held = motion(robot, 15.0, 9)
    places = [results["ols"].robot.rows.index(row) for row in CRANE]
    assert np.all(results[name].fit.rms[places] < 1.4 * results["ols"].fit.rms[places])
    unseen = [results[one].relative_error(held).rms[places] for one in (name, "ols")]
    assert np.all(unseen[0] < unseen[1])


@pytest.mark.slow
def test_the_prior_costs_next_to_nothing(results: Results) -> None:
    places = [results["masspoint"].robot.rows.index(row) for row in CRANE]
    ratio = results["masspoint"].fit.rms[places] / results["no prior"].fit.rms[places]
    assert np.all(np.abs(ratio - 1) < 0.05), ratio


@pytest.mark.slow
def test_what_is_known_of_left_and_right_holds_and_narrows_the_intervals(robot: Robot) -> None:
    """A body whose sides are mirror images, with equal wrists and a head that is as the file says."""
    made = floating()
    mirror, equal = np.diag([1.0, -1.0, 1.0, 1.0]), ("left_wrist", "right_wrist")
    pairs = [(one, one.replace("left_", "right_")) for one in robot.links if one.startswith("left_")]
    mirrored = tuple((*pair, (0.0, 1.0, 0.0)) for pair in pairs if pair != equal)
    place = {link: slice(10 * i, 10 * i + 10) for i, link in enumerate(robot.links)}
    assert robot.prior is not None

    def image(ten: np.ndarray) -> np.ndarray:
        return from_pseudo_inertia(mirror @ pseudo_inertia(ten) @ mirror)

    truth = made.drawn(robot, 0)
    for left, right in pairs:
        truth[place[right]] = truth[place[left]] if (left, right) == equal else image(truth[place[left]])
    truth[place["head"]] = robot.prior[place["head"]]
    data = made.recorded(robot, made.swing(robot, 30.0, 1), truth, SENSORS, 1)
    known = RobotConstraints(mirrored=mirrored, equal=(equal,), pinned=("head",))
    plain, tied = (
        fit(one, data, cutoff_hz=6.0, signals=Signals(delay_s=0.0))
        for one in (robot, replace(robot, constraints=known))
    )
    found = {link.name: link.ten for link in tied.parameters.links}
    for left, right, _ in mirrored:
        np.testing.assert_allclose(found[right], image(found[left]), atol=1e-7)
    np.testing.assert_allclose(found["left_wrist"], found["right_wrist"], atol=1e-7)
    np.testing.assert_allclose(found["head"], robot.prior[place["head"]], atol=1e-7)
    assert tied.consistency("full").ok
    names = [f"{link}.mass" for link in robot.links]
    real = [truth[place[link]][0] for link in robot.links]
    std = [[result.intervals[name].std for name in names] for result in (plain, tied)]
    off = np.array([tied.intervals[name].value for name in names]) - real
    assert np.mean(std[1]) < 0.8 * np.mean(std[0])
    assert np.mean(np.abs(off) <= 1.96 * np.array(std[1]) + 1e-9) >= 0.85
