"""Motors that move several joints: positions, torques and setpoints on both sides."""

from __future__ import annotations

import numpy as np
import pytest

from heft.drivers.coupling import Coupling, motor_names
from heft.drivers.setpoints import Setpoints

WRIST = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0]]


@pytest.fixture
def coupling() -> Coupling:
    made = Coupling.of(WRIST)
    assert made is not None
    return made


def test_each_motor_for_its_joint_is_no_coupling() -> None:
    assert Coupling.of(None) is None
    assert Coupling.of(np.eye(3)) is None
    assert motor_names(("joint1", "joint2")) == ("joint1_motor", "joint2_motor")


def test_motor_three_turns_with_joints_two_and_three(coupling: Coupling) -> None:
    q = np.array([[0.1, 0.2, 0.3]])
    assert np.allclose(coupling.to_motors(q), [[0.1, 0.2, 0.5]])
    assert np.allclose(coupling.to_joints(coupling.to_motors(q)), q)
    assert coupling.shared.tolist() == [False, False, True]


def test_power_is_the_same_on_both_sides(coupling: Coupling) -> None:
    rng = np.random.default_rng(0)
    speed, torque = rng.standard_normal((2, 50, 3))
    joints = (coupling.joint_torque(torque) * speed).sum(axis=1)
    motors = (torque * coupling.to_motors(speed)).sum(axis=1)
    assert np.allclose(joints, motors)
    assert np.allclose(coupling.motor_torque(coupling.joint_torque(torque)), torque)


def test_setpoints_keep_their_times_and_their_end(coupling: Coupling) -> None:
    q, v, a = np.random.default_rng(1).standard_normal((3, 4, 3))
    chunk = coupling.setpoints(Setpoints(7, np.arange(4) * 1000, q, v, a, last=True))
    assert (chunk.sequence, chunk.last, chunk.host_ns.tolist()) == (7, True, [0, 1000, 2000, 3000])
    assert np.allclose(chunk.position[:, 2], q[:, 1] + q[:, 2])
    assert np.allclose(chunk.acceleration[:, 2], a[:, 1] + a[:, 2])


def test_a_part_stands_for_itself_where_nothing_crosses(coupling: Coupling) -> None:
    assert not coupling.crosses([0])
    assert coupling.crosses([0, 1])
    assert coupling.part([0]) is None
    wrist = coupling.part([1, 2])
    assert wrist is not None
    assert wrist.matrix.tolist() == [[1.0, 0.0], [1.0, 1.0]]
