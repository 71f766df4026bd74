"""A load from joint torques of the WAM: rows from the regressor, torques from inverse dynamics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from heft.identify.bodies.consistency import consistency
from heft.identify.errors import DataError, ProblemError
from heft.identify.payload import JointTorqueEstimator, fit_joint_torque

MODEL = Path(__file__).parents[4] / "configs" / "robots" / "wam7.xml"
NOISE = np.array([0.6, 0.6, 0.3, 0.3, 0.08, 0.08, 0.05])


@pytest.fixture(scope="module")
def run(simulator):
    """Ten seconds of motion: time, rows, torques that the load adds, the load."""
    model = pin.buildModelFromMJCF(str(MODEL))
    model.armature[:] = 0.0
    body = simulator.box(
        np.random.default_rng(3), 1.4, np.array([0.1, 0.15, 0.2]), np.array([0.01, 0.0, 0.2])
    )
    loaded = model.copy()
    last = model.njoints - 1
    loaded.inertias[last] = loaded.inertias[last] + pin.Inertia(body.mass, body.com, body.inertia(body.com))
    data, more = model.createData(), loaded.createData()
    rng = np.random.default_rng(0)
    t = np.arange(0.0, 10.0, 0.01)
    size, hz, phase = rng.uniform(0.2, 0.5, 7), rng.uniform(0.1, 0.5, 7), rng.uniform(0, 6, 7)
    rows, torques = [], []
    for now in t:
        w = 2 * np.pi * hz
        q = size * np.sin(w * now + phase) + 0.3
        v, a = size * w * np.cos(w * now + phase), -size * w**2 * np.sin(w * now + phase)
        rows.append(np.array(pin.computeJointTorqueRegressor(model, data, q, v, a))[:, -10:])
        torques.append(pin.rnea(loaded, more, q, v, a) - pin.rnea(model, data, q, v, a))
    return t, np.array(rows), np.array(torques), body


def test_the_rows_are_those_of_the_load(run) -> None:
    _, rows, torques, body = run
    np.testing.assert_allclose(rows @ body.ten, torques, atol=1e-10)


def test_mass_within_three_percent_from_noisy_torques_with_unknown_offsets(run) -> None:
    _, rows, torques, body = run
    rng = np.random.default_rng(1)
    noisy = torques + NOISE * rng.standard_normal(torques.shape) + 0.3 * rng.standard_normal(7)
    estimate = fit_joint_torque(rows.reshape(-1, 10), noisy.ravel(), 7, frame="link7")
    assert estimate.frame == "link7"
    assert estimate.mass == pytest.approx(body.mass, rel=0.03)
    assert abs(estimate.mass - body.mass) < 3 * estimate.std.mass
    assert np.all(np.abs(estimate.com - body.com) < 3.5 * estimate.std.com)
    assert consistency(estimate.ten, "full").ok
    assert estimate.bias.shape == (7,)


def test_what_is_known_of_the_offsets_helps(run) -> None:
    _, rows, torques, body = run
    rng = np.random.default_rng(2)
    noisy = (torques + NOISE * rng.standard_normal(torques.shape))[:60]
    few = rows[:60].reshape(-1, 10)
    free = fit_joint_torque(few, noisy.ravel(), 7)
    bound = fit_joint_torque(few, noisy.ravel(), 7, offset_std=0.05)
    assert bound.std.mass < free.std.mass
    assert bound.mass == pytest.approx(body.mass, rel=0.05)


def test_recursively_after_a_bare_run(run) -> None:
    t, rows, torques, body = run
    rng = np.random.default_rng(3)
    offset = 0.3 * rng.standard_normal(7)
    estimator = JointTorqueEstimator(NOISE, 0.01 * NOISE, np.full(7, 5.0), frame="link7")
    bare = offset + NOISE * rng.standard_normal((200, 7))
    estimator.update(t[:200] - 2.0, rows[:200].reshape(-1, 10), bare.ravel())
    estimator.grasped()
    assert estimator.estimate().prior_dominated == ("mass", "com", "inertia")
    noisy = torques + offset + NOISE * rng.standard_normal(torques.shape)
    estimator.update(t[:50], rows[:50].reshape(-1, 10), noisy[:50].ravel())
    assert estimator.estimate().mass == pytest.approx(body.mass, rel=0.1)
    estimator.update(t[50:], rows[50:].reshape(-1, 10), noisy[50:].ravel())
    estimate = estimator.estimate()
    assert estimate.mass == pytest.approx(body.mass, rel=0.03)
    assert abs(estimate.mass - body.mass) < 3 * estimate.std.mass
    assert consistency(estimate.ten, "full").ok
    estimator.released()
    with pytest.raises(ProblemError, match="empty"):
        estimator.estimate()


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(DataError, match="9 rows and 9 torques for 7 joints"):
        fit_joint_torque(np.zeros((9, 10)), np.zeros(9), 7)
    with pytest.raises(ProblemError, match="offset_std"):
        fit_joint_torque(np.zeros((7, 10)), np.zeros(7), 7, offset_std=0.0)
    with pytest.raises(ProblemError, match="noise and offset_std"):
        JointTorqueEstimator([0.0], [0.0], [1.0])
    with pytest.raises(DataError, match="3 torques for 2 joints"):
        JointTorqueEstimator([1.0, 1.0], [0.0, 0.0], [1.0, 1.0]).update([0.0], np.zeros((3, 10)), np.zeros(3))
