"""Results in other frames, principal axes, JSON, and what controllers want to hear."""

from __future__ import annotations

import ast
import json

import numpy as np
import pytest

from heft.identify.bodies import transform
from heft.identify.bodies.pseudo_inertia import from_mass_com_inertia
from heft.identify.bodies.wrench import wrench_terms
from heft.identify.errors import ParameterError
from heft.identify.payload import (
    fit_wrench,
    franka_load,
    in_frames,
    kuka_load,
    principal_inertia,
    ros_inertia,
    ur_payload,
)

TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
SHIFT = np.array([0.0, 0.0, 0.02])


def measured(inertia_com, *, mass=1.5, com=(0.02, -0.01, 0.11), moving=True, seed=0):
    """An estimate of a body with this inertia, from 4000 noisy samples."""
    from heft.identify.bodies import from_mass_com_inertia

    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.normal(size=(4000, 3, 3)))
    q[np.linalg.det(q) < 0, :, 0] *= -1
    motion = [2.0 * rng.normal(size=(4000, 3)), 20.0 * rng.normal(size=(4000, 3)), rng.normal(size=(4000, 3))]
    motion = motion if moving else []
    ten = from_mass_com_inertia(mass, com, inertia_com)
    wrench = wrench_terms(q, *motion).regressor((0, 0, -9.81)) @ ten
    wrench += rng.normal(size=wrench.shape) * np.array([0.05] * 3 + [0.002] * 3)
    return fit_wrench(q, wrench, *motion), ten


def turned(moments):
    """An inertia with these principal moments and axes along no frame."""
    q, _ = np.linalg.qr(np.random.default_rng(11).normal(size=(3, 3)))
    return (q * moments) @ q.T, q


def test_frames_agree_with_the_transform_of_the_ten_numbers() -> None:
    estimate, _ = measured(turned([5e-3, 4e-3, 2e-3])[0])
    frames = in_frames(estimate, TURN, SHIFT)
    np.testing.assert_allclose(frames.flange.ten, transform(estimate.ten, TURN, SHIFT), atol=1e-12)
    assert frames.flange.std.mass == estimate.std.mass
    np.testing.assert_allclose(frames.flange.std.com, np.abs(TURN) @ estimate.std.com, rtol=1e-9)
    back = frames.flange.in_frame("sensor", TURN.T, -TURN.T @ SHIFT)
    np.testing.assert_allclose(back.ten, estimate.ten, atol=1e-12)
    np.testing.assert_allclose(back.covariance, estimate.covariance, rtol=1e-9, atol=1e-20)
    axes = frames.principal.axes
    np.testing.assert_allclose(
        axes.T @ frames.flange.inertia_com @ axes, np.diag(frames.principal.moments), atol=1e-9
    )


def test_principal_moments_and_axes() -> None:
    inertia, axes = turned([5e-3, 4e-3, 2e-3])
    principal = principal_inertia(measured(inertia)[0])
    np.testing.assert_allclose(principal.moments, [5e-3, 4e-3, 2e-3], rtol=0.01)
    assert np.all(np.abs(principal.moments - [5e-3, 4e-3, 2e-3]) < 4 * principal.std)
    np.testing.assert_allclose(np.abs(np.sum(principal.axes * axes, axis=0)), 1.0, atol=1e-3)
    assert np.linalg.det(principal.axes) == pytest.approx(1.0)
    assert principal.measured == (True, True, True)
    assert principal.axes_defined == (True, True, True)
    assert principal.warnings == ()


def test_moments_too_alike_for_axes_to_mean_anything() -> None:
    principal = principal_inertia(measured(turned([4e-3, 3.99e-3, 2e-3])[0])[0])
    assert principal.axes_defined == (False, False, True)
    assert len(principal.warnings) == 1
    assert "axes 1 and 2" in principal.warnings[0]
    assert "too alike" in principal.warnings[0]


def test_moments_that_the_motion_does_not_tell() -> None:
    principal = principal_inertia(measured(turned([4e-3, 3e-3, 2e-3])[0], moving=False)[0])
    assert principal.measured == (False, False, False)
    assert np.all(np.isinf(principal.std))
    (warning,) = principal.warnings
    assert "does not tell" in warning


