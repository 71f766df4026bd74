"""Designs that are interrupted, that add to earlier sessions, and that go around what is in the way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heft.daq.config.robot import RobotConfig
from heft.daq.config.scene import ObstacleConfig, SceneConfig
from heft.daq.trajectory.fourier import FourierSeries
from heft.daq.trajectory.random_fourier import random_fourier
from heft.identify import Dataset, fit
from heft.identify.errors import ProblemError
from heft.identify.excitation.design import design, information, telling
from heft.identify.excitation.given import given_information
from heft.identify.excitation.search import Candidate, repeated

from .conftest import request_for

NOISE = 0.5  # [N m]
SHORT: dict[str, object] = {"seconds": 8.0, "harmonics": 4}


def test_ctrl_c_keeps_the_best_so_far(ddarm: RobotConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.monotonic", iter(range(10**9)).__next__)  # every iteration is told
    told: list[Candidate] = []

    def interrupt(candidate: Candidate) -> None:
        told.append(candidate)
        if len(told) == 3:
            raise KeyboardInterrupt

    made = design(request_for(ddarm, budget_s=1e8, **SHORT), interrupt)
    assert not any(candidate.finished for candidate in told)
    assert made.limits_ok
    assert made.candidate.value < told[0].value + 0.5


def test_ctrl_c_before_there_is_anything_ends_it(ddarm: RobotConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> Candidate:
        raise KeyboardInterrupt

    monkeypatch.setattr("heft.identify.excitation.parallel.explore", interrupted)
    with pytest.raises(KeyboardInterrupt):
        design(request_for(ddarm, **SHORT))


@pytest.fixture(scope="module")
def earlier(ddarm: RobotConfig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result of a random motion with known noise."""
    request = request_for(ddarm, **SHORT)
    robot = request.robot
    assert robot.prior is not None
    t = np.arange(0.0, 8.0, 0.002)
    motion = random_fourier(request.limits, period_s=8.0, harmonics=4, seed=3).at(t)
    rng = np.random.default_rng(0)
    tau = robot.torque(*motion, robot.prior) + NOISE * rng.standard_normal((len(t), 3))
    result = fit(robot, Dataset.from_arrays(t, motion[0], tau, motion[1]))
    return result.save(tmp_path_factory.mktemp("earlier") / "result.json")


def test_what_earlier_sessions_told_counts(ddarm: RobotConfig, earlier: Path) -> None:
    request = request_for(ddarm, rate_hz=500.0, **SHORT)
    given = given_information(request, [earlier])
    twice = given_information(request, [earlier, earlier])
    assert given.noise == pytest.approx([NOISE] * 3, rel=0.3)
    assert given.given is not None
    assert twice.given == pytest.approx(2.0 * given.given)
    t = np.linspace(0.0, 8.0, 400)
    motion = random_fourier(request.limits, period_s=8.0, harmonics=4, seed=5).at(t)
    alone = telling(replace(given, given=None), motion).std
    together = telling(given, motion).std
    assert (together < alone).all()


@pytest.mark.slow
def test_a_design_tells_what_they_left_open(ddarm: RobotConfig, earlier: Path) -> None:
    """The second motion makes the worst deviation smaller than the first one's repetition does."""
    given = given_information(request_for(ddarm, rate_hz=500.0, criterion="worst", **SHORT), [earlier])
    assert given.given is not None
    repeated = np.sqrt(np.diag(np.linalg.inv(2.0 * given.given))) / given.scale
    assert design(given).telling.relative.max() < repeated.max() / 1.4


@pytest.mark.parametrize("criterion", ["d", "worst"])
def test_a_second_motion_is_no_worse_than_the_first_again(ddarm: RobotConfig, criterion: str) -> None:
    """Whatever the search comes to: the earlier motion counts as it is."""
    first = design(request_for(ddarm, **SHORT))
    asked = replace(
        request_for(ddarm, criterion=criterion, budget_s=1e-3, seed=7, **SHORT),
        given=information(first.request, first.motion),
    )
    again = replace(asked, earlier=(first.series, replace_period(first.series)))
    (repetition,) = repeated(again)
    assert repetition.extra == 0.0
    alone, made = design(asked), design(again)
    assert made.limits_ok
    assert made.candidate.value <= repetition.value + 1e-6
    assert made.candidate.value <= alone.candidate.value


def replace_period(series: FourierSeries) -> FourierSeries:
    """A motion of another length, which no search can begin at."""
    return FourierSeries(series.a, series.b, series.q0, 2.0 * series.period_s)


def test_results_of_another_robot_are_refused(panda: RobotConfig, earlier: Path) -> None:
    with pytest.raises(ProblemError, match="give results of this robot"):
        given_information(request_for(panda), [earlier])


@pytest.mark.slow
def test_table_and_wall_are_kept_clear_of(panda: RobotConfig) -> None:
    """With them nothing is touched; without them the same seed goes through them."""
    obstacles = {
        "table": ObstacleConfig(box=(0.8, 1.2, 0.05), at=(0.6, 0.0, 0.2)),
        "wall": ObstacleConfig.model_validate({"plane": {"normal": (0.0, -1.0, 0.0), "offset": -0.35}}),
    }
    request = request_for(panda, SceneConfig(obstacles=obstacles), budget_s=25.0)
    made = design(request)
    assert made.limits_ok
    assert made.clearance.min() > 0.0
    free = design(request_for(panda, budget_s=25.0))
    assert request.surroundings.distances(free.motion[0]).min() < 0.0
