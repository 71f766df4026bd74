"""Feet that should rest: slips of a few centimetres are told by root and joints, and healthy ones are left alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from heft.identify import fit
from heft.identify.certainty.reason import Reason
from heft.identify.certainty.resting_contacts import resting_contacts
from heft.identify.data import Dataset, Processing
from heft.identify.fit import Signals
from heft.identify.information.fit_data import FitData
from heft.identify.robot import Robot

HUMANOID = Path(__file__).parents[2] / "configs" / "robots" / "humanoid.xml"
FOOT = {"left": {"frame": "left_sole", "contact": True, "rest": True}}
SIZE = {"walker": 0.25, "humanoid": 0.12}


@pytest.fixture(scope="module", params=["walker", "humanoid"])
def robot(
    floating: ModuleType, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Robot:
    if request.param == "walker":
        return floating.walker(tmp_path_factory.mktemp("walker"), wrench_sensors=FOOT, joint_terms=())
    return Robot.from_mjcf(HUMANOID, wrench_sensors=FOOT, imu={"imu": "imu"}, joint_terms=())


def slip(start_s: float, seconds: float, far: Any) -> Callable[[Any], Any]:
    """A move by `far` (3,), with the least jerk."""

    def foot(t: Any) -> Any:
        share = np.clip((t - start_s) / seconds, 0, 1)[:, None]
        return np.asarray(far) * share**3 * (10 - 15 * share + 6 * share**2)

    return foot


def recorded(robot: Robot, motion: Any, seed: int) -> Dataset:
    """What an IMU of a chip tells, mounted askew and with biases, and encoders whose zeros are off."""
    rng = np.random.default_rng(seed)
    imu = motion.imu(robot)
    imu[:, 3:] = imu[:, 3:] @ (np.eye(3) + 0.005 * rng.normal(size=(3, 3))) + 0.05 * rng.normal(size=3)
    imu[:, :3] += 0.005 * rng.normal(size=3)
    imu += rng.normal(size=imu.shape) * np.array([2e-3] * 3 + [2e-2] * 3)
    zeros, noise = 3e-3 * rng.normal(size=motion.q.shape[1]), 1e-5 * rng.normal(size=motion.q.shape)
    wrench = {"left": np.zeros((len(motion.t), 6))}
    return Dataset.from_arrays(motion.t, motion.q + zeros + noise, wrenches=wrench, imu={"imu": imu})


def told(robot: Robot, data: Dataset) -> list[Reason]:
    return resting_contacts(FitData.of(robot.measuring(("left",)), [data], Processing(cutoff_hz=8.0)))


def rocking(t: Any) -> Any:
    return 0.004 * np.stack([np.sin(4.4 * t), np.sin(2.8 * t + 1), 0 * t], axis=1)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_foot_that_rests_or_rocks_a_little_is_left_alone(
    floating: ModuleType, robot: Robot, seed: int
) -> None:
    for rock in (None, rocking):
        motion = floating.standing(robot, "left", 25.0, rock=rock, seed=seed, size=SIZE[robot.name])
        assert told(robot, recorded(robot, motion, seed)) == []


@pytest.mark.parametrize("seconds", [0.2, 0.6, 1.0])
def test_a_slip_is_told_with_its_time_and_distance(
    floating: ModuleType, robot: Robot, seconds: float
) -> None:
    foot = slip(13.0, seconds, (0.0, 0.03, 0.0))
    motion = floating.standing(robot, "left", 25.0, foot, rocking, size=SIZE[robot.name])
    (one,) = told(robot, recorded(robot, motion, 0))
    assert (one.id, one.severity, one.where) == ("contact-slides", "care", ("left",))
    said = re.search(r"slides: (\S+) cm at (\S+) s, by", one.text)
    assert said is not None, one.text
    assert float(said.group(1)) == pytest.approx(3.0, abs=0.8)
    assert float(said.group(2)) == pytest.approx(13.0 + seconds / 2, abs=0.4)


def test_a_foot_that_slides_all_the_time_is_told(floating: ModuleType, robot: Robot) -> None:
    def foot(t: Any) -> Any:
        return np.stack([0.05 * np.sin(3.0 * t), 0 * t, 0 * t], axis=1)

    motion = floating.standing(robot, "left", 25.0, foot, size=SIZE[robot.name])
    assert [one.id for one in told(robot, recorded(robot, motion, 0))] == ["contact-slides"]


def test_it_is_a_finding_of_the_fit(floating: ModuleType, tmp_path: Path) -> None:
    robot = floating.walker(tmp_path, wrench_sensors=FOOT, joint_terms=())
    motion = floating.standing(robot, "left", 25.0, slip(8.0, 0.5, (0.04, 0.0, 0.0)), size=0.25)
    data = Dataset.from_arrays(
        motion.t, motion.q, wrenches={"left": np.zeros((len(motion.t), 6))}, imu={"imu": motion.imu(robot)}
    )
    result = fit(robot, data, "wls", cutoff_hz=8.0, signals=Signals(delay_s=0.0))
    assert [one.where for one in result.findings if one.id == "contact-slides"] == [("left",)]
