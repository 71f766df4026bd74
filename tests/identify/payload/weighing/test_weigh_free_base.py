"""What a robot with a free base carries: by wrenches alone, and together with joint torques."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from heft.identify import fit
from heft.identify.bodies import from_mass_com_inertia, transform
from heft.identify.data import Dataset
from heft.identify.errors import ModelError
from heft.identify.payload import weigh
from heft.identify.robot import Robot

BIAS = np.array([3.0, -2.0, 4.0, 0.2, -0.1, 0.3])
NOISE = np.array([0.3] * 3 + [0.02] * 3)
MASS, COM = 1.2, np.array([0.03, -0.02, 0.05])  # in the flange's frame


def recorded(
    floating: ModuleType, robot: Robot, links: Any, sources: tuple[str, ...], seed: int, drift: Any = 0.0
) -> Dataset:
    """Readings with noise, and the sensors' bias, which may have changed."""
    rng, motion = np.random.default_rng(seed), floating.swing(4, 20.0, seed=seed)
    ideal = floating.readings(robot, motion, links, sources)
    wrenches = {
        name: ideal[name] + BIAS + drift + NOISE * rng.normal(size=(len(motion.t), 6))
        for name in sources
        if name != "joints"
    }
    torque = ideal["joints"] + 0.05 * rng.normal(size=motion.q.shape)
    return Dataset.from_arrays(
        motion.t,
        motion.q,
        torque if "joints" in sources else None,
        wrenches=wrenches,
        imu={"imu": motion.imu(robot)},
    )


def loaded(robot: Robot, links: Any) -> Any:
    """The links with the load on the flange."""
    assert robot.flange is not None
    link, pose = robot.frames[robot.flange]
    ten = from_mass_com_inertia(MASS, COM, np.diag([2e-3, 2e-3, 1e-3]))
    heavier = links.copy()
    place = 10 * robot.links.index(link)
    heavier[place : place + 10] += transform(ten, pose[:3, :3], pose[:3, 3])
    return heavier


@pytest.mark.parametrize("sources", [("crane",), ("crane", "boot"), ("joints", "crane", "boot")])
def test_a_load_in_the_hand_of_a_free_robot(
    floating: ModuleType, tmp_path: Path, sources: tuple[str, ...]
) -> None:
    robot = replace(floating.walker(tmp_path, joint_terms=("viscous", "offset")), flange="right_sole")
    links = floating.truth_of(robot, size=0.2)
    result = fit(robot, recorded(floating, robot, links, sources, 1), cutoff_hz=8.0)
    drift = np.array([0.5, -0.3, 0.8, 0.02, 0.03, -0.02])
    found = weigh(result, recorded(floating, robot, loaded(robot, links), sources, 2, drift), 0.0)
    assert found.frame == "flange"
    assert found.mass == pytest.approx(MASS, rel=0.06)
    interval = found.interval("mass")
    assert interval.low < MASS < interval.high
    assert np.abs(found.com - COM).max() < 0.02
    nothing = weigh(result, recorded(floating, robot, links, sources, 3), 0.0)
    assert nothing.mass < 0.1


def test_a_flange_on_a_link_that_a_sensor_splits_is_refused(floating: ModuleType, tmp_path: Path) -> None:
    robot = replace(floating.walker(tmp_path, joint_terms=()), flange="left_sole")
    data = recorded(floating, robot, floating.truth_of(robot), ("crane", "boot"), 1)
    with pytest.raises(ModelError, match="a sensor splits left_shank"):
        weigh(fit(robot, data, "wls", cutoff_hz=8.0), data)
