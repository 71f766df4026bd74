"""Each six-axis sensor's own delay, found beside that of everything else; truths are known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from heft.identify import fit
from heft.identify.data import Dataset
from heft.identify.robot import Robot
from heft.identify.robot.regressor.cut import wrench_transform

SOLES = {
    "left": {"frame": "left_sole", "contact": True},
    "right": {"frame": "right_sole", "contact": True},
}


@pytest.fixture(scope="module")
def motion(floating: ModuleType) -> Any:
    return floating.swing(4, 20.0)


def measured(floating: ModuleType, robot: Robot, motion: Any, delays: dict[str, float]) -> Dataset:
    """What sources with these delays [s] tell of a motion, with noise."""
    rng = np.random.default_rng(3)
    ideal = floating.readings(robot, motion, floating.truth_of(robot, size=0.3), tuple(delays))
    late = {name: CubicSpline(motion.t, ideal[name])(motion.t - delay) for name, delay in delays.items()}
    noise = np.array([0.3] * 3 + [0.02] * 3)
    wrenches = {n: one + noise * rng.normal(size=one.shape) for n, one in late.items() if n != "joints"}
    torque = late["joints"] + 0.05 * rng.normal(size=motion.q.shape) if "joints" in late else None
    return Dataset.from_arrays(motion.t, motion.q, torque, wrenches=wrenches, imu={"imu": motion.imu(robot)})


@pytest.mark.parametrize(
    "delays",
    [
        {"crane": 0.003, "boot": 0.0125},
        {"joints": 0.002, "crane": 0.011, "boot": -0.004},
        {"joints": 0.002, "crane": 0.002, "boot": 0.0},
    ],
)
def test_each_sensors_delay_is_found(
    floating: ModuleType, tmp_path: Path, motion: Any, delays: dict[str, float]
) -> None:
    robot = floating.walker(tmp_path, joint_terms=("viscous", "offset"))
    result = fit(robot, measured(floating, robot, motion, delays), "wls", cutoff_hz=8.0)
    for name, delay in delays.items():
        told = result.delays["torque" if name == "joints" else name]
        assert told.low_s - 2e-4 < delay < told.high_s + 2e-4
        assert told.std_s < 5e-4
    kept = type(result).from_dict(result.to_dict())
    assert kept.robot.sensors["boot"].delay_s == result.robot.sensors["boot"].delay_s


def on_feet(floating: ModuleType, robot: Robot, motion: Any) -> dict[str, Any]:
    """Wrenches of the two soles that carry the robot, shared between them by a slow weight."""
    links = floating.truth_of(robot, size=0.3)
    whole = floating.readings(robot, motion, links, ("base",))["base"]
    share = 0.5 + 0.3 * np.sin(1.1 * motion.t)[:, None]
    found = {}
    for name, part in (("left", share), ("right", 1 - share)):
        sensor = robot.sensors[name]
        rotation, position = robot.tree.link_pose(sensor.link, motion.q.T)
        X = wrench_transform(rotation @ sensor.place[:3, :3], position + rotation @ sensor.place[:3, 3])
        found[name] = np.linalg.solve(X, (part * whole)[:, :, None])[:, :, 0]
    return found


def test_feet_whose_wrenches_are_summed_have_delays_of_their_own(
    floating: ModuleType, tmp_path: Path, motion: Any
) -> None:
    robot = floating.walker(tmp_path, wrench_sensors=SOLES, joint_terms=())
    rng, delays = np.random.default_rng(4), {"left": 0.010, "right": 0.001}
    wrenches = {
        name: CubicSpline(motion.t, one)(motion.t - delays[name])
        + np.array([0.3] * 3 + [0.02] * 3) * rng.normal(size=one.shape)
        for name, one in on_feet(floating, robot, motion).items()
    }
    data = Dataset.from_arrays(motion.t, motion.q, wrenches=wrenches, imu={"imu": motion.imu(robot)})
    result = fit(robot, data, "wls", cutoff_hz=8.0)
    for name, delay in delays.items():
        told = result.delays[name]
        assert told.low_s < delay < told.high_s
        assert told.std_s < 1e-3


def test_equal_delays_stay_one(floating: ModuleType, tmp_path: Path, motion: Any) -> None:
    robot = floating.walker(tmp_path, joint_terms=("viscous", "offset"))
    data = measured(floating, robot, motion, {"joints": 0.004, "crane": 0.004, "boot": 0.004})
    result = fit(robot, data, "wls", cutoff_hz=8.0)
    assert set(result.delays) == {"torque"}
    assert result.delays["torque"].value_s == pytest.approx(0.004, abs=2e-4)


def test_a_delay_that_is_given_is_kept(floating: ModuleType, tmp_path: Path, motion: Any) -> None:
    sensors = {"crane": {"frame": "hook", "contact": True}, "boot": {"frame": "boot_ft", "delay_s": 0.0}}
    robot = floating.walker(tmp_path, wrench_sensors=sensors, joint_terms=())
    data = measured(floating, robot, motion, {"crane": 0.009, "boot": 0.0})
    result = fit(robot, data, "wls", cutoff_hz=8.0)
    assert result.robot.sensors["boot"].delay_s == 0.0
    assert result.delays["crane"].value_s == pytest.approx(0.009, abs=3e-4)
    assert result.delays["torque"].value_s == pytest.approx(0.0, abs=3e-4)


@pytest.mark.parametrize("sources", [("crane",), ("crane", "boot"), ("joints", "crane", "boot")])
def test_an_imus_delay_is_found(
    floating: ModuleType, tmp_path: Path, motion: Any, sources: tuple[str, ...]
) -> None:
    robot = floating.walker(tmp_path, joint_terms=("viscous", "offset"))
    data = measured(floating, robot, motion, dict.fromkeys(sources, 0.003))
    late = CubicSpline(motion.t, motion.imu(robot))(motion.t - 0.007)
    result = fit(robot, replace(data, imu=late), "wls", cutoff_hz=8.0)
    assert result.delays["imu"].value_s == pytest.approx(0.007, abs=4e-4)
    assert result.delays["imu"].low_s - 2e-4 < 0.007 < result.delays["imu"].high_s + 2e-4
    assert result.robot.imu_delays["imu"] == result.delays["imu"].value_s
    kept = type(result).from_dict(result.to_dict())
    assert kept.robot.imu_delays == result.robot.imu_delays
    assert kept.relative_error(replace(data, imu=late)).total == pytest.approx(result.fit.total, rel=1e-2)
