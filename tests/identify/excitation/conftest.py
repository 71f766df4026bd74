"""Robots and requests that several tests look at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from heft.daq.config.robot import RobotConfig, load_robot
from heft.daq.config.scene import SceneConfig
from heft.designing import robot_limits
from heft.identify.excitation.request import DesignRequest

CONFIGS = Path(__file__).parents[3] / "configs"


@pytest.fixture(scope="session")
def panda() -> RobotConfig:
    return load_robot(CONFIGS / "robots/panda.yaml")


@pytest.fixture(scope="session")
def ddarm() -> RobotConfig:
    """Three joints: a design of it takes a second."""
    return load_robot(CONFIGS / "robots/ddarm.yaml")


def request_for(config: RobotConfig, scene: SceneConfig | None = None, **asked: object) -> DesignRequest:
    """A design of one start, in this process."""
    whole = config.scene if scene is None else config.scene.extended(scene)
    usual: dict[str, object] = {"starts": 1, "budget_s": 60.0}
    return DesignRequest(config, whole, robot_limits(config), **{**usual, **asked})  # type: ignore[arg-type]


def middle(config: RobotConfig) -> np.ndarray:
    return np.array([sum(joint.position) / 2 for joint in config.joints.values()])
