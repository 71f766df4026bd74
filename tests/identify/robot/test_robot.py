"""Robots from files and tables: names, lumping, priors, and the check at start-up."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from heft.identify.errors import ModelError
from heft.identify.robot import Robot
from heft.identify.robot import regressor_check as check_module

MJCF = """<mujoco model="tree">
  <compiler angle="radian"/>
  <option gravity="1 2 -9"/>
  <worldbody>
    <body name="base">
      <inertial pos="0 0 0" mass="5" diaginertia="1 1 1"/>
      <body name="upper" pos="0.1 0 0.3" quat="0.9 0.1 0.2 0.3">
        <inertial pos="0.01 0.02 0.1" mass="2" fullinertia="0.1 0.11 0.12 0.001 0.002 0.003"/>
        <joint name="shoulder" axis="0 1 1" pos="0 0.1 0.05" armature="0.2" damping="0.3" frictionloss="0.4"/>
        <site name="edge" pos="0 0 0.2"/>
        <body name="slider" pos="0.3 0 0">
          <joint name="slide" type="slide" axis="1 0 0.2" pos="0 0.1 0"/>
          <inertial pos="0 0 0.1" mass="1.5" diaginertia="0.1 0.12 0.09"/>
          <body name="tool" pos="0.1 0.1 0">
            <inertial pos="0 0.02 0" mass="0.5" diaginertia="0.01 0.011 0.012"/>
            <site name="tip" pos="0 0 0.1"/>
            <body name="finger" pos="0 0.02 0.1">
              <joint name="finger" type="slide" axis="0 1 0"/>
              <inertial pos="0 0 0.01" mass="0.1" diaginertia="0.001 0.001 0.001"/>
            </body>
          </body>
        </body>
        <body name="elbow" pos="0 0.3 0" quat="0.7 0.7 0 0">
          <joint name="bend" axis="0 0 1"/>
          <inertial pos="0 0.05 0.1" mass="0.7" diaginertia="0.02 0.03 0.025"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
URDF = """<robot name="two">
  <link name="base"/>
  <link name="arm"><inertial><origin xyz="0 0 0.1"/><mass value="2"/>
    <inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.12" iyz="0" izz="0.05"/></inertial></link>
  <link name="tool"><inertial><origin xyz="0 0.2 0"/><mass value="0.5"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="1 0 0"/></joint>
  <joint name="weld" type="fixed"><origin xyz="0 0 0.3"/><parent link="arm"/><child link="tool"/></joint>
</robot>
"""


@pytest.fixture
def mjcf(tmp_path: Path) -> Path:
    """A branch, a slide, joints off the body's origin, a tool without a joint, and a finger."""
    path = tmp_path / "tree.xml"
    path.write_text(MJCF)
    return path


def test_mjcf_links_joints_and_lumping(mjcf: Path) -> None:
    robot = Robot.from_mjcf(mjcf, locked=["finger"])
    assert robot.joints == ("shoulder", "slide", "bend")
    assert robot.links == ("upper", "slider", "elbow")
    assert robot.tree.parents.tolist() == [-1, 0, 0]
    assert robot.tree.prismatic.tolist() == [False, True, False]
    assert robot.gravity.tolist() == [1.0, 2.0, -9.0]  # which Pinocchio ignores
    prior = dict(zip(robot.parameter_names, robot.prior, strict=True))
    assert prior["slider.m"] == pytest.approx(1.5 + 0.5 + 0.1)  # the tool and the finger belong to it
    assert prior["slider.mx"] == pytest.approx(0.5 * 0.1 + 0.1 * 0.1)
    assert prior["slider.my"] == pytest.approx(0.5 * 0.12 + 0.1 * 0.12)
    assert prior["upper.mx"] == pytest.approx(0.02)  # about the body's frame, not the joint's
    assert prior["upper.my"] == pytest.approx(0.04)
    assert prior["upper.xy"] == pytest.approx(0.001 - 2 * 0.01 * 0.02)
    assert prior["shoulder.drive_inertia"] == pytest.approx(0.2)
    assert prior["shoulder.viscous"] == pytest.approx(0.3)
    assert prior["shoulder.coulomb"] == pytest.approx(0.4)
    assert robot.frames["tool"][0] == "slider"
    assert np.allclose(robot.frames["tool"][1][:3, 3], [0.1, 0.1, 0])
    assert "tip" not in robot.frames  # Pinocchio places it wrongly, as the slide has a `pos`
    assert robot.frames["edge"][0] == "upper"
    assert np.allclose(robot.frames["edge"][1][:3, 3], [0, 0, 0.2])


