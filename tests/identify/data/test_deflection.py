"""Encoders on the links against those on the motors: delay, zeros, deflection and stiffness are found."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from heft.identify import Robot
from heft.identify.data.deflection import Deflection, compare, follows

STIFFNESS = np.array([20000.0, 400.0])
DELAY_S = 0.0016


@pytest.fixture(scope="module")
def two() -> Robot:
    return Robot.from_dh([{"alpha": 0.0, "a": 0.1, "d": 0.0}] * 2)


def measured(torque_size: float = 1.0) -> tuple[np.ndarray, ...]:
    """t, link, motor and torque of two joints that bend, with counts of 12 microradians and noise on the torque."""
    rng = np.random.default_rng(3)
    t = np.arange(0, 20, 0.001)

    def motor(time: np.ndarray) -> np.ndarray:
        return np.stack([0.8 * np.sin(1.3 * time), 0.5 * np.sin(2.1 * time + 1.0)], axis=1)

    torque = torque_size * np.stack([30 * np.sin(0.9 * t + 2.0), 4 * np.cos(1.7 * t)], axis=1)
    link = motor(t - DELAY_S) - torque / STIFFNESS + np.array([0.003, -0.02])
    count = 2 * np.pi / 2**19
    torque = torque + 0.02 * torque_size * rng.standard_normal(torque.shape)
    return t, count * np.round(link / count), count * np.round(motor(t) / count), torque


def test_what_was_put_in_is_found(two: Robot) -> None:
    t, link, motor, torque = measured()
    found = compare(two, (0, 1), t, link, motor, torque, stream="encoders.position", motors="arm.motion")
    assert found.joints == ("joint1", "joint2")
    assert found.delay_s == pytest.approx(DELAY_S, abs=2e-5)
    assert np.allclose(found.offset, [0.003, -0.02], atol=2e-5)
    assert np.allclose(found.stiffness, STIFFNESS, rtol=0.02)
    assert np.all(np.array(found.stiffness_std) < 0.05 * STIFFNESS)
    assert np.allclose(found.rms, np.array([30, 4]) / np.sqrt(2) / STIFFNESS, rtol=0.05)
    assert np.allclose(found.largest, np.array([30, 4]) / STIFFNESS, rtol=0.1)


def test_a_stiff_joint_has_no_stiffness_that_can_be_told(two: Robot) -> None:
    t, _, motor, torque = measured()
    found = compare(two, (0, 1), t, motor, motor, torque, stream="encoders.position", motors="arm.motion")
    assert found.stiffness == (np.inf, np.inf)
    assert max(found.largest) < 1e-12


def test_a_file_and_back(two: Robot) -> None:
    t, link, motor, torque = measured()
    found = compare(two, (1,), t, link[:, 1:], motor, torque, stream="a.b", motors="c.d")
    assert Deflection.from_dict(found.to_dict()) == found
    stiff = compare(two, (1,), t, motor[:, 1:], motor, torque, stream="a.b", motors="c.d")
    assert stiff.to_dict()["stiffness"] == [None]
    assert Deflection.from_dict(stiff.to_dict()) == stiff


def test_an_encoder_on_another_joint_or_the_wrong_way_round_does_not_follow() -> None:
    _, link, motor, _ = measured()
    assert follows(link, motor).tolist() == [True, True]
    assert follows(link[:, ::-1], motor).tolist() == [False, False]
    assert follows(np.stack([-link[:, 0], np.zeros(len(link))], axis=1), motor).tolist() == [False, False]


def test_a_real_arm_bends() -> None:
    """KR300: encoders on the links of axes 1 to 3 are some 3 ms behind in every run, and differ by less than 1 mrad."""
    folder = Path(os.environ.get("HEFT_DATA", Path(__file__).parents[4] / "shared" / "data"))
    if not (folder / "kr300_weigand.npz").is_file():
        pytest.skip(f"no kr300_weigand.npz in {folder}; set HEFT_DATA to the folder of the recordings")
    runs = np.load(folder / "kr300_weigand.npz")
    robot = Robot.from_dh([{"alpha": 0.0, "a": 0.1, "d": 0.0}] * 6)
    for run in "ABC":
        link, motor = runs[f"{run}__q_link"], runs[f"{run}__q_motor"]
        t = 0.004 * np.arange(len(link))
        assert follows(link, motor).tolist() == [True] * 3 + [False] * 3  # the wrist has none
        torque = runs[f"{run}__tau"] * runs["gear_ratio"]
        found = compare(robot, range(3), t, link[:, :3], motor, torque, stream="link", motors="motor")
        assert found.delay_s == pytest.approx(0.00285, abs=1e-4)
        assert min(found.rms) > 3e-5
        assert max(found.largest) < 1e-3
        assert min(found.stiffness) > 1e6  # [N m/rad]
