"""The regressor against Pinocchio, on random trees of revolute and prismatic joints."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

from heft.identify.bodies import transform_matrix
from heft.identify.errors import ModelError, ParameterError
from heft.identify.robot.regressor import Drives, Regressor, Tree, pose
from heft.identify.robot.regressor_check import reference_model


def random_tree(seed: int, joints: int) -> Tree:
    """A tree with branches, slides, oblique axes and link frames away from the joints."""
    rng = np.random.default_rng(seed)

    def poses() -> np.ndarray:
        turns = Rotation.random(joints, rng=rng).as_matrix()
        return np.array([pose(turn, rng.uniform(-0.5, 0.5, 3)) for turn in turns])

    return Tree(
        parents=np.array([int(rng.integers(-1, i)) if i else -1 for i in range(joints)]),
        joint_in_parent=poses(),
        link_in_joint=poses(),
        axis=rng.standard_normal((joints, 3)),
        prismatic=rng.random(joints) < 0.3,
        gravity=rng.uniform(-10, 10, 3),
    )


def make(tree: Tree, terms: tuple[str, ...] = (), **drive: object) -> Regressor:
    n = len(tree)
    joints = tuple(f"joint{i + 1}" for i in range(n))
    plain = {
        "coupling": np.eye(n),
        "smoothing_velocity": np.full(n, 0.02),
        "stribeck_velocity": np.full(n, 0.1),
    }
    drives = Drives(joints, (terms,) * n, **{**plain, **drive})  # type: ignore[arg-type]
    return Regressor(tuple(f"link{i + 1}" for i in range(n)), tree, drives)


@pytest.mark.parametrize("seed", range(6))
def test_equal_to_pinocchio(seed: int) -> None:
    tree = random_tree(seed, joints=3 + seed)
    regressor, rng = make(tree), np.random.default_rng(100 + seed)
    q, dq, ddq = rng.uniform(-2, 2, (3, 70, len(tree)))  # more samples than stand side by side
    ours = regressor.dense(q, dq, ddq)
    model = reference_model(tree, regressor.drives.joints)
    data = model.createData()
    theirs = np.array(
        [pin.computeJointTorqueRegressor(model, data, *motion) for motion in zip(q, dq, ddq, strict=True)]
    )
    for i, link in enumerate(tree.link_in_joint):
        columns = slice(10 * i, 10 * i + 10)
        theirs[:, :, columns] = theirs[:, :, columns] @ transform_matrix(link[:3, :3], link[:3, 3])
    assert np.abs(ours - theirs).max() <= 1e-12 * np.abs(theirs).max()


def test_rows_leave_out_links_that_a_joint_does_not_move() -> None:
    regressor = make(random_tree(3, joints=6))
    dense = regressor.dense(*np.random.default_rng(0).uniform(-2, 2, (3, 5, 6)))
    for joint in range(6):
        for link in range(6):
            part = dense[:, joint, 10 * link : 10 * link + 10]
            assert (link in regressor.tree.subtree(joint)) or not np.any(part)
    assert regressor.layout.width < 6 * 61


def test_torque_is_dense_times_parameters() -> None:
    regressor = make(random_tree(4, joints=4), ("drive_inertia", "viscous", "coulomb", "offset"))
    rng = np.random.default_rng(1)
    motion, x = rng.uniform(-2, 2, (3, 5000, 4)), rng.standard_normal(len(regressor.names))
    expected = regressor.dense(*motion[:, 4090:4100]) @ x
    assert np.allclose(regressor.torque(*motion, x)[4090:4100], expected, rtol=1e-12, atol=1e-12)


def test_drive_terms() -> None:
    terms = ("drive_inertia", "viscous", "coulomb", "offset", "coulomb_asymmetry", "stribeck")
    regressor = make(random_tree(0, joints=2), terms)
    dq = np.array([[0.01, -3.0]])
    dense = regressor.dense(np.zeros((1, 2)), dq, np.array([[7.0, 8.0]]))[0]
    tanh = np.tanh(0.01 / 0.02)
    assert regressor.names[20:26] == tuple(f"joint1.{term}" for term in terms)
    assert np.allclose(dense[0, 20:26], [7.0, 0.01, tanh, 1.0, tanh, tanh * np.exp(-0.01)])
    assert np.allclose(dense[1, 26:32], [8.0, -3.0, -1.0, 1.0, 1.0, 0.0])
    assert not np.any(dense[0, 26:])
    assert not np.any(dense[1, 20:26])


def test_coupled_motors_act_on_both_rows() -> None:
    """002, Eq. 34 and below: rotor 6 of the TX40 turns with joints 5 and 6."""
    coupling = np.array([[1.0, 0.0], [1.0, 1.0]])
    regressor = make(random_tree(0, joints=2), ("drive_inertia", "viscous", "coulomb"), coupling=coupling)
    dense = regressor.dense(np.zeros((1, 2)), np.array([[0.2, 0.3]]), np.array([[5.0, 7.0]]))[0]
    column = {name: dense[:, i] for i, name in enumerate(regressor.names)}
    assert regressor.names[-3:] == tuple(f"joint2_motor.{term}" for term in regressor.drives.terms)
    assert np.allclose(column["joint1.drive_inertia"], [5.0, 0.0])
    assert np.allclose(column["joint2.drive_inertia"], [0.0, 7.0])
    assert np.allclose(column["joint2_motor.drive_inertia"], [12.0, 12.0])
    assert np.allclose(column["joint2.viscous"], [0.0, 0.3])
    assert np.allclose(column["joint2_motor.viscous"], [0.5, 0.5])
    assert np.allclose(column["joint2_motor.coulomb"], [1.0, 1.0])


def test_load_friction_follows_the_prior() -> None:
    tree = random_tree(5, joints=3)
    rng = np.random.default_rng(2)
    plain = make(tree)
    prior = rng.standard_normal(33)
    regressor = Regressor(plain.links, tree, Drives.plain(plain.drives.joints, ["load_friction"]), prior)
    motion = rng.uniform(-1, 1, (3, 5, 3))
    load = plain.torque(*motion, prior[:30])
    expected = np.abs(load) * np.tanh(motion[1] / 0.02)
    assert np.allclose(np.einsum("tjj->tj", regressor.dense(*motion)[:, :, 30:]), expected)


@pytest.mark.parametrize(("step", "half"), [(1, 3), (7, 20), (50, 30), (130, 300)])
def test_decimation_is_a_weighted_sum_of_rows(step: int, half: int) -> None:
    regressor = make(random_tree(1, joints=3), ("viscous", "coulomb"))
    rng = np.random.default_rng(3)
    q, dq, ddq, torque = rng.uniform(-1, 1, (4, 3, 1000))
    taps = rng.standard_normal(2 * half + 1)
    rows = regressor.rows(q.T, dq.T, ddq.T, torque.T)
    count = (1000 - len(taps)) // step + 1
    expected = np.array([taps @ rows[k * step : k * step + len(taps)] for k in range(count)])
    out = np.zeros((count, regressor.layout.width))
    for start in range(0, 1000, 192):  # in stretches, as a recording arrives
        piece = slice(start, start + 192)
        arrays = [np.ascontiguousarray(a[:, piece]) for a in (q, dq, ddq, torque)]
        regressor.decimate(*arrays, taps, step, -start, out)
    assert np.allclose(out, expected, rtol=1e-12, atol=1e-10)


def test_shapes_are_looked_at() -> None:
    regressor = make(random_tree(0, joints=3))
    with pytest.raises(ParameterError, match=r"dq has shape \(5, 2\), expected \(T, 3\)"):
        regressor.rows(np.zeros((5, 3)), np.zeros((5, 2)), np.zeros((5, 3)))
    with pytest.raises(ParameterError, match="the robot has 30"):
        regressor.torque(*np.zeros((3, 5, 3)), np.zeros(7))


def test_impossible_drives_and_trees_are_refused() -> None:
    tree = random_tree(0, joints=2)
    with pytest.raises(ModelError, match="cannot be inverted"):
        make(tree, (), coupling=np.ones((2, 2)))
    with pytest.raises(ModelError, match="'stiction' is unknown"):
        make(tree, ("stiction",))
    with pytest.raises(ModelError, match="must be above zero"):
        make(tree, (), smoothing_velocity=np.array([0.0, 1.0]))
    with pytest.raises(ModelError, match="must come before it"):
        Tree(
            np.array([1, -1]),
            tree.joint_in_parent,
            tree.link_in_joint,
            tree.axis,
            tree.prismatic,
            tree.gravity,
        )