def test_a_finger_that_is_not_locked_is_a_joint(mjcf: Path) -> None:
    assert Robot.from_mjcf(mjcf).joints == ("shoulder", "slide", "finger", "bend")
    with pytest.raises(ModelError, match="no joint thumb to lock; it has shoulder"):
        Robot.from_mjcf(mjcf, locked=["thumb"])


def test_armature_is_a_parameter_and_not_counted_twice(mjcf: Path) -> None:
    robot = Robot.from_mjcf(mjcf, locked=["finger"], joint_terms=("drive_inertia",))
    ddq = np.array([[1.0, 0.0, 0.0]])
    still = np.zeros((1, 3))
    without = np.where([name.endswith("drive_inertia") for name in robot.parameter_names], 0.0, robot.prior)
    difference = robot.torque(still, still, ddq, robot.prior) - robot.torque(still, still, ddq, without)
    assert np.allclose(difference, [[0.2, 0.0, 0.0]])


def test_urdf_with_a_joint_without_end(tmp_path: Path) -> None:
    path = tmp_path / "two.urdf"
    path.write_text(URDF)
    robot = Robot.from_urdf(path, gravity=(0, 0, -10))
    assert robot.links == ("arm",)
    assert np.isinf(robot.limits.position).all()
    gravity = robot.torque([[0.3]], [[0.0]], [[0.0]], robot.prior)
    lever = 2 * 0.1 + 0.5 * 0.3
    assert gravity[0, 0] == pytest.approx(10 * (-lever * np.sin(0.3) + 0.5 * 0.2 * np.cos(0.3)))


def test_dh_conventions_are_the_same_arm_in_other_frames() -> None:
    """A planar two-link arm: gravity torque of a mass at frame 2's origin, from either table."""
    standard = Robot.from_dh([{"alpha": 0.0, "a": 0.5, "d": 0.0}] * 2, "standard", (), (0.0, -10.0, 0.0))
    modified = Robot.from_dh(
        [{"alpha": 0.0, "a": 0.0, "d": 0.0}, {"alpha": 0.0, "a": 0.5, "d": 0.0}],
        "modified",
        (),
        (0.0, -10.0, 0.0),
    )
    q, still = np.array([[0.4, 0.3]]), np.zeros((1, 2))
    at_end, at_joint = np.zeros(20), np.zeros(20)
    at_end[10] = 2.0
    at_joint[10], at_joint[11] = 2.0, 2.0 * 0.5
    at_joint[16] = at_joint[19] = 2.0 * 0.25
    near, far = 0.5 * np.cos(0.4), 0.5 * np.cos(0.7)
    assert np.allclose(standard.torque(q, still, still, at_end), [[20 * (near + far), 20 * far]])
    assert np.allclose(modified.torque(q, still, still, at_joint), [[20 * (near + far), 20 * far]])


def test_dh_mistakes() -> None:
    with pytest.raises(ModelError, match="choose standard or modified"):
        Robot.from_dh([{"alpha": 0.0, "a": 0.0, "d": 0.0}], convention="craig")
    with pytest.raises(ModelError, match="row 1: unknown key 'r'"):
        Robot.from_dh([{"alpha": 0.0, "a": 0.0, "r": 0.0}])
    with pytest.raises(ModelError, match="needs alpha, a, d"):
        Robot.from_dh([{"alpha": 0.0, "a": 0.0}])
    with pytest.raises(ModelError, match="at least one joint"):
        Robot.from_dh([])


