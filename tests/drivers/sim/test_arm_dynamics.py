"""The plant moves as the equations say."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from heft.drivers.errors import OptionError
from heft.drivers.plant.inertia import Inertia
from heft.drivers.sim.arm_dynamics import ArmDynamics
from heft.drivers.sim.friction import Friction
from heft.drivers.sim.model import Flexibility, compile_plant, read_structure
from heft.drivers.sim.robot import SimRobot
from heft.drivers.sim.truth import PerturbationOptions, TrueArm, draw_arm

POSTURE = np.array([0.3, -0.6, 0.2, 1.4, -1.8, 0.5, 0.7])


def true_arm(robot: SimRobot, seed: int = 0) -> TrueArm:
    return draw_arm(robot, read_structure(robot), PerturbationOptions(), np.random.default_rng(seed))


def frictionless(n: int) -> Friction:
    return Friction(np.zeros(n), np.zeros(n), np.zeros(n), np.full(n, 0.02))


def fly(plant: ArmDynamics, steps: int, h: float) -> np.ndarray:
    """Fall freely from POSTURE with some speed."""
    plant.place(POSTURE)
    plant.v[plant.motor] = 0.5
    for _ in range(steps):
        plant.step(np.zeros(7), h)
    return plant.q


def test_the_step_is_of_fourth_order(wam: SimRobot) -> None:
    plant = true_arm(wam).dynamics(wam, None)
    fine = fly(plant, 1600, 0.000125)
    errors = [np.abs(fly(plant, steps, 0.2 / steps) - fine).max() for steps in (200, 400)]
    assert errors[0] < 1e-7
    assert errors[0] / errors[1] > 10.0  # 16 for a smooth law; tanh is a little rough


def test_free_fall_without_friction_keeps_its_energy(wam: SimRobot) -> None:
    arm = true_arm(wam)
    plant = ArmDynamics(wam, arm.inertias, arm.drive_inertia, frictionless(7))
    model = compile_plant(wam, arm.inertias, arm.drive_inertia)
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    data = mujoco.MjData(model)

    def energy() -> float:
        data.qpos, data.qvel = plant.q, plant.v
        mujoco.mj_forward(model, data)
        return float(data.energy.sum())

    plant.place(POSTURE)
    before = energy()
    for _ in range(500):
        plant.step(np.zeros(7), 0.001)
    assert np.abs(plant.v).max() > 1.0
    assert energy() == pytest.approx(before, abs=1e-5)


def test_acceleration_inverts_inverse_dynamics_plus_friction(wam: SimRobot) -> None:
    """At every instant torque = M a + c + g + friction, with the true parameters."""
    arm = true_arm(wam)
    plant = arm.dynamics(wam, None)
    model = compile_plant(wam, arm.inertias, arm.drive_inertia)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(1)
    for _ in range(50):
        q, v, torque = rng.standard_normal((3, 7))
        data.qpos, data.qvel, data.qacc = q, v, plant._acceleration(q, v, torque)
        mujoco.mj_inverse(model, data)
        f = arm.friction
        law = f.viscous * v + f.coulomb * np.tanh(v / 0.02) + f.offset
        np.testing.assert_allclose(data.qfrc_inverse + law, torque, atol=1e-9)


def test_two_plants_in_one_process_do_not_notice_each_other(wam: SimRobot) -> None:
    alone = fly(true_arm(wam, 1).dynamics(wam, None), 50, 0.001)
    first, second = true_arm(wam, 1).dynamics(wam, None), true_arm(wam, 2).dynamics(wam, None)
    for plant in (first, second):
        plant.place(POSTURE)
        plant.v[plant.motor] = 0.5
    for _ in range(50):
        first.step(np.zeros(7), 0.001)
        second.step(np.zeros(7), 0.001)
    np.testing.assert_array_equal(first.q, alone)
    assert np.abs(first.q - second.q).max() > 1e-4


def test_a_grasp_is_rigid_and_exact(wam: SimRobot) -> None:
    """The plant with an object in its hand moves like one whose file has the object as a body."""
    arm = true_arm(wam)
    thing = Inertia.of(1.2, [0.02, -0.03, 0.11], np.diag([0.004, 0.003, 0.002]))  # in the hand's frame
    plant = arm.dynamics(wam, None)
    plant.grasp("hand", thing)

    spec = mujoco.MjSpec.from_file(str(wam.model))
    for name, inertia in arm.inertias.items():
        body = spec.body(name)
        body.mass, body.ipos = inertia.mass, inertia.com
        body.fullinertia = inertia.tensor_com[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)]
    for i, name in enumerate(wam.axes):
        spec.joint(name).armature = arm.drive_inertia[i]
    held = spec.body("hand").add_body(
        name="thing", mass=thing.mass, ipos=thing.com, inertia=[0.004, 0.003, 0.002]
    )
    held.explicitinertial = True
    model = spec.compile()
    data = mujoco.MjData(model)
    rng = np.random.default_rng(2)
    for _ in range(20):
        q, v, torque = rng.standard_normal((3, 7))
        data.qpos, data.qvel = q, v
        data.qfrc_applied = torque - arm.friction.torque(v)
        mujoco.mj_forward(model, data)
        np.testing.assert_allclose(plant._acceleration(q, v, torque), data.qacc, rtol=1e-9, atol=1e-9)

    plant.drop()
    np.testing.assert_array_equal(fly(plant, 20, 0.001), fly(arm.dynamics(wam, None), 20, 0.001))


def test_at_rest_the_wrench_is_the_weight_of_hand_and_load(wam: SimRobot) -> None:
    """The sensor holds its load up: in the world, the force on the load points against gravity."""
    arm = true_arm(wam)
    plant = arm.dynamics(wam, None)
    thing = Inertia.of(0.9, [0.0, 0.05, 0.12], np.diag([0.003, 0.003, 0.001]))
    plant.grasp("hand", thing)
    model = mujoco.MjModel.from_xml_path(str(wam.model))
    data = mujoco.MjData(model)
    data.qpos = POSTURE
    mujoco.mj_kinematics(model, data)
    rotation = data.site("sensor").xmat.reshape(3, 3)
    for load, carried in ((0, arm.inertias["hand"]), (1, arm.inertias["hand"] + thing)):
        wrench = plant.sensed(POSTURE, np.zeros(7), np.zeros(7), load, 0)[:6]
        weight = rotation.T @ [0.0, 0.0, 9.81 * carried.mass]
        np.testing.assert_allclose(wrench[:3], weight, atol=1e-10)
        np.testing.assert_allclose(wrench[3:], np.cross(carried.com, weight), atol=1e-10)


def test_stiff_springs_come_close_to_the_rigid_arm(wam: SimRobot) -> None:
    arm = true_arm(wam)
    spring = Flexibility(np.array([4e5, 4e5, 2e5, 1e5, 3e4, 3e4, 8e3]), np.zeros(7))
    soft = ArmDynamics(wam, arm.inertias, arm.drive_inertia, arm.friction, flexibility=spring)
    soft.place(POSTURE)
    np.testing.assert_allclose(soft.joint_positions(soft.q), POSTURE)
    for _ in range(400):
        soft.step(np.zeros(7), 0.000125)
    rigid = arm.dynamics(wam, None)
    rigid.place(POSTURE)
    for _ in range(50):
        rigid.step(np.zeros(7), 0.001)
    np.testing.assert_allclose(soft.joint_positions(soft.q), rigid.q, atol=2e-4)


def test_a_spring_in_equilibrium_carries_the_weight(wam: SimRobot) -> None:
    arm = true_arm(wam)
    spring = Flexibility(np.full(7, 2000.0), np.full(7, 1.0))
    plant = ArmDynamics(wam, arm.inertias, arm.drive_inertia, frictionless(7), flexibility=spring)
    plant.place(POSTURE)
    model = compile_plant(wam, arm.inertias, arm.drive_inertia)
    data = mujoco.MjData(model)
    data.qpos = POSTURE
    mujoco.mj_inverse(model, data)
    acceleration = plant._acceleration(plant.q, plant.v, data.qfrc_inverse)
    np.testing.assert_allclose(acceleration, 0.0, atol=1e-6)


def test_a_file_that_does_not_fit_says_why(wam: SimRobot) -> None:
    from dataclasses import replace

    with pytest.raises(
        OptionError, match=r"has joint1, joint2, joint3, joint4, joint5, joint6, but wam7.xml has joint1"
    ):
        read_structure(replace(wam, joints=wam.joints[:6]))
    with pytest.raises(OptionError, match="no site named 'tip'"):
        read_structure(replace(wam, flange="tip"))
    with pytest.raises(OptionError, match="no such file"):
        read_structure(replace(wam, model=wam.model.with_name("nothing.xml")))


def test_locked_joints_become_part_of_their_link(wam: SimRobot) -> None:
    from dataclasses import replace

    locked = replace(wam, joints=wam.joints[:6], locked=("joint7",))
    assert read_structure(locked).link_of["hand"] == "link6"
    assert read_structure(locked).link_of["flange"] == "link6"
