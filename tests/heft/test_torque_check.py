"""The check of torques that `heft run` hands to acquisition: by the robot's own model."""

from __future__ import annotations

from pathlib import Path

import pytest

from heft.daq.config.session import SessionConfig, load_session
from heft.daq.errors import CheckError
from heft.daq.motion.plan import make_plan
from heft.torque_check import torque_checks

SESSION = Path(__file__).parents[2] / "configs/sessions/emulated_mit_ft300.yaml"


def weak(config: SessionConfig, joint: str, torque: float) -> SessionConfig:
    """With a drive that can do less."""
    joints = config.rig.robot.joints | {
        joint: config.rig.robot.joints[joint].model_copy(update={"torque": torque})
    }
    robot = config.rig.robot.model_copy(update={"joints": joints})
    return config.model_copy(update={"rig": config.rig.model_copy(update={"robot": robot})})


def test_a_plan_that_needs_more_torque_than_there_is_is_refused() -> None:
    config = load_session(SESSION)
    assert make_plan(config, checks=torque_checks(config.rig.robot))
    joint = list(config.rig.robot.joints)[3]
    config = weak(config, joint, 1.0)
    pattern = rf"{joint}: torque -?[\d.]+ N m at [\d.]+ s, bound -?1 N m; slow the motion"
    with pytest.raises(CheckError, match=pattern) as info:
        make_plan(config, checks=torque_checks(config.rig.robot))
    assert {(v.joint, v.quantity) for v in info.value.violations} == {(joint, "torque")}
