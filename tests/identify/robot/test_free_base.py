"""A free base, cuts and contacts in the regressor, against Pinocchio's inverse dynamics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from heft.identify.bodies import transform
from heft.identify.bodies.wrench import wrench_terms
from heft.identify.errors import ModelError
from heft.identify.robot import Robot
from heft.identify.robot.base import base_parameters
from heft.identify.robot.identifiability import identifiability
from tests.identify.floating import AXES, readings, swing, truth_of, walker, walker_file


def test_base_wrench_and_joint_torques_are_pinocchios(tmp_path: Path) -> None:
    robot, motion = walker(tmp_path, wrench_sensors={}), swing(4, 0.5)
    model = pin.buildModelFromMJCF(str(walker_file(tmp_path)))
    data = model.createData()
    assert robot.prior is not None
    parameters = np.where(np.arange(len(robot.prior)) < 10 * len(robot.links), robot.prior, 0.0)
    ours = robot.regressor.torque(motion.q, motion.dq, motion.ddq, parameters, motion.root(robot.gravity))
    for i in range(0, len(motion.t), 7):
        q = np.concatenate([motion.pose[i], motion.q[i]])
        v = np.concatenate([motion.twist[i], motion.dq[i]])
        a = np.concatenate([motion.acceleration[i], motion.ddq[i]])
        theirs = pin.rnea(model, data, q, v, a)
        np.testing.assert_allclose(ours[i], np.concatenate([theirs[6:], theirs[:6]]), atol=1e-10 * 200)


def test_a_urdf_floats_when_it_is_asked_to(tmp_path: Path) -> None:
    path = tmp_path / "two.urdf"
    inertial = (
        '<inertial><mass value="{}"/><origin xyz="0.1 0 0"/>'
        '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>'
    )
    path.write_text(
        f'<robot name="two"><link name="root">{inertial.format(4)}</link><link name="arm">{inertial.format(1)}</link>'
        '<joint name="hinge" type="revolute"><parent link="root"/><child link="arm"/><origin xyz="0 0 0.2"/>'
        '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="5" velocity="2"/></joint></robot>'
    )
    fixed, free = Robot.from_urdf(path), Robot.from_urdf(path, base="free")
    assert fixed.links == ("arm",)
    assert free.links == ("arm", "root")
    assert free.rows == ("hinge", *(f"base.{axis}" for axis in AXES))
    assert free.prior is not None
    assert free.prior[10] == pytest.approx(4.0)
    motion = swing(1, 0.3)
    still = np.concatenate([np.zeros((len(motion.t), 6)), np.tile(-free.gravity, (len(motion.t), 1))], axis=1)
    assert fixed.prior is not None
    np.testing.assert_allclose(  # a root that rests is a fixed base
        free.torque(motion.q, motion.dq, motion.ddq, free.prior, still),
        fixed.torque(motion.q, motion.dq, motion.ddq, fixed.prior),
        atol=1e-12,
    )
    again = Robot.from_dict(free.to_dict())
    assert again.rows == free.rows


def test_a_sensor_inside_measures_what_lies_beyond_it(tmp_path: Path) -> None:
    """The boot is fixed to the shank: the sensor splits the link, and carries the boot alone."""
    robot, motion = walker(tmp_path), swing(4, 0.4)
    assert robot.links[-1] == "left_boot"
    shank = robot.links.index("left_shank")
    assert robot.prior is not None
    assert robot.prior[10 * shank] == pytest.approx(2.0)
    links = truth_of(robot)
    wrench = readings(robot, motion, links, ("boot",))["boot"]
    # The one wrench equation (bodies.wrench), with the motion of the sensor's frame from Pinocchio.
    model = pin.buildModelFromMJCF(str(walker_file(tmp_path)))
    data, frame = model.createData(), model.getFrameId("boot_ft")
    for i in range(0, len(motion.t), 9):
        q = np.concatenate([motion.pose[i], motion.q[i]])
        v = np.concatenate([motion.twist[i], motion.dq[i]])
        a = np.concatenate([motion.acceleration[i], motion.ddq[i]])
        pin.forwardKinematics(model, data, q, v, a)
        pin.updateFramePlacements(model, data)
        speed = pin.getFrameVelocity(model, data, frame, pin.ReferenceFrame.LOCAL)
        change = pin.getFrameClassicalAcceleration(model, data, frame, pin.ReferenceFrame.LOCAL)
        terms = wrench_terms(
            data.oMf[frame].rotation[None], speed.angular[None], change.angular[None], change.linear[None]
        )
        expected = terms.regressor(robot.gravity)[0] @ links[-10:]
        np.testing.assert_allclose(wrench[i], expected, atol=1e-9)


def test_contacts_add_up_in_base_and_joint_rows(tmp_path: Path) -> None:
    """External wrenches at both soles: what is left of base wrench and torques is what the soles do not give."""
    soles = {
        "left": {"frame": "left_sole", "contact": True},
        "right": {"frame": "right_sole", "contact": True, "reaction": False},
    }
    robot = walker(tmp_path, wrench_sensors=soles)
    motion = swing(4, 0.2)
    model = pin.buildModelFromMJCF(str(walker_file(tmp_path)))
    data = model.createData()
    both = robot.measuring(("joints", "left", "right")).with_terms(())
    rng = np.random.default_rng(3)
    wrenches = {name: rng.normal(size=(6, len(motion.t))) for name in soles}
    rows = both.regressor.layout.measured(np.zeros((4, len(motion.t))), wrenches, motion.q.T)
    for i in range(0, len(motion.t), 9):
        q = np.concatenate([motion.pose[i], motion.q[i]])
        pin.forwardKinematics(model, data, q)
        pin.updateFramePlacements(model, data)
        expected = np.zeros(10)
        for name, spec in soles.items():
            J = pin.computeFrameJacobian(
                model, data, q, model.getFrameId(str(spec["frame"])), pin.ReferenceFrame.LOCAL
            )
            expected += J.T @ wrenches[name][:, i]
        np.testing.assert_allclose(rows[:, i], np.concatenate([expected[6:], expected[:6]]), atol=1e-10)
    # The same levers carry the biases: Y x + lever b.
    Y = both.regressor.dense(motion.q, motion.dq, motion.ddq, base=motion.root(robot.gravity))
    names = both.parameter_names
    biases = [names.index(f"{name}.{axis}.offset") for name in soles for axis in AXES]
    pushed = Y[:, :, biases] @ np.concatenate([wrenches[name][:, 0] for name in soles])
    constant = {name: np.repeat(wrenches[name][:, :1], len(motion.t), axis=1) for name in soles}
    expected_rows = both.regressor.layout.measured(np.zeros((4, len(motion.t))), constant, motion.q.T)
    np.testing.assert_allclose(pushed.T, expected_rows, atol=1e-10)


def test_the_base_equations_tell_as_much_as_the_whole_system(tmp_path: Path) -> None:
    """000: the six equations of the root identify as many combinations as joints and root together."""
    robot = walker(tmp_path, wrench_sensors={}, joint_terms=())
    known = {one.source: one.rank for one in identifiability(robot, ("joints", "base"))}
    assert known["base"] == known["together"] > known["joints"]
    assert base_parameters(robot).rank == known["together"]


def test_each_source_says_what_it_cannot_tell(tmp_path: Path) -> None:
    robot = walker(tmp_path)
    joints, boot, crane, together = identifiability(robot, ("joints", "boot", "crane"))
    assert (joints.source, boot.source, crane.source) == ("joints", "boot", "crane")
    assert boot.rank == 10
    assert set(boot.blind) == set(robot.links) - {"left_boot"}
    assert "trunk" in joints.blind
    assert together.rank == crane.rank + 10


@pytest.mark.parametrize(
    ("sensors", "imu", "said"),
    [
        ({"a": {"frame": "nowhere"}}, {}, "wrench_sensors.a: the model has no frame nowhere"),
        ({"a": {}}, {}, "wrench_sensors.a: frame"),
        ({"a": {"frame": "hook"}}, {}, "nothing lies beyond hook"),
        ({}, {"b": "nowhere"}, "imu.b: the model has no frame nowhere"),
    ],
)
def test_sensors_without_a_place_are_refused(
    tmp_path: Path, sensors: dict[str, dict[str, str]], imu: dict[str, str], said: str
) -> None:
    with pytest.raises(ModelError, match=said):
        walker(tmp_path, wrench_sensors=sensors, imu=imu)


def test_a_fixed_base_is_not_taken_for_a_free_one(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="base: free"):
        walker(tmp_path, base="fixed")
    path = tmp_path / "still.xml"
    path.write_text(walker_file(tmp_path).read_text().replace('<freejoint name="root"/>', ""))
    with pytest.raises(ModelError, match="freejoint"):
        Robot.from_mjcf(path, base="free")
    assert transform(np.ones(10), np.eye(3), np.zeros(3)).shape == (10,)
