"""Designs for a base that moves freely: hung on a crane, and standing on its feet."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
import yaml

from heft.commands.design import add
from heft.daq.config.rig import load_rig
from heft.daq.config.robot import RobotConfig, load_robot
from heft.designing import design_request, told
from heft.identify.data import Dataset
from heft.identify.errors import ProblemError
from heft.identify.excitation.chain import design_chain
from heft.identify.excitation.criterion import CRITERIA
from heft.identify.excitation.design import Design, design, telling
from heft.identify.excitation.given import given_information
from heft.identify.excitation.page import design_page
from heft.identify.excitation.problem import FourierProblem
from heft.identify.excitation.sample_constraints import SampleConstraints
from heft.identify.excitation.shapes import link_shapes
from heft.identify.excitation.starting import start
from heft.identify.fit import fit
from heft.identify.robot import Robot
from heft.identify.robot.base import Rest, base_parameters

from .conftest import CONFIGS, request_for

MODEL = Path(__file__).with_name("walker.xml")
ARMS, LEGS = (
    ("left_pitch", "left_elbow", "right_pitch", "right_elbow"),
    (
        "left_hip",
        "left_ankle",
        "right_hip",
        "right_ankle",
    ),
)
HOOK = {"hook": {"frame": "hook", "contact": True}}
FEET = {
    f"{side}_foot": {"frame": f"{side}_sole", "contact": True, "rest": True} for side in ("left", "right")
}


def walker(folder: Path, sensors: dict[str, object], **more: object) -> RobotConfig:
    """The robot of `walker.xml`, carried by these."""
    (folder / "walker.xml").write_text(MODEL.read_text(encoding="utf-8"), encoding="utf-8")
    arm = {"position": [-2.5, 2.5], "velocity": 3.0, "acceleration": 15.0, "torque": 30.0}
    leg = {"position": [-0.3, 0.0], "velocity": 2.0, "acceleration": 10.0, "torque": 80.0}
    joints = {name: arm if name in ARMS else leg for name in (*ARMS, *LEGS)}
    content = {"name": "walker", "model": "walker.xml", "base": "free", "joints": joints}
    path = folder / "walker.yaml"
    path.write_text(
        yaml.safe_dump({**content, "wrench_sensors": sensors, **more}, sort_keys=False), encoding="utf-8"
    )
    return load_robot(path)


@pytest.fixture(scope="module")
def hung(tmp_path_factory: pytest.TempPathFactory) -> RobotConfig:
    return walker(tmp_path_factory.mktemp("hung"), HOOK)


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> RobotConfig:
    return walker(tmp_path_factory.mktemp("standing"), FEET)


@pytest.fixture(scope="module")
def hanging(hung: RobotConfig) -> Design:
    return design(request_for(hung, seconds=6.0, harmonics=4))


@pytest.fixture(scope="module")
def stood(standing: RobotConfig) -> Design:
    return design(request_for(standing, seconds=6.0, harmonics=4))


def test_a_hung_robot_moves_inside_every_limit_and_tells_more_than_a_random_motion(hanging: Design) -> None:
    assert hanging.limits_ok
    limits = hanging.request.bounds
    q, dq, ddq = hanging.motion
    assert np.all((q <= limits.upper) & (q >= limits.lower))
    assert np.all(np.abs(dq) <= limits.velocity)
    assert np.all(np.abs(ddq) <= limits.acceleration)
    assert np.median(hanging.before.std / hanging.telling.std) > 1.2
    assert np.all(np.ptp(q, axis=0) > 0.1)
    assert np.all(hanging.clearance > 0.0)


def test_what_it_tells_is_what_shows_while_the_root_rests(hanging: Design) -> None:
    request = hanging.request
    assert request.robot.sources == ("hook",)
    whole = base_parameters(request.robot)
    assert len(hanging.telling.names) == request.base.rank < whole.rank
    # each of them is a combination of what a session identifies
    A = np.linalg.lstsq(whole.matrix.T, request.base.matrix.T, rcond=None)[0].T
    np.testing.assert_allclose(A @ whole.matrix, request.base.matrix, atol=1e-8)
    names = request.base.names
    assert not any(name.startswith("trunk.xx") for name in names)  # it does not turn
    W = request.rows_of(hanging.motion)
    assert W.shape[1:] == (6, len(request.robot.parameter_names))
    assert np.linalg.matrix_rank(W.reshape(-1, W.shape[2])[:, list(request.columns)]) == request.base.rank


def test_its_page_and_facts(hanging: Design, stood: Design) -> None:
    page = design_page(hanging)
    assert "hangs, and rests upright" in page
    assert "hook.tz" in page
    facts = told(hanging)
    assert facts["base"] == {"rests_on": [], "balance_m": None}
    assert set(facts) >= {"condition_number", "limits_ok", "worst_limit", "expected_std", "random", "hardest"}
    assert told(stood)["base"]["balance_m"] >= 0.03
    assert "Balance" in design_page(stood)


def test_standing_only_moves_what_is_not_between_root_and_feet(stood: Design) -> None:
    request = stood.request
    names = request.limits.axes
    assert {names[k] for k in request.moving} == set(ARMS)
    assert {names[k] for k in request.held} == set(LEGS)
    assert np.ptp(stood.motion[0][:, request.held]) == 0.0
    assert stood.limits_ok


def test_the_centre_of_pressure_stays_inside_the_soles_by_mujoco(stood: Design) -> None:
    """The moment about the floor by an engine of its own, and the soles as the model draws them."""
    model = mujoco.MjModel.from_xml_path(str(MODEL))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(model)
    mass = float(model.body_subtreemass[1])
    places = [model.joint(name).dofadr[0] for name in stood.request.limits.axes]
    inside = []
    for q, dq, ddq in zip(*stood.motion, strict=True):
        mujoco.mj_resetData(model, data)
        data.qpos[np.array(places) + 1] = q
        data.qvel[places], data.qacc[places] = dq, ddq
        mujoco.mj_inverse(model, data)
        force, torque = data.qfrc_inverse[:3].copy(), data.qfrc_inverse[3:6].copy()
        floor = np.array([0.0, 0.0, -0.9])  # below the root's origin
        about = torque - np.cross(floor, force)
        x, y = -about[1] / force[2], about[0] / force[2]
        assert force[2] > 0.3 * mass * 9.81
        inside.append(min(0.13 - x, x + 0.07, 0.14 - abs(y)))
    assert min(inside) >= 0.03 - 1e-9
    ours = stood.request.balance
    assert ours is not None
    np.testing.assert_allclose(ours.room(*stood.motion), inside, atol=1e-6)
    assert min(inside) < 0.06  # it goes as far as it may


@pytest.mark.parametrize("name", ["d", "condition"])
def test_gradients_are_those_of_the_criterion(hung: RobotConfig, name: str) -> None:
    problem, x = _begun(hung)
    asked = replace(problem, criterion=CRITERIA[name], scene=None)
    h, way = 1e-5, np.random.default_rng(1).standard_normal(len(x))
    slope = (asked.evaluate(x + h * way).value - asked.evaluate(x - h * way).value) / (2 * h)
    assert asked.evaluate(x).gradient @ way == pytest.approx(slope, rel=1e-4)
    assert asked.value(x) == pytest.approx(asked.evaluate(x).value, rel=1e-12)


def test_slopes_of_torques_and_balance_are_theirs(standing: RobotConfig) -> None:
    problem, x = _begun(standing)
    assert problem.torque is not None
    problem = replace(problem, torque=0.1 * problem.torque, scene=None, peaks_only=False)
    way, h = np.random.default_rng(2).standard_normal(len(x)), 1e-6
    here, there = problem.evaluate(x), problem.evaluate(x + h * way)
    kinds = set(problem.violations(x).about)
    assert "the centre of pressure" in kinds
    assert "torque of left_pitch" in kinds
    assert len(here.constraints) == len(there.constraints) > 20
    slopes = (there.constraints - here.constraints) / h
    np.testing.assert_allclose(slopes, here.slopes @ way, atol=2e-3 * np.abs(slopes).max())


def _begun(config: RobotConfig) -> tuple[FourierProblem, np.ndarray]:
    return start(request_for(config, seconds=6.0, harmonics=4), np.random.default_rng(0), 0)


@pytest.mark.parametrize("dwell", [False, True])
def test_chains_for_a_hung_robot(hung: RobotConfig, dwell: bool) -> None:
    made = design_chain(request_for(hung, seconds=20.0), dwell=dwell)
    assert made.limits_ok
    assert made.poses is not None


def test_what_is_not_possible_is_said(tmp_path: Path, hung: RobotConfig, standing: RobotConfig) -> None:
    moving = {name: {**foot, "rest": False} for name, foot in FEET.items()}
    for sensors, words in (
        ({}, "nothing in its file says what carries it"),
        (moving, "rest: true"),
        ({**HOOK, **FEET}, "which of them carries"),
    ):
        with pytest.raises(ProblemError, match=words):
            design(request_for(walker(tmp_path, sensors), seconds=6.0))
    with pytest.raises(ProblemError, match="for payload"):
        design(request_for(hung, target="payload"))
    with pytest.raises(ProblemError, match="no wrench is measured"):
        design(request_for(hung, measured=("joints",)))
    lifted = np.array([0.0] * 4 + [-0.3, 0.0, 0.0, 0.0])
    with pytest.raises(ProblemError, match="apart in height"):
        design(request_for(standing, posture=lifted))
    turned = np.array([0.0] * 4 + [0.0, -0.2, 0.0, -0.2])
    with pytest.raises(ProblemError, match="against the floor"):
        design(request_for(standing, posture=turned))
    with pytest.raises(ProblemError, match="balance_margin"):
        design(request_for(walker(tmp_path, FEET, excitation={"balance_margin": 0.12})))


def test_the_first_links_shapes_stay_on_it() -> None:
    config = load_robot(CONFIGS / "robots/humanoid.yaml")
    robot = Robot.from_config(config)
    joints = {link: shape.parentJoint for link, shape in link_shapes(config, robot)}
    assert joints["trunk"] == 0
    for link in ("neck", "waist", "left_foot"):
        number = robot.links.index(link)
        if number < len(robot.joints):
            assert joints[link] == number + 1


def test_peaks_are_kept() -> None:
    value = np.array([0.1, 0.5, 0.2, 0.2, 0.4, -0.1])
    sample, series = np.array([1, 2, 3, 2, 3, 7]), np.array([0, 0, 0, 1, 1, 1])
    found = SampleConstraints(value, sample, np.zeros((3, 6, 2)), tuple("abcdef"), series).peaks()
    assert found.about == ("b", "e", "f")


def test_base_parameters_of_a_root_that_rests(hung: RobotConfig) -> None:
    robot = Robot.from_config(hung).measuring(("hook",))
    rest = base_parameters(robot, Rest())
    held = base_parameters(robot, Rest(((0, 0.0), (1, 0.0))))
    assert held.rank < rest.rank < base_parameters(robot).rank


def test_what_an_earlier_session_told_counts(hanging: Design, tmp_path: Path) -> None:
    request = hanging.request
    robot = request.robot
    assert robot.prior is not None
    t = np.arange(0.0, 12.0, 0.005)
    motion = hanging.series.at(t)
    wrench = robot.regressor.torque(*motion, robot.prior)[:, robot.measured_rows]
    wrench += 0.1 * np.random.default_rng(0).standard_normal(wrench.shape)
    pose = np.tile([0.0, 0.0, 0.9, 0.0, 0.0, 0.0, 1.0], (len(t), 1))
    data = Dataset.from_arrays(t, motion[0], wrenches={"hook": wrench}, base_pose=pose)
    result = fit(Robot.from_config(request.config), data)
    given = given_information(request, [result.save(tmp_path / "result.json")])
    assert given.given is not None
    assert given.given.shape == (request.base.rank,) * 2
    assert given.row_noise.shape == (6,)
    once, twice = telling(replace(given, given=None), hanging.motion).std, telling(given, hanging.motion).std
    assert np.all(twice < 1.001 * once)
    assert 0.4 < np.median(twice / once) < 0.95


def test_a_rig_says_what_is_measured_and_how_well() -> None:
    parser = argparse.ArgumentParser()
    add(parser)
    rig = load_rig(CONFIGS / "rigs/sim_humanoid.yaml")
    arguments = parser.parse_args([str(rig.path), "--rate-hz", "500"])
    request = design_request(arguments, rig.robot, rig)
    assert request.robot.sources == ("crane", "left_ankle", "right_ankle")
    rows = np.array(request.robot.rows)[request.robot.measured_rows]
    noise = dict(zip(rows.tolist(), request.row_noise.tolist(), strict=True))
    assert 0.1 < noise["left_ankle.fx"] < 0.15  # its own 0.1 N, and the accelerometer's of the foot's mass
    assert noise["crane.fx"] > 1.0  # that of some 60 kg: 0.02 m/s2
    bare = design_request(parser.parse_args([str(rig.robot.path)]), rig.robot, None)
    assert bare.row_noise[0] == pytest.approx(0.01 * 9.81 * 61.6, rel=0.01)
