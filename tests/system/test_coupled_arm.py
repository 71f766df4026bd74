"""The simulated TX40 (002): motor 6 turns with joints 5 and 6. Motors are recorded, joints are identified."""

from __future__ import annotations

import json
from pathlib import Path

import mujoco
import numpy as np
import pytest
import yaml

from heft import Dataset, Robot, fit
from heft.daq.config import load_robot
from heft.daq.recording import Recording
from heft.identify import load
from heft.main import main

CONFIGS = Path(__file__).parents[2] / "configs"
ROBOT, PLANT = CONFIGS / "robots" / "tx40.yaml", CONFIGS / "robots" / "tx40_plant.xml"
#: Motor 6's own terms, and those of the two joints that it moves.
WRIST = [f"joint6_motor.{term}" for term in ("drive_inertia", "viscous", "coulomb")]
WRIST += [f"joint{j}.{term}" for j in (5, 6) for term in ("drive_inertia", "viscous", "coulomb", "offset")]


def frames(q: np.ndarray) -> list[np.ndarray]:
    """Poses of the links by the rows of 002, Table I, as the robot's file has them: modified Denavit-Hartenberg."""
    config = load_robot(ROBOT)
    assert config.dh is not None
    poses, pose = [], np.eye(4)
    for row, angle in zip(config.dh, q, strict=True):
        ca, sa, ct, st = (
            f(x) for x, f in ((x, f) for x in (row.alpha, angle + row.theta) for f in (np.cos, np.sin))
        )
        step = [
            [ct, -st, 0.0, row.a],
            [st * ca, ct * ca, -sa, -row.d * sa],
            [st * sa, ct * sa, ca, row.d * ca],
        ]
        pose = pose @ np.vstack([step, [0.0, 0.0, 0.0, 1.0]])
        poses.append(pose)
    return poses


@pytest.mark.parametrize("seed", range(4))
def test_the_plant_stands_where_the_table_says(seed: int) -> None:
    model = mujoco.MjModel.from_xml_path(str(PLANT))
    data = mujoco.MjData(model)
    q = np.random.default_rng(seed).uniform(-2.0, 2.0, 6)
    data.qpos = q
    mujoco.mj_kinematics(model, data)
    for body, pose in enumerate(frames(q), start=1):
        assert np.allclose(data.xmat[body].reshape(3, 3), pose[:3, :3], atol=1e-9)
        assert np.allclose(data.xpos[body], pose[:3, 3], atol=1e-9)


def test_the_plant_weighs_what_the_robots_file_says() -> None:
    model = mujoco.MjModel.from_xml_path(str(PLANT))
    for body, link in enumerate(load_robot(ROBOT).links.values(), start=1):
        assert link.prior is not None
        mass, *moment = link.prior[:4]
        assert model.body_mass[body] == pytest.approx(mass)
        assert np.allclose(model.body_ipos[body], np.array(moment) / mass, atol=1e-8)
        axes = np.empty(9)
        mujoco.mju_quat2Mat(axes, model.body_iquat[body])
        turned = axes.reshape(3, 3)
        com = model.body_ipos[body]
        tensor = turned @ np.diag(model.body_inertia[body]) @ turned.T
        tensor += mass * (com @ com * np.eye(3) - np.outer(com, com))
        xx, xy, yy, xz, yz, zz = link.prior[4:]
        assert np.allclose(tensor, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], atol=1e-7)


def test_motors_are_recorded_and_read_as_joints(tmp_path: Path) -> None:
    text = (CONFIGS / "sessions" / "tx40_excitation.yaml").read_text()
    session = yaml.safe_load(text) | {
        "rig": str(CONFIGS / "rigs" / "sim_tx40.yaml"),
        "steps": [
            {"name": "bend", "move": {"to": [0.1, -1.4, 1.4, 0.2, 0.5, -0.3]}, "use": "identification"}
        ],
    }
    (tmp_path / "session.yaml").write_text(yaml.safe_dump(session))
    out = tmp_path / "out"
    assert (
        main(["run", str(tmp_path / "session.yaml"), "--speed", "max", "--no-identify", "--out", str(out)])
        == 0
    )
    file = out / "tx40_excitation.mcap"
    recording = Recording.open(file)
    assert {c.of for c in recording.streams["arm.current"].columns} == {
        f"joint{i}_motor" for i in range(1, 7)
    }
    motors = recording.columns("arm.motion").quantity("position")
    assert np.allclose(motors[-1], [0.1, -1.4, 1.4, 0.2, 0.5, 0.2], atol=2e-3)  # motor 6: joints 5 and 6
    robot = Robot.load(ROBOT)
    data = Dataset.from_recording(file, robot)
    assert np.allclose(data.q[-1], [0.1, -1.4, 1.4, 0.2, 0.5, -0.3], atol=5e-3)
    truth = json.loads((out / "tx40_excitation.truth.json").read_text())["parameters"]
    assert set(truth) == set(robot.parameter_names)


@pytest.mark.slow
def test_the_coupled_wrist_is_identified_within_its_intervals(tmp_path: Path) -> None:
    out = tmp_path / "out"
    session = CONFIGS / "sessions" / "tx40_excitation.yaml"
    assert main(["run", str(session), "--speed", "max", "--seed", "1", "--out", str(out)]) == 0
    truth = json.loads((out / "tx40_excitation.truth.json").read_text())["parameters"]
    result = load(out / "result.json")
    inside = [result.intervals[name].low <= truth[name] <= result.intervals[name].high for name in WRIST]
    assert sum(inside) >= len(WRIST) - 1  # one of twenty is outside by right
    for term in ("viscous", "coulomb"):
        assert result.intervals[f"joint6_motor.{term}"].value == pytest.approx(
            truth[f"joint6_motor.{term}"], rel=0.02
        )
    assert result.validation is not None
    assert result.validation.total < 0.02
    # Without the coupling in the robot's file each motor is taken for its joint.
    config = yaml.safe_load(ROBOT.read_text())
    del config["coupling"]
    (tmp_path / "apart.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    apart = Robot.load(tmp_path / "apart.yaml")
    data = Dataset.from_recording(out / "tx40_excitation.mcap", apart)
    assert any("the robot's file has no `coupling`" in note for note in data.notes)
    worse = fit(apart, data, cutoff_hz=result.processing.cutoff_hz).fit.per_joint
    assert worse[4] > 3 * result.fit.per_joint[4]
    assert worse[5] > 1.2 * result.fit.per_joint[5]