def test_json() -> None:
    estimate, _ = measured(turned([5e-3, 4e-3, 2e-3])[0], moving=False)
    text = json.dumps(estimate.to_dict(), allow_nan=False)
    back = json.loads(text)
    assert back["mass"] == estimate.mass
    assert np.shape(back["inertia"]) == (3, 3)
    assert back["std"]["inertia"][0][0] is None
    assert back["std"]["mass"] > 0
    assert back["prior_dominated"] == ["inertia"]
    assert back["marks"]["com"] == "measured"


@pytest.fixture(scope="module")
def flange():
    return in_frames(measured(turned([5e-3, 4e-3, 2e-3])[0])[0], TURN, SHIFT).flange


def test_universal_robots(flange) -> None:
    nothing = np.zeros(10)
    text = ur_payload(flange, nothing)
    assert text.startswith("set_target_payload(")
    mass, com, inertia = ast.literal_eval(text.removeprefix("set_target_payload"))
    assert mass == pytest.approx(flange.mass, rel=1e-5)
    np.testing.assert_allclose(com, flange.com, rtol=1e-5)
    hand = from_mass_com_inertia(0.9, [0.0, 0.01, 0.05], np.diag([2e-3, 2e-3, 1e-3]))
    both = ast.literal_eval(ur_payload(flange, hand).removeprefix("set_target_payload"))
    assert both[0] == pytest.approx(flange.mass + 0.9, rel=1e-5)  # the controller knows one payload
    centre = (flange.mass * flange.com + 0.9 * np.array([0.0, 0.01, 0.05])) / both[0]
    np.testing.assert_allclose(both[1], centre, atol=1e-5)
    I = flange.inertia_com  # noqa: E741
    np.testing.assert_allclose(inertia, [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]], rtol=1e-5)
    still = measured(turned([5e-3, 4e-3, 2e-3])[0], moving=False)[0].in_frame("flange", TURN, SHIFT)
    assert ur_payload(still, nothing).count("[") == 1  # no inertia that was not measured


def test_franka(flange) -> None:
    load = franka_load(flange)
    assert load.load_mass == pytest.approx(flange.mass)
    np.testing.assert_allclose(load.F_x_Cload, flange.com)
    np.testing.assert_allclose(np.reshape(load.load_inertia, (3, 3), order="F"), flange.inertia_com)


def test_kuka(flange) -> None:
    load = kuka_load(flange)
    np.testing.assert_allclose([load.X, load.Y, load.Z], 1000 * flange.com)
    a, b, c = np.radians([load.A, load.B, load.C])
    about_z = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    about_y = np.array([[np.cos(b), 0, np.sin(b)], [0, 1, 0], [-np.sin(b), 0, np.cos(b)]])
    about_x = np.array([[1, 0, 0], [0, np.cos(c), -np.sin(c)], [0, np.sin(c), np.cos(c)]])
    R = about_z @ about_y @ about_x
    np.testing.assert_allclose((R * [load.JX, load.JY, load.JZ]) @ R.T, flange.inertia_com, atol=1e-12)
    assert load.krl.startswith(f"{{M {load.M},CM {{X ")
    assert pytest.approx(flange.mass) == load.M
    assert load.krl.count("{") == load.krl.count("}") == 3


def test_kuka_angles_where_two_axes_fall_together() -> None:
    estimate, _ = measured(np.diag([2e-3, 4e-3, 5e-3]))  # the largest moment about z: B is 90 deg
    load = kuka_load(estimate.in_frame("flange", np.eye(3), np.zeros(3)))
    assert abs(load.B) == pytest.approx(90.0, abs=1.0)


def test_ros(flange) -> None:
    message = ros_inertia(flange)
    assert message["m"] == flange.mass
    assert message["com"]["z"] == flange.com[2]
    assert message["ixz"] == flange.inertia_com[0, 2]


def test_controllers_are_told_in_the_flange_frame_only() -> None:
    estimate, _ = measured(turned([5e-3, 4e-3, 2e-3])[0])
    for say in (lambda load: ur_payload(load, np.zeros(10)), franka_load, kuka_load, ros_inertia):
        with pytest.raises(ParameterError, match="must be `flange`"):
            say(estimate)
    with pytest.raises(ParameterError, match="frame flange"):
        estimate.in_frame("flange", 2 * np.eye(3), np.zeros(3))
