"""Picking up and dropping."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest
from pydantic import ValidationError

from heft.drivers.errors import CommandError
from heft.drivers.sim.gripper import ObjectOptions

Make = Callable[..., Any]
START = np.array([0.2, -0.5, 0.3, 1.8, -1.8, 0.4, 0.5])
CAN = {
    "mass": 1.1,
    "com": (0.01, -0.02, 0.15),
    "inertia": (0.002, 0.003, 0.0015, 0.0001, 0.0, 0.0),
    "width": 0.035,
}


@pytest.fixture
def picked(bench: Make) -> Any:
    b = bench(options={"posture": tuple(START)}).add("sim_drives", "arm").add("sim_wrench", "wrist")
    return b.add("sim_gripper", "gripper", objects={"can": CAN})


async def pick_and_drop(b: Any) -> None:
    await b.arm.arm()
    await b.sleep(0.3)
    await b.drivers["gripper"].grip("can")
    await b.sleep(0.5)
    await b.drivers["gripper"].release()
    await b.sleep(0.2)


async def test_the_wrist_feels_the_weight(picked: Any) -> None:
    b = await picked.run(pick_and_drop)
    (payload,) = b.world.truth()["payloads"]
    t, wrench = b.times("wrist.wrench"), b.values("wrist.wrench")

    def near(moment: float) -> np.ndarray:
        return wrench[(t > moment - 0.02) & (t < moment + 0.02)].mean(axis=0)

    model = mujoco.MjModel.from_xml_path(str(b.world.robot.model))
    data = mujoco.MjData(model)
    data.qpos = b.world.dynamics.q
    mujoco.mj_kinematics(model, data)
    up = data.site("sensor").xmat.reshape(3, 3).T @ [0.0, 0.0, 9.81 * 1.1]
    com_from_sensor = np.array(CAN["com"]) - [0.0, 0.0, 0.02]  # the sensor sits 20 mm beyond the flange
    added = near(payload["t_pick"] + 0.45) - near(payload["t_pick"] - 0.05)
    np.testing.assert_allclose(added[:3], up, atol=0.1)
    np.testing.assert_allclose(added[3:], np.cross(com_from_sensor, up), atol=0.02)
    np.testing.assert_allclose(near(payload["t_drop"] + 0.4), near(payload["t_pick"] - 0.05), atol=0.1)


async def test_the_truth_about_a_pick_up(picked: Any) -> None:
    b = await picked.run(pick_and_drop)
    (payload,) = b.world.truth()["payloads"]
    assert payload["object"] == "can"
    assert payload["mass"] == pytest.approx(1.1)
    np.testing.assert_allclose(payload["com"], CAN["com"])
    x, y, z = CAN["com"]
    about_origin = np.array([[0.002, 0.0001, 0], [0.0001, 0.003, 0], [0, 0, 0.0015]])
    about_origin += 1.1 * np.array(
        [[y * y + z * z, -x * y, -x * z], [-x * y, x * x + z * z, -y * z], [-x * z, -y * z, x * x + y * y]]
    )
    np.testing.assert_allclose(payload["inertia"], about_origin)
    closing = (0.085 - 0.035) / 0.1
    assert payload["t_pick"] == pytest.approx(0.3 + closing, abs=0.002)
    assert payload["t_drop"] == pytest.approx(0.8 + closing, abs=0.002)
    assert payload["t_pick_ns"] == pytest.approx(b.world.start_ns + payload["t_pick"] * 1e9, abs=2)


async def test_the_fingers_and_what_they_say(picked: Any) -> None:
    b = await picked.run(pick_and_drop)
    t, state = b.times("gripper.state"), b.values("gripper.state")
    opening, current, detected = state.T
    assert opening[0] == pytest.approx(0.085)
    assert opening.min() == pytest.approx(0.035)
    closing = np.diff(opening)[(t[1:] > 0.35) & (t[1:] < 0.75)] / np.diff(t)[(t[1:] > 0.35) & (t[1:] < 0.75)]
    np.testing.assert_allclose(closing, -0.1, rtol=0.02)
    held = (t > 0.81) & (t < 1.29)
    assert (detected[held] == 1).all()
    assert (detected[(t < 0.79) | (t > 1.31)] == 0).all()
    np.testing.assert_allclose(current[held], 0.4)


async def test_gripping_nothing_closes_the_hand(picked: Any) -> None:
    async def script(b: Any) -> None:
        await b.drivers["gripper"].grip()
        assert b.clock.now_ns() >= b.world.nanoseconds(0.85)
        await b.sleep(0.05)
        with pytest.raises(CommandError, match="no object 'pan' to grip; known: can"):
            await b.drivers["gripper"].grip("pan")

    b = await picked.run(script)
    assert b.values("gripper.state")[-1, 0] == 0.0
    assert b.world.truth()["payloads"] == []


def test_an_object_that_cannot_exist_is_refused() -> None:
    with pytest.raises(ValidationError, match="no body has this inertia"):
        ObjectOptions(mass=1.0, com=(0, 0, 0.1), inertia=(0.001, 0.001, 0.003, 0, 0, 0))
