"""Limits of a robot's file against those of its model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from heft.daq.config.robot import load_robot
from heft.daq.config.shipped import CONFIGS
from heft.daq.errors import ConfigError
from heft.identify.robot.limit_check import check_limits


def changed(tmp_path: Path, robot: str, joint: str, **values: Any) -> Path:
    data = yaml.safe_load((CONFIGS / f"robots/{robot}.yaml").read_text(encoding="utf-8"))
    data["joints"][joint] |= values
    if "model" in data:
        (tmp_path / data["model"]).write_bytes((CONFIGS / "robots" / data["model"]).read_bytes())
    path = tmp_path / "robot.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    return path


@pytest.mark.parametrize("robot", ["wam7", "panda", "ddarm", "tx40"])
def test_the_shipped_robots_agree_with_their_models(robot: str) -> None:
    assert check_limits(load_robot(f"configs/robots/{robot}.yaml")) == []


@pytest.mark.parametrize("robot", ["panda", "tx40"])  # one with a model, one of DH rows
def test_degrees_are_refused(tmp_path: Path, robot: str) -> None:
    with pytest.raises(ConfigError, match=r"joints\.joint1\.position: -166.*angles are in radians"):
        check_limits(load_robot(changed(tmp_path, robot, "joint1", position=[-166.0, 166.0])))


def test_a_limit_beyond_the_models_is_told(tmp_path: Path) -> None:
    (doubt,) = check_limits(load_robot(changed(tmp_path, "panda", "joint2", position=[-1.7, 2.4])))
    assert "joints.joint2.position: 2.4 is beyond the 1.763 of panda.xml" in doubt


def test_narrower_limits_are_no_doubt(tmp_path: Path) -> None:
    assert check_limits(load_robot(changed(tmp_path, "panda", "joint2", position=[-0.5, 0.5]))) == []
