"""Biases of six-axis sensors that drift: found beside all else, each recording's own, and told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from heft.identify import Result, fit
from heft.identify.data import Dataset
from heft.identify.fit import Signals
from heft.identify.robot import Robot

SOURCES = ("crane", "boot")
NOISE = np.array([0.3] * 3 + [0.02] * 3)
DRIFT = np.array([0.15, -0.1, 0.12, 0.01, 0.02, -0.015])  # [N/s, N m/s]
KNOWN = Signals(delay_s=0.0)


@pytest.fixture(scope="module")
def robot(floating: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Robot:
    return floating.walker(tmp_path_factory.mktemp("walker"), joint_terms=())


@pytest.fixture(scope="module")
def truth(floating: ModuleType, robot: Robot) -> Any:
    return floating.truth_of(robot, size=0.15)


def recorded(
    floating: ModuleType, robot: Robot, truth: Any, drift: float = 0.0, seed: int = 5, noise: float = 1.0
) -> Dataset:
    """20 s of a swing; the boot's sensor drifts by so many times `DRIFT`."""
    rng, motion = np.random.default_rng(seed), floating.swing(4, 20.0, seed=seed)
    ideal = floating.readings(robot, motion, truth, SOURCES)
    wrenches = {name: ideal[name] + noise * NOISE * rng.normal(size=(len(motion.t), 6)) for name in SOURCES}
    wrenches["boot"] = wrenches["boot"] + drift * motion.t[:, None] * DRIFT
    imu = motion.imu(robot) + noise * rng.normal(size=(len(motion.t), 6)) * np.array([1e-3] * 3 + [1e-2] * 3)
    return Dataset.from_arrays(motion.t, motion.q, wrenches=wrenches, imu={"imu": imu})


def drifts(result: Result, sensor: str = "boot") -> Any:
    return np.array(
        [result.intervals[f"{sensor}.{axis}.drift"].value for axis in ("fx", "fy", "fz", "tx", "ty", "tz")]
    )


def test_a_drift_is_found_inside_its_interval_and_told(
    floating: ModuleType, robot: Robot, truth: Any
) -> None:
    result = fit(robot, recorded(floating, robot, truth, 1.0), "sdp", cutoff_hz=8.0)
    for axis, value in zip(("fx", "fy", "fz", "tx", "ty", "tz"), DRIFT, strict=True):
        one = result.intervals[f"boot.{axis}.drift"]
        assert abs(one.value - value) < 3.5 * one.std
        assert one.std < 0.1 * abs(value)
        assert one.unit == ("N/s" if axis[0] == "f" else "N m/s")
    mass = result.intervals["left_boot.mass"]
    assert mass.low < truth[-10] < mass.high
    assert result.fit.total < 0.05  # as without a drift
    assert [line for line in result.warnings if "the bias of boot drifts: fx by" in line]
    assert not [line for line in result.warnings if "the bias of crane drifts" in line]


def test_no_drift_costs_next_to_nothing(floating: ModuleType, robot: Robot, truth: Any) -> None:
    still = fit(robot, recorded(floating, robot, truth), "sdp", cutoff_hz=8.0)
    moved = fit(robot, recorded(floating, robot, truth, 1.0), "sdp", cutoff_hz=8.0)
    assert not [line for line in still.warnings if "drifts" in line]
    for name in ("left_boot.mass", "left_thigh.mass", "total_mass"):
        assert still.intervals[name].std == pytest.approx(moved.intervals[name].std, rel=0.02)
        assert still.intervals[name].value == pytest.approx(
            moved.intervals[name].value, abs=moved.intervals[name].std
        )


def test_each_recording_has_its_own(floating: ModuleType, robot: Robot, truth: Any) -> None:
    parts = [
        recorded(floating, robot, truth, size, seed, 0.0) for size, seed in ((1.0, 5), (-1.0, 6), (0.5, 7))
    ]
    result = fit(robot, parts, "wls", cutoff_hz=8.0, signals=KNOWN)
    assert result.fit.total < 2e-3
    assert result.parameters["left_boot"].mass == pytest.approx(truth[-10], rel=2e-3)
    for one, size in zip(result.recordings, (1.0, -1.0, 0.5), strict=True):
        own = [one.drifts[f"boot.{axis}"] for axis in ("fx", "fy", "fz", "tx", "ty", "tz")]
        assert np.allclose(own, size * DRIFT, atol=2e-4)
    again = type(result).from_dict(result.to_dict())
    assert again.recordings == result.recordings
    assert again.relative_error(parts[1]).total < 2e-3


def test_what_comes_after_the_fit_has_the_same_drift(floating: ModuleType, robot: Robot, truth: Any) -> None:
    first, rest = recorded(floating, robot, truth, 1.0, noise=0.0).split(0.6)
    result = fit(robot, first, "wls", cutoff_hz=8.0, signals=KNOWN)
    assert np.allclose(drifts(result), DRIFT, atol=2e-4)
    assert result.relative_error(rest).total < 5e-3
    alone = replace(rest, drift_from_s=None)  # as of another recording, whose zero nobody knows
    assert result.relative_error(alone).total > 0.01


def test_feet_on_the_ground_drift_by_their_levers(floating: ModuleType, tmp_path: Path) -> None:
    soles = {name: {"frame": f"{name}_sole", "contact": True} for name in ("left", "right")}
    robot = floating.walker(tmp_path, wrench_sensors=soles, joint_terms=()).measuring(
        ("joints", "left", "right")
    )
    motion, names = floating.swing(4, 1.0), robot.parameter_names
    since = motion.t - 0.3
    Y = robot.regressor.dense(motion.q, motion.dq, motion.ddq, base=motion.root(robot.gravity), since=since)
    for name in ("left.fx", "right.tz"):
        offset, drift = (Y[:, :, names.index(f"{name}.{term}")] for term in ("offset", "drift"))
        assert np.abs(offset).max() > 0.1
        assert np.allclose(drift, since[:, None] * offset)