def test_a_model_that_disagrees_with_itself_is_refused(mjcf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rnea = pin.rnea
    monkeypatch.setattr(check_module.pin, "rnea", lambda *args: 1.0001 * rnea(*args))
    with pytest.raises(ModelError, match="regressor times parameters differs from inverse dynamics"):
        Robot.from_mjcf(mjcf)


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such file"):
        Robot.from_urdf(tmp_path / "none.urdf")
    ball = tmp_path / "ball.xml"
    ball.write_text(
        '<mujoco><worldbody><body name="b"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
        '<joint name="j" type="ball"/></body></worldbody></mujoco>'
    )
    with pytest.raises(ModelError, match="joint j is JointModelSpherical with 3 degrees of freedom"):
        Robot.from_mjcf(ball)
    wrong = tmp_path / "wrong.urdf"
    wrong.write_text("<robot/>")
    with pytest.raises(ModelError, match="Pinocchio cannot read it"):
        Robot.from_urdf(wrong)
    joint = '<joint name="lift" type="prismatic"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>'
    wrong.write_text(f'<robot name="r"><link name="base"/><link name="arm"/>{joint}</robot>')
    with pytest.raises(ModelError, match=r"lift: no <limit>; give it one"):
        Robot.from_urdf(wrong)


def test_as_json_and_back(mjcf: Path) -> None:
    robot = Robot.from_mjcf(mjcf, locked=["finger"])
    again = Robot.from_dict(json.loads(json.dumps(robot.to_dict())))
    motion = np.random.default_rng(0).uniform(-1, 1, (3, 20, 3))
    assert again.parameter_names == robot.parameter_names
    assert np.array_equal(again.torque(*motion, again.prior), robot.torque(*motion, robot.prior))
    assert np.array_equal(again.limits.position, robot.limits.position)


def test_other_terms_keep_what_the_prior_says(mjcf: Path) -> None:
    robot = Robot.from_mjcf(mjcf, locked=["finger"]).with_terms(("coulomb", "stribeck"))
    prior = dict(zip(robot.parameter_names, robot.prior, strict=True))
    assert prior["shoulder.coulomb"] == pytest.approx(0.4)
    assert prior["shoulder.stribeck"] == 0.0
    assert "shoulder.viscous" not in prior


def test_load_friction_without_a_prior_is_refused() -> None:
    with pytest.raises(ModelError, match="load_friction takes the load from a prior"):
        Robot.from_dh([{"alpha": 0.0, "a": 0.0, "d": 0.0}], joint_terms=("load_friction",))


def test_joints_may_have_terms_of_their_own(tmp_path: Path) -> None:
    """Friction of a joint with its own terms is fixed; with `friction: file` that of all is."""
    shipped = Path(__file__).parents[3] / "configs" / "robots"
    (tmp_path / "ddarm.xml").write_text((shipped / "ddarm.xml").read_text(encoding="utf-8"), encoding="utf-8")
    text = (shipped / "ddarm.yaml").read_text(encoding="utf-8")
    own = text.replace("joint2: {", "joint2: {terms: [viscous, coulomb], viscous: 0.5, ")
    (tmp_path / "own.yaml").write_text(own, encoding="utf-8")
    robot = Robot.load(tmp_path / "own.yaml")
    assert robot.drives.joint_terms == ((), ("viscous", "coulomb"), ())
    assert robot.terms == ("viscous", "coulomb")
    assert robot.parameter_names[-2:] == ("joint2.viscous", "joint2.coulomb")
    assert robot.prior[-2] == 0.5
    assert robot.drives.fixed == {"joint2"}
    again = Robot.from_dict(json.loads(json.dumps(robot.to_dict())))
    assert again.drives.joint_terms == robot.drives.joint_terms
    assert again.drives.fixed == robot.drives.fixed
    (tmp_path / "file.yaml").write_text(text + "\nfriction: file\n", encoding="utf-8")
    assert Robot.load(tmp_path / "file.yaml").drives.fixed == set(robot.joints)


def test_drives_of_older_results_load(mjcf: Path) -> None:
    """One list of terms for all joints, and nothing said of what is fixed."""
    robot = Robot.from_mjcf(mjcf, locked=["finger"])
    old = robot.drives.to_dict()
    assert old["terms"] == ["drive_inertia", "viscous", "coulomb", "offset"]
    assert "fixed" not in old
    assert type(robot.drives).from_dict(old).joint_terms == robot.drives.joint_terms
