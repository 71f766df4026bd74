"""The robots under configs/robots."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from heft.identify.errors import ModelError
from heft.identify.robot import Robot
from heft.identify.robot.base import base_parameters

CONFIGS = Path(__file__).parents[3] / "configs" / "robots"


@pytest.mark.parametrize(
    ("name", "base", "parameters", "mass"),
    [("wam7", 69, 98, 20.235), ("tx40", 61, 87, 22.51), ("panda", 64, 91, 16.062), ("ddarm", 15, 30, 139.81)],
)
def test_sizes_and_masses(name: str, base: int, parameters: int, mass: float) -> None:
    robot = Robot.load(CONFIGS / f"{name}.yaml")
    assert (base_parameters(robot).rank, len(robot.parameter_names)) == (base, parameters)
    masses = [
        value for key, value in zip(robot.parameter_names, robot.prior, strict=True) if key.endswith(".m")
    ]
    assert sum(masses) == pytest.approx(mass, abs=1e-3)


@pytest.mark.parametrize("name", ["wam7", "panda"])
def test_mujoco_agrees(name: str) -> None:
    robot = Robot.load(CONFIGS / f"{name}.yaml")
    model = mujoco.MjModel.from_xml_path(str(CONFIGS / f"{name}.xml"))
    data = mujoco.MjData(model)
    q, dq, ddq = np.random.default_rng(0).uniform(-1, 1, (3, 7))
    data.qpos, data.qvel, data.qacc = q, dq, ddq
    mujoco.mj_inverse(model, data)
    friction = [not name.endswith(("viscous", "coulomb", "offset")) for name in robot.parameter_names]
    ours = robot.torque([q], [dq], [ddq], robot.prior * friction)[0]
    assert np.allclose(ours, data.qfrc_inverse, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["wam7", "tx40", "panda"])
def test_centres_of_mass_lie_in_the_boxes(name: str) -> None:
    robot = Robot.load(CONFIGS / f"{name}.yaml")
    for link, (low, high) in robot.boxes.items():
        ten = robot.prior[10 * robot.links.index(link) :][:10]
        assert np.all(low < ten[1:4] / ten[0]), link
        assert np.all(ten[1:4] / ten[0] < high), link


def test_currents_become_joint_torques() -> None:
    robot = Robot.load(CONFIGS / "tx40.yaml")
    torque = robot.torque_from_current(np.eye(6))
    assert np.allclose(np.diag(torque), [32, 32, 45, -48, 45, 32])
    assert torque[5, 4] == 32  # 002, Eq. 34: motor 6 acts on joint 5 too
    assert np.count_nonzero(torque) == 7


def test_hand_and_sensor_belong_to_the_last_link() -> None:
    robot = Robot.load(CONFIGS / "wam7.yaml")
    assert robot.frames[robot.hand][0] == robot.frames[robot.sensor][0] == "link7"
    assert robot.frames[robot.flange][1][2, 3] == pytest.approx(0.06)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  joint2:", "  joint9:", "name the same joints in the same order"),
        ("gravity: [0.0, 0.0, -9.81]", "gravity: [0.0, 0.0, -1.62]", "make them equal"),
        ("  link2: {box", "  elbow: {box", "links.elbow is none of the links link1"),
        ("flange: flange", "flange: wrist", "flange wrist is not in the model"),
    ],
)
def test_a_file_that_disagrees_with_its_model(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = (CONFIGS / "wam7.yaml").read_text()
    assert old in text
    (tmp_path / "arm.yaml").write_text(text.replace(old, new))
    (tmp_path / "wam7.xml").write_text((CONFIGS / "wam7.xml").read_text())
    with pytest.raises(ModelError, match=message):
        Robot.load(tmp_path / "arm.yaml")
